// Pins: a number with two national forms is one person, whichever form an opt-out, a file, a webhook or a request has: for opt-outs,
// duplicates, caps, the 24 hours, cooldowns, conversations, showing and erasing; also where an older release wrote the
// other form down. What is sent keeps its form. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { hash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { openWindowsAmong } from '../../src/lanes/messages/inbound.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { forgetNames, keepNames, namesOf, namesOfPeople } from '../../src/people/names/names.ts'
import { packNames } from '../../src/people/names/packed-names.ts'
import {
  addOptOuts,
  eraseOptOut,
  findOptOut,
  listOptOuts,
  optedOutAmong,
  removeOptOuts,
} from '../../src/people/opt-outs/opt-outs.ts'
import { cap, cappedUntil } from '../../src/portfolios/caps.ts'
import { checkProviderRules } from '../../src/portfolios/rules.ts'
import { campaignFolder } from '../../src/recipients/files.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { acknowledgedId, sendTo } from '../support/messages.ts'
import { PHONE_NUMBER_ID, type Tenant } from '../support/service.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { contactsOf } from '../support/state/accounts.ts'
import { eventually } from '../support/wait.ts'
import { postSigned } from '../support/webhooks.ts'

let service: CampaignService
let tenant: Tenant
beforeAll(async () => {
  service = await startCampaigns()
  tenant = service.tenant
})
afterAll(() => service?.close())

const BRAZIL = ['5511987650001', '551187650001'] as const
const COUNTRIES = [
  ['Brazil', ...BRAZIL],
  ['Argentina', '5491123456789', '541123456789'],
  ['Mexico', '525512345678', '5215512345678'],
  ['Benin', '2290197123456', '22997123456'],
] as const
/** Both ways round. */
const PAIRS = COUNTRIES.flatMap(([country, today, other]) => [
  [country, today, other] as const,
  [country, other, today] as const,
])

const isOptedOut = async (account: number, name: string): Promise<boolean> =>
  (await optedOutAmong(service.redis, account, await namesOfPeople(service.redis, account, [name]))).size > 0
const listed = async (account: number): Promise<string[]> =>
  (await listOptOuts(service.redis, account, { limit: 100, cursor: undefined })).data.map(({ person }) => person)

test.each(PAIRS)(
  '%s: an opt-out of %s is one of %s, is listed once, and can be lifted by either form',
  async (_country, one, other) => {
    const { redis } = service
    const { account } = await service.addTenant()
    expect(await addOptOuts(redis, account, [one], { source: 'http' })).toBe(1)
    expect(await addOptOuts(redis, account, [other], { source: 'word', atMs: Date.now() })).toBe(0)
    expect(await listed(account)).toEqual([one])
    for (const form of [one, other]) {
      expect(await isOptedOut(account, form), form).toBe(true)
      expect(await findOptOut(redis, account, form)).toMatchObject({ person: form })
    }
    expect(await removeOptOuts(redis, account, [other], { source: 'http' })).toBe(1)
    expect([await isOptedOut(account, one), await listed(account)]).toEqual([false, []])

    // What people say counts by its time, whichever form it comes under.
    const now = Date.now()
    await removeOptOuts(redis, account, [other], { source: 'word', atMs: now + 2_000 })
    await addOptOuts(redis, account, [one], { source: 'word', atMs: now + 1_000 })
    expect(await isOptedOut(account, one)).toBe(false)
  },
)

test('an erased person stays opted out under either form, and may withdraw it', async () => {
  const { redis } = service
  const { account } = await service.addTenant()
  const [today, other] = BRAZIL
  await addOptOuts(redis, account, [other], { source: 'word', atMs: Date.now() - 60_000 })
  await eraseOptOut(redis, account, await namesOf(redis, account, today))
  expect(await listed(account)).toEqual([])
  expect([await isOptedOut(account, today), await isOptedOut(account, other)]).toEqual([true, true])
  await removeOptOuts(redis, account, [today], { source: 'word', atMs: Date.now() })
  expect([await isOptedOut(account, today), await isOptedOut(account, other)]).toEqual([false, false])
})

test('an opt-out that an older release wrote under the other form is found, and can be lifted by either', async () => {
  const { redis } = service
  const { account } = await service.addTenant()
  const [today, other] = BRAZIL
  const { optOuts, optOutSources, names: size, namesIn } = contactsOf(redis, account)
  const at = Date.now() - 60_000
  for (const form of [today, other]) {
    await optOuts.put(at, form)
    await optOutSources.change({ [form]: JSON.stringify({ word: [at, at] }) })
  }
  expect([await isOptedOut(account, today), await isOptedOut(account, other)]).toEqual([true, true])
  expect(await removeOptOuts(redis, account, [today], { source: 'http' })).toBe(1)
  expect([await listed(account), await optOutSources.count()]).toEqual([[], 0])

  const stored = [
    [other, ['BR.7']],
    ['BR.7', [other]],
  ] as const
  await size.change({ buckets: 1, names: stored.length })
  for (const [name, others] of stored) {
    const field = Buffer.alloc(6)
    field.writeUIntBE(hash('sha256', name, 'buffer').readUIntBE(0, 6) % 2 ** 46, 0, 6)
    await namesIn('0').change(new Map([[field, packNames(others)]]))
  }
  for (const name of [today, other, 'BR.7']) expect(await namesOf(redis, account, name)).toEqual([today, 'BR.7', other])
  await keepNames(redis, account, [{ names: [today, 'BR.8'] }])
  for (const name of [today, other, 'BR.7', 'BR.8']) {
    const [first, ...names] = await namesOf(redis, account, name)
    expect([first, ...names.sort()], name).toEqual([today, other, 'BR.7', 'BR.8'])
  }
  expect(await namesIn('0').count()).toBe(3)
  await forgetNames(redis, account, [other])
  for (const name of [today, 'BR.7', 'BR.8']) expect((await namesOf(redis, account, name)).length, name).toBeLessThan(3)
  expect(await namesIn('0').count()).toBe(0)
})

test.each(PAIRS)('%s: names learned for %s apply to %s', async (_country, one, other) => {
  const { redis } = service
  const { account } = await service.addTenant()
  await keepNames(redis, account, [{ names: [one, 'XX.1'] }, { names: [one, other] }])
  await addOptOuts(redis, account, ['XX.1'], { source: 'word' })
  expect([await isOptedOut(account, one), await isOptedOut(account, other)]).toEqual([true, true])
  expect([...(await namesOf(redis, account, 'XX.1'))].sort()).toEqual([one, other, 'XX.1'].sort())
})

test.each(PAIRS)(
  '%s: a cap, a window and a place in the budget of %s are those of %s',
  async (_country, one, other) => {
    const { redis } = service
    const fresh = await service.addTenant({ defaultProvider: 'cloud-api' })
    const { account, cloudLane: lane } = fresh
    const [names = []] = await namesOfPeople(redis, account, [other])
    await cap(redis, { lane }, one, { forMs: 60_000 })
    expect(await cappedUntil(redis, { lane }, [names])).toEqual([expect.any(Number)])
    const ulid = '01M7WMMBQHKTZHMT677YAAW3FV'
    const owner = { lane, portfolio: { id: 1000 + lane, dailyLimit: 10, reservePercent: 0 } }
    for (const [i, form] of [one, other].entries()) {
      const [of = []] = await namesOfPeople(redis, account, [form])
      // The turns of a cooldown go by it.
      expect(of[0]).toBe(names[0])
      const ask = {
        name: `msg_${lane}_${ulid}`,
        names: of,
        isMarketing: false,
        isCampaign: false,
        opensConversation: true,
      }
      const [verdict] = await checkProviderRules(redis, owner, [ask], { mostHeld: 10 })
      expect(verdict, form).toEqual(i === 0 ? { verdict: 'ok', counted: true } : { verdict: 'ok' })
    }
  },
)

async function write(from: string, body: string): Promise<void> {
  const id = `wamid.${from}.${body}`
  const timestamp = String(Math.floor(Date.now() / 1_000))
  const value = {
    metadata: { phone_number_id: `${PHONE_NUMBER_ID}1` },
    messages: [{ id, from, timestamp, type: 'text', text: { body } }],
  }
  const raw = JSON.stringify({ entry: [{ id: '1', changes: [{ field: 'messages', value }] }] })
  const { status, text } = await postSigned(`${service.url}/webhooks/cloud-api`, raw)
  expect(status, text).toBe(200)
}

const conversation = z.object({
  data: z.array(z.looseObject({ direction: z.string() })),
  next: z.string().nullable(),
})
async function said(form: string): Promise<string[]> {
  const directions: string[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query: string = cursor === '' ? '' : `?cursor=${cursor}`
    const { data, next } = conversation.parse(
      (await service.request('GET', `/conversations/${form}/messages${query}`)).json(),
    )
    directions.push(...data.map(({ direction }) => direction))
    cursor = next
  }
  return directions.sort()
}

const person = z.object({
  data: z.object({ names: z.array(z.string()), messages: z.array(z.unknown()), contact: z.unknown() }),
})

test.each(COUNTRIES)(
  '%s: %s and %s share conversation and window, are shown and erased together, and messages keep their form',
  async (country, today, other) => {
    const admin = (await createCredential(service.redis, tenant.account, ['admin'], Date.now())).secret
    await write(other, 'Hello')
    // Mexico's old form is read as today's, as it always was.
    const out = country === 'Mexico' ? today : other
    await sendTo(service, tenant, `+${other}`, { sender: tenant.cloudNumber })
    const sent = await eventually(
      async () => (await readLedger(service.simulator.url)).find(({ to }) => to === out),
      'it is sent',
    )
    expect(sent.to).toBe(out)
    for (const form of [today, other]) {
      expect(await said(form), form).toEqual(['inbound', 'outbound'])
      const window = await service.request('GET', `/conversations/${form}?sender=${tenant.cloudNumber}`)
      expect(window.json().data, form).toMatchObject({ open: true })
      const found = await service.request('GET', `/messages?from=${form}`)
      expect(found.json().data, form).toHaveLength(1)
      const shown = person.parse((await service.request('GET', `/admin/people/${form}`, undefined, admin)).json())
      expect([shown.data.names, shown.data.messages.length], form).toEqual([[today, other], 2])
    }
    // A list that somebody uploads has the form that its people write.
    const list = await service.create({ rows: {} })
    const others = '447700900999,Bob\n'
    await service.upload(list, `phone,name\n+${other},Ada\n${others}${today},Ada\n`)
    const { rows_file = '' } = (await service.record(list)) ?? {}
    const rows = () => {
      const [lane, number] = list.split('_').slice(1).map(Number)
      const folder = campaignFolder({ lane: lane ?? 0, number: number ?? 0 })
      return readFileSync(join(service.config.dataDir, folder, rows_file), 'utf8').replaceAll(' ', '')
    }
    expect(rows()).toContain(other)
    const answer = await service.request('DELETE', `/admin/people/${today}`, undefined, admin)
    expect([answer.status, answer.json().data], answer.text).toMatchObject([200, { received: 1, messages: 1 }])
    for (const form of [today, other]) {
      expect(await said(form), form).toEqual([])
    }
    expect(rows()).toBe(`phone,name\n\n${others}\n`)
    const names = await namesOfPeople(service.redis, tenant.account, [today])
    expect(await openWindowsAmong(service.redis, tenant.cloudLane, names)).toEqual(new Set())
  },
)

test('both forms in a list are one recipient, and an opt-out of one form excludes the other', async () => {
  const { redis } = service
  const { id: tag } = await createTag(redis, tenant.account, 'forms')
  const people = COUNTRIES.flatMap(([, today, other]) => [other, today])
  await importContacts(
    redis,
    tenant.account,
    tag,
    people.map((phone) => ({ phone, name: 'Ada', email: '' })),
  )
  const first = await service.ready({ tags: [tag] })
  expect((await service.show(first)).preflight).toMatchObject({ recipients: 4, refused: { duplicate: 4 } })
  await addOptOuts(redis, tenant.account, [BRAZIL[0]], { source: 'http' })
  const second = await service.ready({ tags: [tag] })
  expect((await service.show(second)).preflight).toMatchObject({
    recipients: 3,
    refused: { duplicate: 3, opted_out: 2 },
  })
  // Also at departure, without anything learned.
  const id = acknowledgedId(await service.post('/chatappbusiness/send-templated-message', template(BRAZIL[1])))
  await eventually(async () => {
    const { data } = (await service.request('GET', `/messages/${id}`)).json()
    return data.state === 'cancelled' && data.problem.code === 'opted_out'
  }, 'it is cancelled')
})

function template(to: string): object {
  const components = [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }]
  return {
    ...{ api_key: tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual', type: 'template' },
    ...{ to, sender: tenant.cloudNumber },
    template: { name: 'spring', language: { code: 'en_US' }, components },
  }
}
