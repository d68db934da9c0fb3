// Pins: people who want no advertising get none: from the word that they write, WhatsApp's own report, HTTP, to the
// campaigns and templates that pass them over; what is no advertising reaches them unless the account says otherwise.
// Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { setAccountSettings } from '../../src/accounts/accounts.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { findSender } from '../../src/accounts/senders.ts'
import { rotateSecrets } from '../../src/admin/rotate-secrets.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { OPTED_OUT_THERE } from '../../src/model/messages/provider-codes.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { CHECK_GOOD_FOR_MS } from '../../src/people/opt-outs/check-validity.ts'
import { useOptOutSecrets } from '../../src/people/opt-outs/erased.ts'
import { addOptOuts, findOptOut, optedOutAmong } from '../../src/people/opt-outs/opt-outs.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { applyOptOutKeyword, applyPreference, applyProviderOptOut } from '../../src/reports/apply-opt-outs.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { acknowledgedId, sendTo } from '../support/messages.ts'
import { PHONE_NUMBER_ID, type Tenant } from '../support/service.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { slowChecksOf } from '../support/state/accounts.ts'
import { allOfContacts, stored } from '../support/state/everything.ts'
import { receivedRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'
import { bringWebhook } from '../support/webhooks.ts'

let service: CampaignService
let contacts: string
beforeAll(async () => {
  service = await startCampaigns()
  const may = ['contacts:read', 'contacts:write', 'admin'] as const
  contacts = (await createCredential(service.redis, service.tenant.account, may, Date.now())).secret
})
afterAll(() => service?.close())

const entry = z.object({ person: z.string(), source: z.string(), since: z.iso.datetime() })
const page = z.object({ data: z.array(entry), next: z.string().nullable() })
const ask = (method: string, path: string, body?: object, key = contacts) => service.request(method, path, body, key)
const optOutOf = (person: string) => findOptOut(service.redis, service.tenant.account, person)

async function hear(message: object): Promise<void> {
  const body = JSON.stringify({ sender: `${PHONE_NUMBER_ID}1`, ...message })
  const answer = await fetch(`${service.simulator.url}/_inbound`, { method: 'POST', body })
  expect(await answer.json()).toMatchObject({ delivered: true })
}

async function sendTemplate(to: string): Promise<string> {
  const { apiKey, cloudNumber } = service.tenant
  const components = [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }]
  const template = { name: 'spring', language: { code: 'en_US' }, components }
  const head = { messaging_product: 'chatapp', recipient_type: 'individual', type: 'template' }
  const body = { api_key: apiKey, ...head, to, sender: cloudNumber, template }
  return acknowledgedId(await service.post('/chatappbusiness/send-templated-message', body))
}

const shown = z.object({
  data: z.looseObject({ state: z.string(), problem: z.looseObject({ code: z.string() }).nullable() }),
})
const ended = (id: string) =>
  eventually(async () => {
    const { data } = shown.parse((await service.request('GET', `/messages/${id}`)).json())
    return ['read', 'failed', 'cancelled'].includes(data.state) ? data : undefined
  }, `${id} has ended`)

test('an account lists, adds and removes its own opt-outs, the latest first, under any spelling of a number', async () => {
  const other = await service.addTenant()
  for (const person of ['+49 (1520) 555-0001', '491520 5550002', 'US.13491208655302741918']) {
    const answer = await ask('POST', '/opt-outs', { person })
    expect([answer.status, answer.json().data.source], answer.text).toEqual([201, 'http'])
    const addedMs = await redisNowMs(service.redis)
    await eventually(async () => (await redisNowMs(service.redis)) > addedMs, 'a later millisecond')
  }
  const [, second, first] = ['491520' + '5550001', '491520' + '5550002', 'US.13491208655302741918']
  const one = page.parse((await ask('GET', '/opt-outs?limit=1')).json())
  expect(one.data.map(({ person }) => person)).toEqual([first])
  // The one that the cursor names may have gone meanwhile.
  expect((await ask('DELETE', `/opt-outs/${first}`)).status).toBe(200)
  const rest = page.parse((await ask('GET', `/opt-outs?limit=1&cursor=${one.next}`)).json())
  expect([rest.data.map(({ person }) => person), rest.next === null]).toEqual([[second], false])

  const { since } = entry.parse((await ask('GET', '/opt-outs/%2B491520%205550002')).json().data)
  expect((await ask('POST', '/opt-outs', { person: '+4915205550002' })).json().data.since).toBe(since)
  expect((await ask('GET', `/opt-outs/${first}`)).status).toBe(404)
  expect((await ask('DELETE', `/opt-outs/${first}`)).status).toBe(404)

  const theirs = await other.key('contacts:read')
  expect(page.parse((await ask('GET', '/opt-outs', undefined, theirs)).json()).data).toEqual([])
  expect((await ask('GET', `/opt-outs/${second}`, undefined, theirs)).status).toBe(404)
  expect((await ask('POST', '/opt-outs', { person: '+4915205550003' }, theirs)).status).toBe(403)
  for (const [body, path] of [
    [{ person: 'Ada' }, 'person'],
    [{}, 'person'],
    [{ person: '+4915205550002', why: 'x' }, 'why'],
  ] as const) {
    const answer = await ask('POST', '/opt-outs', body)
    expect([answer.status, answer.json().error.details[0].path], answer.text).toEqual([400, path])
  }
  expect((await ask('GET', '/opt-outs?cursor=x')).status).toBe(400)
})

test.concurrent('a repeated request is answered once the opt-out holds, also while the first one still waits for that', async () => {
  const add = () =>
    service.api.as(contacts).post('/opt-outs', { person: '+491520555009' }, { 'idempotency-key': 'once' })
  const first = add()
  const written = await eventually(() => optOutOf('491520555009'), 'the opt-out is written')
  const writtenAt = performance.now()
  const repeat = await add()
  expect([written.source, repeat.status]).toEqual(['http', 201])
  expect(performance.now() - writtenAt).toBeGreaterThanOrEqual(CHECK_GOOD_FOR_MS)
  expect((await first).status).toBe(201)
})

test.concurrent('a stop word alone, written or pressed, opts a person out by number and id; a start word ends that', async () => {
  await hear({ from: '+491520556001', user_id: 'DE.1', text: ' Stop! ' })
  await hear({ from: '+491520556002', type: 'button', text: 'UNSUBSCRIBE' })
  await hear({ user_id: 'DE.3', text: 'stop' })
  await hear({ from: '+491520556004', text: 'Please stop by tomorrow' })
  await hear({ from: '+491520556005', type: 'image', text: 'stop' })
  expect(await optOutOf('491520556001')).toMatchObject({ source: 'word' })
  for (const person of ['DE.1', '491520556002', 'DE.3']) expect(await optOutOf(person), person).toBeDefined()
  for (const person of ['491520556004', '491520556005']) expect(await optOutOf(person), person).toBeUndefined()

  // WhatsApp tells whole seconds.
  const second = nowSeconds()
  await eventually(async () => nowSeconds() > second, 'a later second')
  await hear({ from: '+491520556001', user_id: 'DE.1', text: 'START' })
  expect([await optOutOf('491520556001'), await optOutOf('DE.1')]).toEqual([undefined, undefined])
})

test('an erased person stays opted out, is not listed, and may withdraw it', async () => {
  const { redis, tenant, config } = service
  const person = '491520559001'
  const since = Date.now() - 60_000
  await addOptOuts(redis, tenant.account, [person, '491520559002'], { source: 'word', atMs: since })
  expect((await ask('DELETE', `/admin/people/${person}`)).status).toBe(200)
  await eventually(
    async () => !JSON.stringify(await allOfContacts(redis, '*')).includes(person),
    'nothing has the number',
  )
  expect(await optOutOf(person)).toEqual({ person, source: 'word', since: new Date(since).toISOString() })
  expect(page.parse((await ask('GET', '/opt-outs')).json()).data.map((each) => each.person)).not.toContain(person)
  const id = await sendTemplate(`+${person}`)
  expect((await ended(id)).problem?.code).toBe('opted_out')
  const people = ['491520559003', person, '491520559002']
  expect(
    await optedOutAmong(
      redis,
      tenant.account,
      people.map((each) => [each]),
    ),
  ).toEqual(new Set([1, 2]))

  const secrets = secretKeysOf(config)
  const newest = 'another secret key of thirty-two characters'
  try {
    await rotateSecrets(redis, createSeal([newest, ...secrets]))
    useOptOutSecrets(() => [newest])
    const fresh = connectWithRetry(service.server.url)
    expect(await findOptOut(fresh, tenant.account, person)).toBeDefined()
    fresh.disconnect()
  } finally {
    await rotateSecrets(redis, createSeal([...secrets, newest]))
    useOptOutSecrets(() => secrets)
  }

  expect((await ask('DELETE', `/opt-outs/${person}`)).status).toBe(200)
  expect(await optOutOf(person)).toBeUndefined()
  expect((await ask('DELETE', `/opt-outs/${person}`)).status).toBe(404)
})

test.concurrent('a stop word in a group is ignored, and one of a person already listed changes nothing', async () => {
  const { redis, tenant } = service
  const stop = { type: 'text', text: 'stop' }
  await applyOptOutKeyword(
    redis,
    tenant.account,
    { ...stop, from: '491520556101', parts: { group_id: 'g1' } },
    Date.now(),
  )
  expect(await optOutOf('491520556101')).toBeUndefined()
  await ask('POST', '/opt-outs', { person: '+491520556102' })
  const before = await optOutOf('491520556102')
  await applyOptOutKeyword(redis, tenant.account, { ...stop, from: '491520556102', parts: {} }, Date.now())
  expect(before?.source).toBe('http')
  expect(await optOutOf('491520556102')).toEqual(before)
})

test.concurrent('an opt-out dated in the future counts from now on, and what comes after it can end it', async () => {
  const { redis, tenant } = service
  const person = '491520558803'
  const beganMs = Date.now()
  await applyPreference(redis, tenant.account, { people: [person], intent: 'stop', atMs: beganMs + 3_600_000 })
  const { since = '' } = (await optOutOf(person)) ?? {}
  expect(Date.parse(since)).toBeGreaterThanOrEqual(beganMs)
  expect(Date.parse(since)).toBeLessThanOrEqual(Date.now())
  await applyPreference(redis, tenant.account, { people: [person], intent: 'resume', atMs: undefined })
  expect(await optOutOf(person)).toBeUndefined()
})

/** What WhatsApp brings, as it signs it. */
async function bring(field: string, value: object, phone_number_id = `${PHONE_NUMBER_ID}1`): Promise<void> {
  const change = { field, value: { metadata: { display_phone_number: '1', phone_number_id }, ...value } }
  expect((await bringWebhook(service.url, [change])).status).toBe(200)
}
const prefer = (wa_id: string, value: string, timestamp: number) =>
  bring('user_preferences', {
    messaging_product: 'whatsapp',
    user_preferences: [{ wa_id, category: 'marketing_messages', value, timestamp }],
  })
const write = (from: string, body: string, timestamp: number, number?: string) => {
  const id = `wamid.${from}.${body}.${timestamp}`
  const messages = [{ id, from, timestamp: String(timestamp), type: 'text', text: { body } }]
  return bring('messages', { messaging_product: 'whatsapp', messages }, number)
}
const nowSeconds = () => Math.floor(Date.now() / 1_000)

test.concurrent('opt-outs set at WhatsApp are applied and ended; those that the person wrote stay', async () => {
  const [person, other] = ['491520558801', '491520558802']
  const now = nowSeconds()
  await prefer(person, 'stop', now - 60)
  expect(await optOutOf(person)).toMatchObject({
    source: 'provider',
    since: new Date((now - 60) * 1_000).toISOString(),
  })
  // One that was sent before and comes after it.
  await prefer(person, 'resume', now - 120)
  expect(await optOutOf(person)).toBeDefined()
  await prefer(person, 'resume', now - 30)
  expect(await optOutOf(person)).toBeUndefined()
  // A stop from before that comes after it.
  await prefer(person, 'stop', now - 40)
  expect(await optOutOf(person)).toBeUndefined()
  await write(other, 'stop', now - 20)
  await prefer(other, 'resume', now)
  expect(await optOutOf(other)).toMatchObject({ source: 'word' })
})

test.concurrent('of a stop and a start word the later one counts, whichever arrives first', async () => {
  const now = nowSeconds()
  const [stopped, back] = ['491520558811', '491520558812']
  await write(stopped, 'stop', now - 30)
  await write(stopped, 'start', now - 60)
  expect(await optOutOf(stopped)).toMatchObject({ source: 'word' })
  await write(back, 'start', now - 30)
  await write(back, 'stop', now - 60)
  expect(await optOutOf(back)).toBeUndefined()
})

test.concurrent("of a stop and a start within one second, WhatsApp's finest time, the stop counts", async () => {
  const now = nowSeconds() - 30
  for (const [person, words] of [
    ['491520558821', ['stop', 'start']],
    ['491520558822', ['start', 'stop']],
  ] as const) {
    for (const word of words) await write(person, word, now)
    expect(await optOutOf(person), person).toBeDefined()
    await write(person, 'start', now + 1)
    expect(await optOutOf(person), person).toBeUndefined()
  }
})

test.concurrent('a person who wrote STOP after WhatsApp reported an opt-out stays opted out when WhatsApp reports its end', async () => {
  const now = nowSeconds()
  const person = '491520558831'
  await prefer(person, 'stop', now - 60)
  await write(person, 'stop', now - 40)
  await prefer(person, 'resume', now - 20)
  expect(await optOutOf(person)).toMatchObject({ source: 'word', since: new Date((now - 40) * 1_000).toISOString() })
  await write(person, 'start', now - 10)
  expect(await optOutOf(person)).toBeUndefined()
})

test.concurrent('a stop word older than the removal of an opt-out by the account does not restore it, a later one does', async () => {
  const person = '491520558841'
  await ask('POST', '/opt-outs', { person })
  expect((await ask('DELETE', `/opt-outs/${person}`)).status).toBe(200)
  const now = nowSeconds()
  await write(person, 'stop', now - 600)
  expect(await optOutOf(person)).toBeUndefined()
  await prefer(person, 'stop', now - 20)
  const before = nowSeconds()
  expect((await ask('DELETE', `/opt-outs/${person}`)).status).toBe(200)
  // The account knew of it when it took them off.
  await prefer(person, 'stop', now - 20)
  expect(await optOutOf(person)).toBeUndefined()
  // Within a minute nobody can tell which was first: our clock is not WhatsApp's.
  await write(person, 'stop', before)
  expect(await optOutOf(person)).toBeDefined()
})

test.concurrent('a start word whose message was stored before its worker died does not count as new', async () => {
  const { redis, tenant } = service
  const person = '491520558851'
  const now = nowSeconds()
  await write(person, 'start', now - 60)
  await write(person, 'stop', now - 30)
  // It died right before it noted that everybody was told.
  await receivedRecord(redis, tenant.account, `wamid.${person}.start.${now - 60}`).drop('notified')
  await write(person, 'start', now - 60)
  expect(await optOutOf(person)).toBeDefined()
})

test.concurrent('a report of WhatsApp from before the person opted in again does not opt them out', async () => {
  const person = '15550100217'
  const now = nowSeconds()
  await sendTo(service, service.tenant, `+${person}`)
  const { account } = service.tenant
  const told = (atMs: number) => applyProviderOptOut(service.redis, account, person, { code: OPTED_OUT_THERE }, atMs)
  await write(person, 'start', now - 30)
  await told((now - 60) * 1_000)
  expect(await optOutOf(person)).toBeUndefined()
  await told((now - 20) * 1_000)
  expect(await optOutOf(person)).toMatchObject({ source: 'provider' })
})

test.concurrent("a stop word counts wherever and however it is written: button, payload, row, edit, WhatsApp's own button", async () => {
  const at = String(nowSeconds() - 60)
  const say = (from: string, id: string, message: object) =>
    bring('messages', { messaging_product: 'whatsapp', messages: [{ from, id, timestamp: at, ...message }] })
  const place = (original_message_id: string, message: object) => ({
    type: 'edit',
    edit: { original_message_id, message },
  })
  const heard: [from: string, message: object][] = [
    ['491520553001', { type: 'text', text: { body: '\u200FSTOP ❤️' } }],
    ['491520553002', { type: 'button', button: { payload: 'STOP' } }],
    ['491520553003', { type: 'button', button: { text: 'No more news', payload: 'stop' } }],
    ['491520553004', { type: 'button', button: { text: 'Stop promotions', payload: 'Stop promotions' } }],
    ['491520553005', { type: 'interactive', interactive: { button_reply: { id: 'stop', title: 'No more of it' } } }],
    ['491520553006', { type: 'interactive', interactive: { list_reply: { id: 'row-7', title: 'Unsubscribe' } } }],
    ['491520553007', { ...place('wamid.before', { type: 'text', text: { body: 'STOP' } }) }],
    ['491520553008', { type: 'text', text: { body: 'Stop. Thank you' } }],
    ['user.93737', { type: 'text', text: { body: 'stop' } }],
    ['BR.AB12cd34EF', { type: 'text', text: { body: 'stop' } }],
  ]
  await Promise.all(heard.map(([from, message], i) => say(from, `wamid.heard.${i}`, message)))
  for (const [from] of heard) expect(await optOutOf(from), from).toMatchObject({ source: 'word' })
  // Digits within an id are no number.
  for (const number of ['93737', '1234']) expect(await optOutOf(number), number).toBeUndefined()

  const caption = { type: 'image', image: { id: '77', mime_type: 'image/jpeg', caption: 'stop' } }
  await say('491520553101', 'wamid.caption', caption)
  await say('491520553102', 'wamid.edited-caption', place('wamid.caption', caption))
  await say('491520553103', 'wamid.group', { type: 'text', text: { body: 'stop' }, group_id: 'g1' })
  for (const from of ['491520553101', '491520553102', '491520553103'])
    expect(await optOutOf(from), from).toBeUndefined()
})

test.concurrent('everybody in the list can be read and removed by address, and imported again from an export', async () => {
  const other = await service.addTenant()
  const odd = ['user.93737', '15550', 'BR.AB12cd34EF', 'x_y:z(1', '491520559301']
  await addOptOuts(service.redis, other.account, odd, { source: 'word' })
  const may = ['contacts:read', 'contacts:write'] as const
  const { secret: key } = await createCredential(service.redis, other.account, may, Date.now())
  const { data } = page.parse((await ask('GET', '/opt-outs', undefined, key)).json())
  expect(data.map(({ person }) => person).sort()).toEqual([...odd].sort())
  const file = (await ask('GET', '/opt-outs/export', undefined, key)).text
  for (const { person } of data) {
    const path = `/opt-outs/${encodeURIComponent(person)}`
    const shown = await ask('GET', path, undefined, key)
    expect([shown.status, shown.json().data.person], shown.text).toEqual([200, person])
    expect((await ask('DELETE', path, undefined, key)).status, person).toBe(200)
    expect((await ask('GET', path, undefined, key)).status, person).toBe(404)
  }
  // What is neither a number nor looks like an id may be a slip, and is named.
  expect((await upload(file, 'text/csv', key)).json).toMatchObject({ data: { imported: 3, refused: 2 } })
  for (const person of ['user.93737', 'BR.AB12cd34EF', '491520559301']) {
    expect((await ask('GET', `/opt-outs/${person}`, undefined, key)).status, person).toBe(200)
  }
  for (const typedWrong of ['+1415555', '0171 1234567', 'two words']) {
    const answer = await ask('GET', `/opt-outs/${encodeURIComponent(typedWrong)}`, undefined, key)
    expect(answer.status, typedWrong).toBe(400)
  }
})

test.concurrent('a person whom WhatsApp reports as opted out is in the list', async () => {
  await sendTo(service, service.tenant, '+15550100207')
  const found = await eventually(() => optOutOf('15550100207'), 'the report is heard')
  expect(found.source).toBe('provider')
})

test.concurrent('a campaign refuses opted-out people in its preflight, and sends nothing to those who opt out before their turn', async () => {
  const { redis, tenant } = service
  const { id: tag } = await createTag(redis, tenant.account, 'mixed')
  const phones = Array.from({ length: 30 }, (_, i) => String(491_520_580_000 + i))
  await importContacts(
    redis,
    tenant.account,
    tag,
    phones.map((phone) => ({ phone, name: 'Ada', email: '' })),
  )
  const [before = '', after = ''] = phones
  await ask('POST', '/opt-outs', { person: before })
  const id = await service.ready({ tags: [tag] })
  expect((await service.show(id)).preflight).toMatchObject({ recipients: 29, refused: { opted_out: 1 } })
  const refused = await service.request('GET', `/campaigns/${id}/refused`)
  expect(refused.text).toContain(`${before},opted_out,the person wants no advertising`)

  await ask('POST', '/opt-outs', { person: after })
  await service.move(id, 'start')
  const { progress } = await service.reaches(id, 'done')
  expect(progress).toMatchObject({ total: 29, cancelled: 1, failed: 0 })
  const sent = await service.ledger()
  expect([before, after].filter((phone) => sent.includes(phone))).toEqual([])
  const listed = await service.request('GET', `/messages?campaign=${id}&to=${after}`)
  expect(listed.json().data).toMatchObject([{ state: 'cancelled', problem: { code: 'opted_out' } }])
})

test.concurrent('a MARKETING template to an opted-out person is cancelled with the reason, also when requeued; others are sent', async () => {
  const to = '+491520570001'
  await ask('POST', '/opt-outs', { person: to })
  const template = await sendTemplate(to)
  expect(await ended(template)).toMatchObject({ state: 'cancelled', problem: { code: 'opted_out' } })
  const again = await service.request('POST', `/messages/${template}/requeue`)
  expect(again.status, again.text).toBe(200)
  expect(await ended(template)).toMatchObject({ state: 'cancelled', problem: { code: 'opted_out' } })
  expect(await ended(await sendTo(service, service.tenant, to))).toMatchObject({ state: 'read' })

  await ask('DELETE', `/opt-outs/${encodeURIComponent(to)}`)
  expect(await ended(await sendTemplate(to))).toMatchObject({ state: 'read' })
})

test.concurrent('a request repeated at the same time is not answered before the opt-out holds either', async () => {
  const post = () =>
    service.api.as(contacts).post('/opt-outs', { person: '+491520578901' }, { 'idempotency-key': 'at once' })
  const first = post()
  await eventually(async () => (await optOutOf('491520578901')) !== undefined, 'it is written down')
  const begun = performance.now()
  expect((await post()).status).toBe(201)
  expect(performance.now() - begun).toBeGreaterThan(CHECK_GOOD_FOR_MS)
  expect((await first).status).toBe(201)
})

const upload = (csv: string | Buffer, type = 'text/csv', key = contacts) =>
  service.api.as(key).post('/opt-outs/import', csv, { 'content-type': type })
async function download(key: string): Promise<string[]> {
  const { headers, text } = await service.api.as(key).get('/opt-outs/export')
  expect(headers.get('content-disposition')).toBe('attachment; filename="opt-outs.csv"')
  return text.trimEnd().split('\n')
}

test.concurrent('a file of people may have invisible characters and spaces before its quotes, as phones and programs write them', async () => {
  const rows = [
    'note,\u200bPerson\ufeff',
    '1, "+49 1520 574011"',
    '2,\u202a+49 1520 574012\u202c',
    '3,"49\u20111520\u2011574013" ',
  ]
  expect((await upload(rows.join('\n'))).json).toMatchObject({ data: { imported: 3, refused: 0 } })
  for (const person of ['491520574011', '491520574012', '491520574013']) expect(await optOutOf(person)).toBeDefined()
})

test.concurrent('a file of people can be imported repeatedly, and an export imports unchanged', async () => {
  const rows = ['Name,Phone,note', 'Ada,+49 1520 574001,"a, b"', 'Bo,nobody,', ',,', 'Cy,US.57,x', 'Di,491520574001,']
  const reason = 'expected a full international number, or the id of a person without one'
  const data = { imported: 3, added: 2, refused: 1, refused_rows: [{ line: 3, reason }] }
  expect((await upload(rows.join('\n'))).json).toMatchObject({ status: true, data })
  expect((await upload(rows.join('\n'))).json).toMatchObject({ data: { imported: 3, added: 0 } })
  expect(await optOutOf('491520574001')).toMatchObject({ source: 'http' })
  expect(await optOutOf('US.57')).toBeDefined()

  const exported = await download(contacts)
  expect(exported[0]).toBe('person,source,since')
  expect(exported.filter((line) => /^(491520574001|US\.57),http,2/.test(line))).toHaveLength(2)
  const other = await service.addTenant()
  const both = ['contacts:read', 'contacts:write'] as const
  const { secret } = await createCredential(service.redis, other.account, both, Date.now())
  expect((await upload(exported.join('\n'), 'text/csv', secret)).json).toMatchObject({ data: { refused: 0 } })
  const people = (lines: string[]) => lines.map((line) => line.split(',')[0]).sort()
  expect(people(await download(secret))).toEqual(people(exported))
})

test.concurrent('a list of many pages is exported completely, and an empty one as its header', async () => {
  const other = await service.addTenant()
  const key = await other.key('contacts:read')
  expect(await download(key)).toEqual(['person,source,since'])
  const many = Array.from({ length: 2_345 }, (_, i) => `4915205${String(i).padStart(6, '0')}`)
  await addOptOuts(service.redis, other.account, many, { source: 'cli' })
  const lines = await download(key)
  expect(new Set(lines.slice(1).map((line) => line.split(',')[0]))).toEqual(new Set(many))
  expect(lines).toHaveLength(many.length + 1)
})

test.concurrent('what is not a list of people is refused, and rows before the fault are kept', async () => {
  expect(await upload('name,email\nAda,a@b.c\n')).toMatchObject({
    status: 400,
    json: { error: { details: [{ message: expect.stringContaining('the column person, or phone') }] } },
  })
  const rows = Array.from({ length: 500 }, (_, i) => `+491520575${String(i).padStart(3, '0')}`)
  expect(await upload(`person\n${rows.join('\n')}\n+491520576000\n"+491520576001`)).toMatchObject({ status: 400 })
  expect(await optOutOf('491520575499')).toBeDefined()
  expect(await optOutOf('491520576000')).toBeDefined()
  const mixed = Buffer.concat([Buffer.from('person,name\n+491520576002,é\n+491520576003,'), Buffer.from([0xe9, 0x0a])])
  expect(await upload(mixed)).toMatchObject({ status: 400 })
  expect(await optOutOf('491520576002')).toBeDefined()
  expect(await optOutOf('491520576003')).toBeUndefined()
  expect((await upload('person\n', 'application/json')).status).toBe(415)
  expect((await upload('person\n', 'text/csv', service.tenant.apiKey)).status).toBe(403)
  expect((await upload('person\n')).json).toMatchObject({ data: { imported: 0, refused_rows: [] } })
})

test.concurrent('the command line imports and exports opt-outs', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'laneway-opt-outs-'))
  try {
    const [from, to] = [join(dir, 'stop.csv'), join(dir, 'all.csv')]
    writeFileSync(from, 'phone\n+49 1520 577001\nnone\n')
    const account = String(service.tenant.account)
    const cli = (...words: string[]) => runCli(['opt-outs', ...words, '--account', account], service.settings)
    const { stdout } = await cli('import', from)
    expect(stdout).toMatch(/Rows imported +1\n/)
    expect(stdout).toContain('Line 3: expected a full international number')
    expect(await optOutOf('491520577001')).toMatchObject({ source: 'cli' })
    await cli('export', to)
    expect(readFileSync(to, 'utf8')).toMatch(/^person,source,since\n(.+\n)*491520577001,cli,2/)
    expect(statSync(to).mode & 0o077).toBe(0)
    expect((await cli('import', join(dir, 'none.csv'))).stderr).toContain('none.csv')
  } finally {
    rmSync(dir, { recursive: true })
  }
})

test.concurrent('the command line adds, lists and removes opt-outs', async () => {
  const account = String(service.tenant.account)
  const cli = (...words: string[]) => runCli(['opt-outs', ...words, '--account', account, '--json'], service.settings)
  expect(JSON.parse((await cli('add', '+49 1520 573001, DE.9')).stdout)).toHaveLength(2)
  expect(await optOutOf('491520573001')).toMatchObject({ source: 'cli' })
  expect(documentIn((await cli('list', '--limit', '2')).stdout)).toHaveLength(2)
  expect((await cli('remove', '+491520573001')).code).toBe(0)
  expect(await optOutOf('491520573001')).toBeUndefined()
})

test('an account has its own stop words, and none if it sets none', async () => {
  const { redis, tenant } = service
  await setAccountSettings(redis, tenant.account, { 'opt_out.stop_words': 'Abbestellen, Nein danke' })
  // Settings are known for a second.
  await eventually(async () => {
    await hear({ from: '+491520557001', text: 'nein DANKE.' })
    return optOutOf('491520557001')
  }, 'the new word is heard')
  await hear({ from: '+491520557002', text: 'stop' })
  expect(await optOutOf('491520557002')).toBeUndefined()
  await setAccountSettings(redis, tenant.account, { 'opt_out.stop_words': 'stop,unsubscribe' })
})

test('an account may have all messages to opted-out people stopped', async () => {
  const { redis, tenant } = service
  const to = '+491520571001'
  await ask('POST', '/opt-outs', { person: to })
  await setAccountSettings(redis, tenant.account, { 'opt_out.transactional': 'stop' })
  await eventually(
    async () => (await ended(await sendTo(service, tenant, to))).state === 'cancelled',
    'the setting is known',
  )
  await setAccountSettings(redis, tenant.account, { 'opt_out.transactional': 'send' })
})

test('an erased person is no longer in the list', async () => {
  await ask('POST', '/opt-outs', { person: '+491520572001' })
  await hear({ from: '+491520572001', text: 'Hi' })
  const shownPerson = await ask('GET', '/admin/people/491520572001')
  expect(shownPerson.json().data.opt_out).toMatchObject({ source: 'http' })
  expect((await ask('DELETE', '/admin/people/491520572001')).status).toBe(200)
  const places = Object.entries(await stored(service.redis)).filter(([key, value]) =>
    (key + value).includes('491520572001'),
  )
  expect(places).toEqual([])
})

/**
 * A campaign of a new tenant's that sends to so many people at this rate, and the first five have got it. `checked` is called
 * between its preflight and its start.
 */
async function under(
  rate: number,
  { people, first }: { people: number; first: number },
  checked: (of: { tenant: Tenant; phones: string[] }) => Promise<void> = async () => {},
) {
  const slow = await service.addTenant({ defaultProvider: 'cloud-api', rate })
  const { id: tag } = await createTag(service.redis, slow.account, 'slow')
  const phones = Array.from({ length: people }, (_, i) => String(first + i))
  await importContacts(
    service.redis,
    slow.account,
    tag,
    phones.map((phone) => ({ phone, name: 'Ada', email: '' })),
  )
  const call = async (method: string, path: string, body?: object) => {
    const answer = await service.request(method, path, body, slow.apiKey)
    expect(answer.status, answer.text).toBeLessThan(300)
    return answer.json().data
  }
  const definition = { ...service.definition({ tags: [tag] }), sender: slow.cloudNumber }
  const { id } = await call('POST', '/campaigns', definition)
  await call('POST', `/campaigns/${id}/preflight`)
  const become = (state: string) =>
    eventually(async () => (await call('GET', `/campaigns/${id}`)).state === state, `${id} is ${state}`)
  await become('ready')
  await checked({ tenant: slow, phones })
  await call('POST', `/campaigns/${id}/start`)
  const reached = async () => (await service.ledger()).filter((to) => phones.includes(to)).length
  await eventually(async () => (await reached()) >= 5, 'it is under way')
  return {
    tenant: slow,
    phones,
    reached,
    become,
    progress: async () => (await call('GET', `/campaigns/${id}`)).progress,
  }
}

test('people who opt out during a campaign are skipped', async () => {
  const { tenant, phones, reached, become, progress } = await under(40, { people: 200, first: 491_520_590_000 })
  await addOptOuts(service.redis, tenant.account, phones, { source: 'http' })
  const then = await reached()
  await become('done')
  const sent = await reached()
  // What is claimed already leaves. Claims are ahead by a few; a worker that is late takes a hundred at once, and says that it is.
  const isLate = await slowChecksOf(service.redis).isAnnounced()
  expect(sent - then).toBeLessThan(isLate ? 140 : 40)
  expect((await progress()).cancelled).toBe(200 - sent)
})

test.each([
  ['a request', 491_520_591_000],
  ['a stop word', 491_520_592_000],
])('nothing leaves to a person whom %s has opted out, once that is answered', async (by, first) => {
  const answeredAt = new Map<string, number>()
  let key = ''
  let number: string | undefined
  async function optOut(person: string): Promise<void> {
    if (by === 'a request') expect((await ask('POST', '/opt-outs', { person }, key)).status).toBe(201)
    else await write(person, 'stop', nowSeconds(), number)
    answeredAt.set(person, Date.now())
  }
  // The last two are stopped before it starts: a worker that is late claims a hundred at once. The others are stopped one after the
  // other when their turn comes within the next tenths of a second.
  const { phones, reached, become, progress } = await under(50, { people: 120, first }, async ({ tenant, phones }) => {
    key = await tenant.key('contacts:write')
    number = (await findSender(service.redis, tenant.cloudLane))?.phone_number_id
    await Promise.all(phones.slice(-2).map(optOut))
  })
  const stopping: Promise<void>[] = []
  for (let place = 10; place + 4 < phones.length; place += 4) {
    await eventually(async () => (await reached()) + stopping.length >= place - 2, `the turn of ${place}`)
    stopping.push(optOut(phones[place + 2] ?? ''))
  }
  await Promise.all(stopping)
  await become('done')
  expect((await progress()).cancelled).toBeGreaterThan(0)
  const lines = (await readLedger(service.simulator.url)).filter(({ to }) => answeredAt.has(to))
  expect(lines.length).toBeGreaterThan(0)
  expect(lines.filter(({ to, at_ms }) => at_ms > (answeredAt.get(to) ?? 0))).toEqual([])
})
