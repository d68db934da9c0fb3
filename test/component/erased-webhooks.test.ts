// Pins: what was erased does not come back by a webhook that is repeated, or comes late, under any name; what the person
// writes from then on is stored, and what they wanted before still holds. Real: Redis, HTTP, producer, worker.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { namesOf } from '../../src/people/names/names.ts'
import { optedOutAmong } from '../../src/people/opt-outs/opt-outs.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { PHONE_NUMBER_ID } from '../support/service.ts'
import { stored } from '../support/state/everything.ts'
import { bringWebhook, messagesChange } from '../support/webhooks.ts'

let service: CampaignService
let admin: string
beforeAll(async () => {
  service = await startCampaigns()
  admin = await service.tenant.key('admin')
})
afterAll(() => service?.close())

const DAY_MS = 86_400_000
const seconds = (ms: number): string => String(Math.floor(ms / 1_000))

async function bring(value: object, field = 'messages'): Promise<void> {
  const answer = await bringWebhook(service.url, [{ ...messagesChange(`${PHONE_NUMBER_ID}1`, value), field }])
  expect(answer.status, answer.text).toBe(200)
}

async function erase(person: string): Promise<void> {
  const answer = await service.request('DELETE', `/admin/people/${person}`, undefined, admin)
  expect(answer.status, answer.text).toBe(200)
}

const words = (id: string, phone: string, body: string, atMs: number, more: object = {}) => ({
  contacts: [{ profile: { name: 'Ada' }, wa_id: phone, ...('from_user_id' in more && { user_id: more.from_user_id }) }],
  messages: [{ id: `wamid.${id}`, from: phone, timestamp: seconds(atMs), type: 'text', text: { body }, ...more }],
})

/** Where one of the texts stands in Redis. */
async function placesOf(...texts: string[]): Promise<string[]> {
  const all = Object.entries(await stored(service.redis))
  return all.filter(([key, text]) => texts.some((each) => `${key} ${text}`.includes(each))).map(([key]) => key)
}

test.each([
  ['an hour old', 3_600_000],
  ['30 days old', 30 * DAY_MS],
])('a message that is %s and reported again is not stored, nor anything in it', async (_age, ageMs) => {
  const phone = `4915210${ageMs % 100_007}`.padEnd(13, '0')
  const message = words(`old${ageMs}`, phone, 'Canary wrote this', Date.now() - ageMs)
  await bring(message)
  expect(await placesOf(phone)).not.toEqual([])
  await erase(phone)
  expect(await placesOf(phone, 'Canary')).toEqual([])
  for (let time = 0; time < 2; time += 1) await bring(message)
  expect(await placesOf(phone, 'Canary')).toEqual([])
})

test('a message under another name of the person is not stored either, and the names are not joined again', async () => {
  const [phone, id] = ['4915211000001', 'DE.canary1']
  const at = Date.now() - 60_000
  const both = words('both', phone, 'Canary wrote this', at, { from_user_id: id })
  const onlyId = {
    messages: [{ id: 'wamid.only', from_user_id: id, timestamp: seconds(at), type: 'text', text: { body: 'Canary' } }],
  }
  await bring(both)
  await erase(phone)
  await bring(both)
  await bring(onlyId)
  expect(await placesOf(phone, id, 'Canary')).toEqual([])
  const shown = await service.request('GET', `/admin/people/${id}`, undefined, admin)
  expect(shown.json().data.names).toEqual([id])
})

/** Webhooks that name an erased person only as who somebody was before. */
const CHANGES: [string, (was: string, now: string, at: string) => [field: string, value: object]][] = [
  [
    'a change of number',
    (was, now, at) => [
      'messages',
      system(
        { from: was, timestamp: at },
        { type: 'user_changed_number', wa_id: now, body: `A changed from ${was} to ${now}` },
      ),
    ],
  ],
  [
    'a change of number that the new one reports',
    (was, now, at) => [
      'messages',
      system(
        { from: now, timestamp: at },
        { type: 'user_changed_number', body: `A changed from ${was} to ${now}`, wa_id: now },
      ),
    ],
  ],
  [
    'a change of user id',
    (was, now, at) => [
      'messages',
      system({ timestamp: at }, { type: 'user_changed_user_id', user_id: now, previous_user_id: was }),
    ],
  ],
  [
    'a change of user id in words',
    (was, now, at) => [
      'messages',
      system(
        { timestamp: at },
        { type: 'user_changed_user_id', user_id: now, body: `A changed from ${was} to ${now}` },
      ),
    ],
  ],
  [
    'a webhook about user ids',
    (was, now, at) => [
      'user_id_update',
      { user_id_update: [{ user_id: { previous: was, current: now }, timestamp: at }] },
    ],
  ],
  [
    'a webhook about user ids without a time',
    (was, now) => ['user_id_update', { user_id_update: [{ user_id: { previous: was, current: now } }] }],
  ],
]
let systemMessages = 0
const system = (of: object, what: object) => {
  systemMessages += 1
  return { messages: [{ id: `wamid.system${systemMessages}`, type: 'system', ...of, system: what }] }
}

test.each(CHANGES)('%s that is old does not reveal again who the person was', async (what, change) => {
  const i = CHANGES.findIndex(([each]) => each === what)
  const [was, now] = what.includes('number') ? [`491521200001${i}`, `491521300001${i}`] : [`DE.was${i}1`, `DE.now${i}1`]
  const at = Date.now() - 3_600_000
  await bring({
    messages: [{ id: `wamid.w${i}`, from: was, timestamp: seconds(at), type: 'text', text: { body: 'Hi' } }],
  })
  await erase(was)
  const [field, value] = change(was, now, seconds(at))
  for (let time = 0; time < 2; time += 1) await bring(value, field)
  expect(await placesOf(was, now)).toEqual([])
  expect(await namesOf(service.redis, service.tenant.account, was)).toEqual([was])
})

test('a person who was erased and returns may change their user id', async () => {
  const [was, now] = ['DE.back1', 'DE.back2']
  await erase(was)
  const at = seconds(Date.now() + 2_000)
  await bring({ user_id_update: [{ user_id: { previous: was, current: now }, timestamp: at }] }, 'user_id_update')
  expect(await namesOf(service.redis, service.tenant.account, was)).toEqual([was, now])
})

test('a change of a user id without a number is shown, and erased with the person', async () => {
  const [was, now] = ['DE.alone1', 'DE.alone2']
  const at = seconds(Date.now() - 60_000)
  await bring(system({ timestamp: at }, { type: 'user_changed_user_id', user_id: now, previous_user_id: was }))
  const shown = await service.request('GET', `/admin/people/${was}`, undefined, admin)
  expect(shown.json().data.messages).toMatchObject([{ from: now, system: { previous_user_id: was } }])
  await erase(was)
  expect(await placesOf(was, now)).toEqual([])
})

test('what the person writes after the erasure is stored', async () => {
  const phone = '4915211000002'
  await bring(words('before', phone, 'Hello', Date.now() - 60_000))
  await erase(phone)
  await bring(words('after', phone, 'Hello again', Date.now() + 2_000))
  const found = await service.request('GET', `/messages?direction=inbound&from=${phone}`)
  expect(found.json().data.map(({ text }: { text: string }) => text)).toEqual(['Hello again'])
})

test('a STOP from before the erasure that arrives after it still counts, without a name', async () => {
  const { redis, tenant } = service
  const [byWord, byChoice] = ['4915211000003', '4915211000004']
  for (const phone of [byWord, byChoice]) await erase(phone)
  const atMs = Date.now() - 60_000
  const preference = { wa_id: byChoice, category: 'marketing_messages', value: 'stop', timestamp: seconds(atMs) }
  for (let time = 0; time < 2; time += 1) {
    await bring(words('stop', byWord, 'STOP', atMs))
    await bring({ user_preferences: [preference] })
  }
  expect(await optedOutAmong(redis, tenant.account, [[byWord], [byChoice]])).toEqual(new Set([0, 1]))
  expect(await placesOf(byWord, byChoice)).toEqual([])
})
