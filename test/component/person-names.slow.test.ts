// Pins: a person whom WhatsApp names by number and by user id is one: what they say under any name holds under all, in whatever
// order webhooks come, and is shown and forgotten together. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { useDataKeys } from '../../src/kernel/sealed.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { openWindowsAmong } from '../../src/lanes/messages/inbound.ts'
import { NAMES_MAX } from '../../src/model/people/person.ts'
import { forgetNames, keepNames, namesOf, namesOfPeople } from '../../src/people/names/names.ts'
import { addOptOuts, findOptOut, optedOutAmong } from '../../src/people/opt-outs/opt-outs.ts'
import { createTombstones } from '../../src/people/tombstones.ts'
import { cap, cappedUntil } from '../../src/portfolios/caps.ts'
import { createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { learnNames } from '../../src/reports/learn-names.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { acknowledgedId } from '../support/messages.ts'
import { interceptCommands } from '../support/redis.ts'
import { PHONE_NUMBER_ID, type Tenant } from '../support/service.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { allOfContacts } from '../support/state/everything.ts'
import { eventually } from '../support/wait.ts'
import { postSigned } from '../support/webhooks.ts'

let service: CampaignService
let tenant: Tenant
let admin: string
beforeAll(async () => {
  service = await startCampaigns()
  tenant = service.tenant
  admin = await tenant.key('admin')
})
afterAll(() => service?.close())

let people = 0
/** Somebody nobody has heard of yet. */
function somebody(): { number: string; id: string; next: string; nextId: string } {
  people += 1
  const tail = String(people).padStart(6, '0')
  return { number: `491525${tail}`, id: `DE.1${tail}`, next: `491526${tail}`, nextId: `DE.2${tail}` }
}

/** Of WhatsApp, all in the past: a time to come is taken for now (seconds). */
const START = Math.floor(Date.now() / 1_000) - 3_600

async function bring(value: object, phoneNumberId = `${PHONE_NUMBER_ID}1`, field = 'messages'): Promise<void> {
  const all = { metadata: { phone_number_id: phoneNumberId }, ...value }
  const body = JSON.stringify({ entry: [{ id: '1', changes: [{ field, value: all }] }] })
  const { status, text } = await postSigned(`${service.url}/webhooks/cloud-api`, body)
  expect(status, text).toBe(200)
}

let messages = 0
interface Wrote {
  from?: string
  from_user_id?: string
  text?: string
  second?: number
}
const wrote = ({ text = 'Hello', second = 0, ...names }: Wrote) => {
  messages += 1
  const said = { type: 'text', text: { body: text }, timestamp: String(START + second) }
  return { messages: [{ id: `wamid.in${messages}`, ...names, ...said }] }
}
const reported = (names: object) => ({
  statuses: [{ id: 'wamid.x', status: 'delivered', timestamp: String(START), ...names }],
})
const changed = (from: object, system: object) => {
  messages += 1
  return { messages: [{ id: `wamid.in${messages}`, ...from, timestamp: String(START), type: 'system', system }] }
}

const isOptedOut = async (name: string): Promise<boolean> => {
  const { redis } = service
  return (await optedOutAmong(redis, tenant.account, await namesOfPeople(redis, tenant.account, [name]))).size > 0
}

test.concurrent.each<[string, (who: { number: string; id: string }) => object]>([
  ['a message', ({ number, id }) => wrote({ from: number, from_user_id: id })],
  [
    'the people of a change',
    ({ number, id }) => ({ ...wrote({ from: number }), contacts: [{ wa_id: number, user_id: id }] }),
  ],
  ['a report of a message', ({ number, id }) => reported({ recipient_id: number, recipient_user_id: id })],
  [
    'a preference',
    ({ number, id }) => ({
      user_preferences: [
        { wa_id: number, user_id: id, category: 'marketing_messages', value: 'resume', timestamp: START },
      ],
    }),
  ],
  [
    'a change of number',
    ({ number, id }) =>
      changed({ from: id.replace('DE.', '4915') }, { type: 'user_changed_number', wa_id: number, user_id: id }),
  ],
])('%s shows that a number and a user id are one person', async (_what, told) => {
  const who = somebody()
  expect(await namesOf(service.redis, tenant.account, who.id)).toEqual([who.id])
  await bring(told(who))
  expect((await namesOf(service.redis, tenant.account, who.id)).slice(0, 2)).toEqual([who.number, who.id])
  expect((await namesOf(service.redis, tenant.account, who.number)).slice(0, 2)).toEqual([who.number, who.id])
})

const CHANGES: [string, (who: ReturnType<typeof somebody>) => [string, object]][] = [
  [
    'a message of the system with the former id',
    ({ id, nextId }) => [
      'messages',
      changed({}, { type: 'user_changed_user_id', user_id: nextId, previous_user_id: id }),
    ],
  ],
  [
    'a message of the system that says it in words',
    ({ id, nextId }) => [
      'messages',
      changed({}, { type: 'user_changed_user_id', user_id: nextId, body: `User A changed from ${id} to ${nextId}` }),
    ],
  ],
  [
    'a webhook about user ids',
    ({ number, id, nextId }) => [
      'user_id_update',
      { user_id_update: [{ wa_id: number, user_id: { previous: id, current: nextId } }] },
    ],
  ],
]
test.concurrent.each(CHANGES)('%s moves what was stored under the old user id', async (_what, told) => {
  const who = somebody()
  await bring(wrote({ from_user_id: who.id, text: 'STOP' }))
  const [field, value] = told(who)
  await bring(value, undefined, field)
  expect(await namesOf(service.redis, tenant.account, who.nextId)).toContain(who.id)
  expect(await isOptedOut(who.nextId)).toBe(true)
})

test.concurrent('a profile name made up by a person makes nobody else’s names theirs', async () => {
  const who = somebody()
  const other = somebody()
  const body = `User changed from ${other.id} to ${who.nextId} changed from ${who.id} to ${who.nextId}`
  await bring(changed({}, { type: 'user_changed_user_id', user_id: who.nextId, body }))
  expect(await namesOf(service.redis, tenant.account, other.id)).toEqual([other.id])
  expect(await namesOf(service.redis, tenant.account, who.id)).toContain(who.nextId)
  const ofNumber = `User A changed from ${other.id} to ${other.nextId}`
  await bring(changed({}, { type: 'user_changed_user_id', user_id: who.nextId, body: ofNumber }))
  expect(await namesOf(service.redis, tenant.account, other.id)).toEqual([other.id])
})

test.concurrent('nothing is learned from a webhook about a number of another account, nor for that account', async () => {
  const who = somebody()
  const other = await service.addTenant({ defaultProvider: 'cloud-api' })
  await bring(reported({ recipient_id: who.number, recipient_user_id: who.id }), `${PHONE_NUMBER_ID}2`)
  expect(await namesOf(service.redis, tenant.account, who.id)).toEqual([who.id])
  expect(await namesOf(service.redis, other.account, who.id)).toEqual([who.number, who.id])
  await bring(reported({ recipient_id: who.number, recipient_user_id: who.id }), '999')
  expect(await namesOf(service.redis, tenant.account, who.id)).toEqual([who.id])
})

test.concurrent('a person who wrote STOP without a number gets no advertising by number', async () => {
  const who = somebody()
  await bring(wrote({ from_user_id: who.id, text: 'STOP' }))
  expect(await isOptedOut(who.number)).toBe(false)
  await bring(reported({ recipient_id: who.number, recipient_user_id: who.id }))
  expect(await isOptedOut(who.number)).toBe(true)
  expect(await findOptOut(service.redis, tenant.account, who.number)).toMatchObject({
    person: who.number,
    source: 'word',
  })
  const components = [{ type: 'BODY', parameters: [{ type: 'text', text: 'Ada' }] }]
  const answer = await service.post('/chatappbusiness/send-templated-message', {
    ...{ api_key: tenant.apiKey, messaging_product: 'chatapp', recipient_type: 'individual', type: 'template' },
    ...{ to: `+${who.number}`, sender: tenant.cloudNumber },
    template: { name: 'spring', language: { code: 'en_US' }, components },
  })
  const id = acknowledgedId(answer)
  const { problem } = await eventually(async () => {
    const { data } = z
      .object({ data: z.looseObject({ state: z.string(), problem: z.looseObject({ code: z.string() }).nullable() }) })
      .parse((await service.request('GET', `/messages/${id}`)).json())
    return data.state === 'cancelled' ? data : undefined
  }, 'it is cancelled')
  expect(problem?.code).toBe('opted_out')
  expect((await readLedger(service.simulator.url)).filter(({ to }) => to === who.number)).toEqual([])
})

test.concurrent('a number given to a new owner keeps no window, cap or later opt-out of the old one', async () => {
  const { redis } = service
  const who = somebody()
  const lane = tenant.cloudLane
  await bring(wrote({ from: who.number, from_user_id: who.id }))
  await bring(changed({ from: who.number }, { type: 'user_changed_number', wa_id: who.next }))
  expect(await namesOf(redis, tenant.account, who.number)).toEqual([who.next, who.id, who.number])
  await cap(redis, { lane }, who.id, { forMs: 3_600_000 })
  expect(await cappedUntil(redis, { lane }, await namesOfPeople(redis, tenant.account, [who.number]))).toEqual([
    expect.any(Number),
  ])
  await bring(reported({ recipient_id: who.number, recipient_user_id: who.nextId }))
  expect(await namesOf(redis, tenant.account, who.number)).toEqual([who.number, who.nextId])
  expect(await namesOf(redis, tenant.account, who.id)).toEqual([who.next, who.id])
  const both = await namesOfPeople(redis, tenant.account, [who.nextId, who.next])
  expect(await cappedUntil(redis, { lane }, both)).toEqual([undefined, expect.any(Number)])
  await bring(wrote({ from_user_id: who.id, text: 'STOP', second: 5 }))
  expect([await isOptedOut(who.next), await isOptedOut(who.nextId)]).toEqual([true, false])
})

test.concurrent('a window that was opened under one name is open under the other', async () => {
  const { redis } = service
  const who = somebody()
  await bring(wrote({ from_user_id: who.id }))
  await bring(reported({ recipient_id: who.number, recipient_user_id: who.id }))
  const names = await namesOfPeople(redis, tenant.account, [who.number])
  expect(await openWindowsAmong(redis, tenant.cloudLane, names)).toEqual(new Set([0]))
  const shown = await service.request('GET', `/conversations/${who.number}?sender=${tenant.cloudNumber}`)
  expect(shown.json().data).toMatchObject({ open: true })
})

test('a person is shown and erased under all names, and no report about an old message brings the names back', async () => {
  const who = somebody()
  await bring(wrote({ from: who.number, from_user_id: who.id, text: 'by number' }))
  await bring(wrote({ from_user_id: who.id, text: 'by id' }))
  const person = z.object({
    data: z.object({ names: z.array(z.string()), messages: z.array(z.looseObject({ text: z.string() })) }),
  })
  for (const name of [who.number, who.id]) {
    const { data } = person.parse((await service.request('GET', `/admin/people/${name}`, undefined, admin)).json())
    expect(data.names).toEqual([who.number, who.id])
    expect(data.messages.map(({ text }) => text).sort()).toEqual(['by id', 'by number'])
  }
  const answer = await service.request('DELETE', `/admin/people/${who.id}`, undefined, admin)
  expect([answer.status, answer.json().data.received], answer.text).toEqual([200, 2])
  for (const name of [who.number, who.id]) {
    const { data } = person.parse((await service.request('GET', `/admin/people/${name}`, undefined, admin)).json())
    expect(data).toMatchObject({ names: [name], messages: [] })
  }
  await bring(reported({ recipient_id: who.number, recipient_user_id: who.id }))
  expect(await namesOf(service.redis, tenant.account, who.id)).toEqual([who.id])
  // What they wrote before stays forgotten, however often it is brought.
  await bring(wrote({ from: who.number, from_user_id: who.id }))
  expect(await namesOf(service.redis, tenant.account, who.id)).toEqual([who.id])
  // In an hour, which is taken for now: later than the erasure, however long it took to come here.
  await bring(wrote({ from: who.number, from_user_id: who.id, second: 7_200 }))
  expect(await namesOf(service.redis, tenant.account, who.id)).toEqual([who.number, who.id])
})

test.concurrent('data under an old user id still apply when the change is reported after a report about a message', async () => {
  const who = somebody()
  await bring(wrote({ from_user_id: who.id, text: 'STOP' }))
  await bring(reported({ recipient_id: who.number, recipient_user_id: who.nextId }))
  const change = { user_id_update: [{ wa_id: who.number, user_id: { previous: who.id, current: who.nextId } }] }
  await bring(change, undefined, 'user_id_update')
  expect(await isOptedOut(who.number)).toBe(true)
})

test.concurrent('an erased person is known by all names again once they are sent another message', async () => {
  const who = somebody()
  const { redis } = service
  const names = { recipient_id: who.number, recipient_user_id: who.id }
  const opaqueIds = createOpaqueIds(secretKeysOf(service.config))
  const sentAt = (ms: number) => opaqueIds.sign(messageId(tenant.cloudLane, newUlid(ms)), 'AAAAAA')
  const before = Date.now() - 60_000
  await bring(wrote({ from: who.number, from_user_id: who.id }))
  const answer = await service.request('DELETE', `/admin/people/${who.id}`, undefined, admin)
  expect(answer.status, answer.text).toBe(200)
  await bring(wrote({ from_user_id: who.id, text: 'STOP' }))
  await bring(reported({ ...names, biz_opaque_callback_data: sentAt(before) }))
  expect(await namesOf(redis, tenant.account, who.id)).toEqual([who.id])
  await bring(reported({ ...names, biz_opaque_callback_data: sentAt(Date.now() + 1) }))
  expect(await namesOf(redis, tenant.account, who.id)).toEqual([who.number, who.id])
  expect(await isOptedOut(who.number)).toBe(true)
})

test.concurrent('an opt-out written while another name is being learned applies to that name as well', async () => {
  const { redis } = service
  const who = somebody()
  // Its script is known from now on.
  await namesOf(redis, tenant.account, who.id)
  const connection = connectWithRetry(service.server.url)
  await connection.ping()
  let commands = 0
  interceptCommands(connection, async (send) => {
    commands += 1
    // The first one has looked for other names, and found none.
    if (commands === 2) await keepNames(redis, tenant.account, [{ names: [who.number, who.id] }])
    return send()
  })
  expect(await addOptOuts(connection, tenant.account, [who.id], { source: 'word' })).toBe(1)
  connection.disconnect()
  expect(await optedOutAmong(redis, tenant.account, [[who.number]])).toEqual(new Set([0]))
})

const word = fc.record({
  intent: fc.constantFrom('STOP', 'START'),
  by: fc.constantFrom('number', 'id', 'nextId', 'both'),
  second: fc.integer({ min: 1, max: 6 }),
})
const naming = fc.constantFrom('report', 'message', 'change of id')

/** Whether they want none, by all words in the order of their times; of one second the stop counts. */
const standsAfter = (words: readonly { intent: string; second: number }[]): boolean =>
  [...words].sort((a, b) => a.second - b.second || (a.intent === 'STOP' ? 1 : -1)).at(-1)?.intent === 'STOP'

test.concurrent('after a STOP under any name no advertising leaves under any, in whatever order webhooks come', async () => {
  const { redis } = service
  let stops = 0
  const property = () =>
    fc.asyncProperty(
      fc.array(word, { minLength: 1, maxLength: 5 }),
      fc.array(naming, { maxLength: 3 }),
      fc.infiniteStream(fc.nat()),
      async (words, namings, random) => {
        const who = somebody()
        const names = [who.number, who.id, who.nextId]
        const told: object[] = [
          reported({ recipient_id: who.number, recipient_user_id: who.id }),
          changed(
            { from_user_id: who.id },
            { type: 'user_changed_user_id', user_id: who.nextId, previous_user_id: who.id },
          ),
          ...namings.map((kind) => {
            if (kind === 'report') return reported({ recipient_id: who.number, recipient_user_id: who.nextId })
            if (kind === 'message') return wrote({ from: who.number, from_user_id: who.id })
            return changed(
              { from: who.number },
              { type: 'user_changed_user_id', user_id: who.nextId, previous_user_id: who.id },
            )
          }),
          ...words.map(({ intent, by, second }) => {
            const text = { text: intent, second }
            if (by === 'both') return wrote({ from: who.number, from_user_id: who.nextId, ...text })
            return by === 'number' ? wrote({ from: who.number, ...text }) : wrote({ from_user_id: who[by], ...text })
          }),
        ]
        const all = told.flatMap((each) => (random.next().value % 3 === 0 ? [each, each] : [each]))
        const order = all.map((each) => ({ each, at: random.next().value })).sort((a, b) => a.at - b.at)
        const areAtOnce = random.next().value % 2 === 0
        if (areAtOnce) await Promise.all(order.map(({ each }) => bring(each)))
        else for (const { each } of order) await bring(each)
        const expected = standsAfter(words)
        if (expected) stops += 1
        for (const name of names) expect([name, await isOptedOut(name)]).toEqual([name, expected])
        // Opt-outs outlast the names: each of them says it without the others.
        const alone = await optedOutAmong(
          redis,
          tenant.account,
          names.map((name) => [name]),
        )
        expect(alone.size).toBe(expected ? names.length : 0)
      },
    )
  // A stop is answered half a second later: what one waits for, others wait for too.
  await Promise.all(Array.from({ length: 10 }, () => fc.assert(property(), { numRuns: 4 })))
  expect(stops).toBeGreaterThan(5)
})

test.concurrent('a person whose other names outlived one is known by that one again once WhatsApp reports it again', async () => {
  const { redis } = service
  const account = 902
  const people = Array.from({ length: 200 }, (_, i) => [`4915288${100_000 + i}`, `DE.88${100_000 + i}`])
  await keepNames(
    redis,
    account,
    people.map((names) => ({ names })),
  )
  const all = people.flat()
  const unknown = async () => (await namesOfPeople(redis, account, all)).filter((names) => names.length === 1).flat()
  expect(await unknown()).toEqual([])
  // Each hash of names ends by itself, a while after it was last written to.
  const hash = Object.keys(await allOfContacts(redis, account)).find((key) => key.endsWith(':0')) ?? ''
  await redis.pexpire(hash, 1)
  const lost = await eventually(async () => {
    const names = await unknown()
    return names.length > 0 ? names : undefined
  }, 'the hash ends')
  const half = people.find((names) => names.filter((name) => lost.includes(name)).length === 1) ?? []
  const [name = ''] = half.filter((each) => lost.includes(each))
  await addOptOuts(redis, account, [name], { source: 'word' })
  await learnNames({ redis, tombstones: createTombstones(redis, ['x']) }, account, [{ names: half, asOf: 'now' }])
  expect(await namesOfPeople(redis, account, half)).toEqual([half, half])
  // Opt-outs outlast the names: each of them says it without the others.
  expect((await optedOutAmong(redis, account, [...half.map((each) => [each])])).size).toBe(2)
})

test.concurrent('names that many learn at the same time are kept', async () => {
  const { redis } = service
  const account = 904
  const number = '4915266666666'
  const others = Array.from({ length: 30 }, (_, i) => ({ names: [number, `DE.66${100_000 + i}`] }))
  const each = Array.from({ length: 100 }, (_, i) => ({ names: [`4915267${100_000 + i}`, `DE.67${100_000 + i}`] }))
  await Promise.all([
    keepNames(redis, account, each),
    ...[...others, ...each].map((one) => keepNames(redis, account, [one])),
  ])
  expect((await namesOf(redis, account, number)).length).toBe(NAMES_MAX)
  for (const { names } of each) expect(await namesOf(redis, account, names[1] ?? '')).toEqual(names)
})

test.concurrent('names last as long as WhatsApp keeps reporting them, however old they are', async () => {
  const { redis } = service
  const account = 903
  const names = ['4915277777777', 'DE.777777']
  await keepNames(redis, account, [{ names }])
  const keys = async () => Object.keys(await allOfContacts(redis, account)).filter((key) => key.includes(':names'))
  const days = async () => {
    const left = await Promise.all((await keys()).map((key) => redis.pttl(key)))
    return left.map((ms) => Math.round(ms / 86_400_000))
  }
  for (const key of await keys()) await redis.pexpire(key, 300 * 86_400_000)
  expect(await keepNames(redis, account, [{ names }])).toEqual([])
  expect(await days()).toEqual([300, 300])
  for (const key of await keys()) await redis.pexpire(key, 100 * 86_400_000)
  await keepNames(redis, account, [{ names }])
  expect(await days()).toEqual([400, 400])
})

test('names are sealed under the data key, and are found and resealed under a new one', async () => {
  const { redis } = service
  const [one, two] = ['first data key of thirty-two characters', 'second data key of thirty-two characters']
  const account = 900
  const names = ['4915299999999', 'DE.777777777777']
  try {
    useDataKeys([one])
    await keepNames(redis, account, [{ names }])
    useDataKeys([])
    expect(await namesOf(redis, account, names[0] ?? '')).toEqual([names[0]])
    useDataKeys([two, one])
    expect(await namesOf(redis, account, names[0] ?? '')).toEqual(names)
    // Told again they need the older key no more.
    await keepNames(redis, account, [{ names }])
    useDataKeys([two])
    expect(await namesOf(redis, account, names[0] ?? '')).toEqual(names)
    await forgetNames(redis, account, names)
    expect(await namesOf(redis, account, names[1] ?? '')).toEqual([names[1]])
  } finally {
    useDataKeys([])
  }
})

test('a person takes at most 40 bytes, and each of many is found', async () => {
  const { redis } = service
  const account = 901
  const TOTAL = 5_000
  const pairOf = (i: number) => [
    String(447_700_000_000 + 7 * i),
    `GB.${13_491_208_655_302_741_918n + BigInt(i) * 829_348_951n}`,
  ]
  for (let at = 0; at < TOTAL; at += 500) {
    await keepNames(
      redis,
      account,
      Array.from({ length: 500 }, (_, i) => ({ names: pairOf(at + i) })),
    )
  }
  for (let at = 0; at < TOTAL; at += 500) {
    const asked = Array.from({ length: 500 }, (_, i) => pairOf(at + i)[i % 2] ?? '')
    const found = await namesOfPeople(redis, account, asked)
    expect(found).toEqual(asked.map((_name, i) => pairOf(at + i)))
  }
  let bytes = 0
  for (const key of Object.keys(await allOfContacts(redis, account)))
    bytes += Number(await redis.memory('USAGE', key, 'SAMPLES', 0))
  expect(bytes / TOTAL).toBeLessThanOrEqual(40)
  expect(bytes / TOTAL).toBeGreaterThan(30)
})
