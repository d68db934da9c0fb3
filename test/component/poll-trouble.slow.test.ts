// Pins: what is wrong with one message that is polled is that message's alone, and none is polled without end. Real:
// Redis, the poll jobs. Stood in for: the provider.

import { pino } from 'pino'
import { afterAll, expect, test } from 'vitest'
import { loadConfig } from '../../src/kernel/config.ts'
import { loggedError } from '../../src/kernel/log.ts'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { POLL_FOR_MS } from '../../src/model/messages/poll-schedule.ts'
import type { PollEnd } from '../../src/model/provider.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { replyError } from '../../src/redis/errors.ts'
import { type StatusPolls, startStatusPolls } from '../../src/worker/recovery/status-polls.ts'
import { claim } from '../support/claim.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { messageRecord, pollsOn } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const HALF_AN_HOUR_MS = 1_800_000
const SECRET_TEXT = 'the text that nobody may log'

let redis: Redis
let polls: StatusPolls
const logged: string[] = []
/** What the provider says of a message, by its own id; `delivered` unless said otherwise. */
const answers = new Map<string, () => PollEnd>()
const asked: string[] = []
/** Reading the sender of a lane fails with this, as while the server that has the lane takes no writes. */
let away: Error | undefined
let refused = 0

withOwnRedis((own) => {
  redis = own
  const provider = {
    send: () => Promise.reject(new Error('nothing is sent here')),
    poll: async (_sender: unknown, providerId: string): Promise<PollEnd> => {
      asked.push(providerId)
      return answers.get(providerId)?.() ?? { kind: 'status', status: 'delivered', problem: undefined }
    },
  }
  const sender = {
    id: 1,
    account: 1,
    number: '491700000001',
    name: '',
    provider: 'partner-api',
    base_url: 'http://127.0.0.1:1',
    token: '',
    phone_number_id: '',
    waba_id: '',
    follow_provider: true,
    marketing_route: 'messages',
    strict_pace: false,
    rate: 80,
    honours_idempotency: false,
    paused_for: '',
    paused_by: '',
    paused_at: 0,
    blocked_at: 0,
    sent_after_block: 0,
    resumed_at: 0,
    portfolio: null,
  } as const
  const entry = {
    sender,
    provider,
    providerSender: { number: sender.number, baseUrl: sender.base_url, token: '', phoneNumberId: '' },
    repeat: { transactional: 'once', campaign: 'never' },
    stopsTransactional: false,
    bringsEvidence: false,
    rules: { lane: 1 },
  } as const
  const directory = {
    of: async () => {
      if (away) {
        refused += 1
        throw away
      }
      return entry
    },
  }
  const log = pino({ level: 'info', serializers: { err: loggedError } }, { write: (line) => void logged.push(line) })
  polls = startStatusPolls({ redis, config: loadConfig({}), log, directory, queues: openLaneQueues(redis) })
})
afterAll(async () => {
  await polls?.stop(5_000)
})

let lanes = 0

/** Messages of a new lane that were sent this long after each had been accepted `ageMs` ago, and are due to be polled. */
async function sentMessages(howMany: number, ageMs = 5_000) {
  lanes += 1
  const lane = lanes
  const ids = Array.from({ length: howMany }, () => ({ lane, ulid: newUlid(Date.now() - ageMs) }))
  const times = { lostAfterMs: 60_000, evidenceWaitMs: 0, retentionMs: 3_600_000 }
  const message = { to: '491700000002', type: 'audio', text: SECRET_TEXT, class: 'transactional' } as const
  for (const id of ids) {
    await claim(
      redis,
      id,
      'AAAAAA',
      { ...message, validUntil: Date.now() + 60_000, campaign: undefined, run: undefined },
      times,
    )
    await recordStatus(redis, id, 'AAAAAA', 'sent', { providerId: `up-${id.ulid}`, firstPollMs: 1 })
  }
  return ids
}

type Id = Awaited<ReturnType<typeof sentMessages>>[number]

const stateOf = async (id: Id) => (await readMessage(redis, id))?.state
const nextPollIn = async (id: Id) => Number(await pollsOn(redis, id.lane).timeOf(id.ulid)) - Date.now()
const areDelivered = (ids: readonly Id[]) =>
  eventually(
    async () => (await Promise.all(ids.map(stateOf))).every((state) => state === 'delivered'),
    'delivered',
    15_000,
  )

const damages: [string, (id: Id) => Promise<void>][] = [
  ['a record that is broken', async (id) => void (await messageRecord(redis, id).change({ k: SECRET_TEXT }))],
  [
    'a provider call that throws',
    async (id) =>
      void answers.set(`up-${id.ulid}`, () => {
        throw new Error('a fault of ours')
      }),
  ],
]

test.each(damages)('%s is postponed, and its neighbours are polled', async (_name, damage) => {
  const ids = await sentMessages(10)
  const [bad, ...neighbours] = ids
  if (!bad) throw new Error('no message')
  await damage(bad)
  polls.follow(bad.lane)
  await areDelivered(neighbours)
  await eventually(async () => (await nextPollIn(bad)) > HALF_AN_HOUR_MS, 'it is put off')
  const lines = logged.filter((line) => line.includes(messageId(bad.lane, bad.ulid)))
  expect(lines).toHaveLength(1)
  expect(lines[0]).toContain('"msg":"poll.failed"')
  expect(logged.join()).not.toContain('poll.dead_lettered')
  expect(logged.join()).not.toContain(SECRET_TEXT)
})

test('a message whose history has no time of sending is polled by the time of its acceptance', async () => {
  const [id] = await sentMessages(1, 600_000)
  if (!id) throw new Error('no message')
  await messageRecord(redis, id).change({ h: 'c5,AAAAAA' })
  answers.set(`up-${id.ulid}`, () => ({ kind: 'pending' }))
  polls.follow(id.lane)
  await eventually(async () => (await nextPollIn(id)) > 240_000, 'its next poll is minutes away')
  expect(asked.filter((each) => each === `up-${id.ulid}`)).toHaveLength(1)
})

test('a message without news for a day is no longer polled, whatever its history says', async () => {
  const [without, late] = await sentMessages(2, POLL_FOR_MS + 60_000)
  if (!without || !late) throw new Error('no message')
  await messageRecord(redis, without).change({ h: 'c5,AAAAAA' })
  for (const id of [without, late]) answers.set(`up-${id.ulid}`, () => ({ kind: 'pending' }))
  polls.follow(without.lane)
  await eventually(async () => (await pollsOn(redis, without.lane).count()) === 1, 'one is taken off')
  // The other one waited for a day and was sent only now.
  expect(await pollsOn(redis, late.lane).timeOf(late.ulid)).not.toBeNull()
})

test('a lane whose server lacks its replicas is polled once it has them, and becomes no dead letter', async () => {
  const ids = await sentMessages(2)
  const [first] = ids
  if (!first) throw new Error('no message')
  away = replyError('NOREPLICAS Not enough good replicas to write.')
  refused = 0
  polls.follow(first.lane)
  await eventually(async () => refused > 1, 'two polls were refused')
  away = undefined
  await areDelivered(ids)
  expect(logged.join()).not.toContain('poll.dead_lettered')
})
