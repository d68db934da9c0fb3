// Pins: an account that tries gets nothing of another one where ids stand in queries, bodies, cursors, headers and
// sessions; ids in paths are held by test/component/foreign-ids.slow.test.ts. Real: Redis, HTTP, producer, worker.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential, PERMISSIONS } from '../../src/accounts/credentials.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import type { Inspected } from '../support/declared-routes.ts'
import { orderUpdate } from '../support/example-templates.ts'
import { acknowledgedId, audioTo, reaches, sendTo } from '../support/messages.ts'
import { sessionHeader } from '../support/operator-session.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { lastNumbers } from '../support/state/accounts.ts'

const THEIR_PERSON = '491700000312'
const THEIR_TEXT = 'what only they may read'

let service: Service
let us: Tenant & { secret: string; session: { cookie: string } }
let them: Tenant & { secret: string; message: string; tag: number; campaign: string }

beforeAll(async () => {
  service = await startService({ templates: [orderUpdate] })
  // Ids that cannot be taken for any other number in an answer.
  await lastNumbers(service.redis).change({ account: 650_000, lane: 640_000, tag: 630_000 })
  const ours = await account()
  us = { ...ours, session: await sessionHeader(service.redis, ours.secret) }
  const theirs = await account()
  const message = await sendTo(service, theirs, `+${THEIR_PERSON}`)
  await reaches(service, theirs, message, 'read')
  const { id: tag } = await createTag(service.redis, theirs.account, 'theirs')
  await importContacts(service.redis, theirs.account, tag, [{ phone: THEIR_PERSON, name: 'Theirs', email: '' }])
  const received = { id: 'wamid.theirs', lane: theirs.cloudLane, from: THEIR_PERSON, type: 'text', text: THEIR_TEXT }
  await storeInbound(service.redis, theirs.account, { ...received, received_at: Date.now() }, 3_600_000)
  await ask(theirs.secret, 'POST', '/opt-outs', { person: THEIR_PERSON })
  const campaign = idOf(await ask(theirs.secret, 'POST', '/campaigns', campaignOf(theirs, { rows: {} })))
  them = { ...theirs, message, tag, campaign }
})
afterAll(() => service?.close())

async function account() {
  const tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  const { secret } = await createCredential(service.redis, tenant.account, PERMISSIONS, Date.now())
  // From now on somebody listens.
  expect((await ask(secret, 'GET', '/events')).status).toBe(200)
  return { ...tenant, secret }
}

/** With a key, or as the session whose headers are given. */
const ask = (caller: string | Record<string, string>, method: string, path: string, body?: object) =>
  typeof caller === 'string'
    ? service.api.as(caller).request(method, path, body)
    : service.api.request(method, path, body, caller)
const idOf = ({ json }: Inspected): string => z.object({ data: z.object({ id: z.string() }) }).parse(json).data.id
const campaignOf = ({ cloudNumber }: Tenant, recipients: object) => ({
  sender: cloudNumber,
  template: { name: 'order_update', language: { code: 'en_US' } },
  recipients,
})
/** What must stand in no answer to us. */
const secretsOfTheirs = () => [
  ...[THEIR_PERSON, THEIR_TEXT, them.message, them.campaign, them.cloudNumber, them.partnerNumber],
  ...[them.account, them.cloudLane, them.partnerLane, them.tag].map(String),
]
const tellsNothing = ({ text }: Inspected, where: string) => {
  expect(
    secretsOfTheirs().filter((each) => text.includes(each)),
    where,
  ).toEqual([])
}

const LISTS = [
  ...['/messages', '/opt-outs', '/opt-outs/export', '/events?include_content=true', '/event-endpoints', '/campaigns'],
  ...['/contacts', '/contacts/tags', '/admin/lanes', '/admin/keys', '/admin/senders', '/admin/templates'],
  ...[
    '/admin/limits',
    '/admin/webhook-secrets',
    '/admin/activity',
    '/console/snapshot',
    '/console/history',
    '/metrics',
  ],
]

test('no list and no figure reveals anything of another account, with a key or with a session', async () => {
  for (const path of LISTS) {
    for (const caller of [us.secret, us.session]) {
      const answer = await ask(caller, 'GET', path)
      if (typeof caller === 'string') expect(answer.status, path).toBe(200)
      tellsNothing(answer, path)
    }
  }
})

test('only operators may name another account in a header, with a key or a session', async () => {
  const named = { 'x-laneway-account': String(them.account) }
  for (const [api, session] of [[service.api.as(us.secret), {}] as const, [service.api, us.session] as const]) {
    for (const path of ['/messages', '/admin/lanes', '/events', '/console/snapshot', '/admin/people/491700000312']) {
      const answer = await api.get(path, { ...session, ...named })
      expect(answer.status, path).toBeGreaterThanOrEqual(400)
      tellsNothing({ ...answer, text: answer.text.replaceAll(String(them.account), '') }, path)
    }
  }
})

test('a filter by something of another account finds no more than one by something unknown', async () => {
  for (const query of [
    `to=${THEIR_PERSON}`,
    `from=${THEIR_PERSON}`,
    `sender=${them.cloudNumber}`,
    `campaign_id=${them.campaign}`,
    'direction=inbound',
  ]) {
    const answer = await ask(us.secret, 'GET', `/messages?${query}`)
    expect(answer.json, query).toSatisfy((json: unknown) => {
      const data = z.looseObject({ data: z.array(z.unknown()).optional() }).parse(json).data
      return data === undefined || data.length === 0
    })
  }
})

test('a cursor of another account leads to nothing of that account', async () => {
  const page = z.looseObject({ next: z.string() })
  const events = page.parse((await ask(them.secret, 'GET', '/events?limit=1')).json).next
  const answer = await ask(us.secret, 'GET', `/events?include_content=true&after=${encodeURIComponent(events)}`)
  tellsNothing(answer, 'events')
  await reaches(service, them, await sendTo(service, them, `+${THEIR_PERSON.slice(0, -1)}3`), 'read')
  const listed = await ask(them.secret, 'GET', '/messages?limit=1')
  const { next } = z.looseObject({ next: z.string().nullable() }).parse(listed.json)
  expect(next).toEqual(expect.any(String))
  tellsNothing(await ask(us.secret, 'GET', `/messages?cursor=${encodeURIComponent(next ?? '')}`), 'messages')
})

test('a campaign accepts neither a list nor a sender of another account', async () => {
  const withTag = (tag: number) => ask(us.secret, 'POST', '/campaigns', campaignOf(us, { tags: [tag] }))
  const said = async (tag: number) => {
    const made = await withTag(tag)
    if (made.status >= 300) return { status: made.status }
    await ask(us.secret, 'POST', `/campaigns/${idOf(made)}/preflight`)
    const shown = async () => (await ask(us.secret, 'GET', `/campaigns/${idOf(made)}`)).text
    await expect.poll(shown).not.toMatch(/"state":"(draft|checking)"/)
    return { status: made.status, recipients: /"recipients":(\d+)/.exec(await shown())?.[1] }
  }
  expect(await said(them.tag)).toEqual(await said(999_999_999))
  const withSender = await ask(us.secret, 'POST', '/campaigns', campaignOf(them, { rows: {} }))
  expect(withSender.status).toBe(400)
})

test('an opt-out at another account stops no message of ours', async () => {
  const id = await sendTo(service, us, `+${THEIR_PERSON}`)
  await reaches(service, us, id, 'read')
})

test('an Idempotency-Key used by another account is free for ours', async () => {
  const send = (api_key: string) =>
    service.post(
      '/sendservicemessages/sendmessages',
      { api_key, ...audioTo('+491700000398') },
      { 'Idempotency-Key': 'order-1' },
    )
  const [theirs, ours] = [await send(them.apiKey), await send(us.apiKey)]
  expect(acknowledgedId(ours)).not.toBe(acknowledgedId(theirs))
})
