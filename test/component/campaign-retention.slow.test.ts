// Pins: a campaign that outlives the records of its messages sends to nobody a second time, forgets nobody, and its figures
// add up; a dead letter ends as failed, and a message whose record is gone as unknown.
// Real: Redis, the fan-out, the steps of messages. The test is the worker and the provider.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { exportCampaign } from '../../src/campaigns/commands/export.ts'
import { messageId } from '../../src/kernel/message-id.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { STATES } from '../../src/model/messages/lifecycle.ts'
import { removeChunkQueues } from '../../src/redis/remove-chunk-queues.ts'
import { type Life, type Lives, startLives } from '../support/campaign-lives.ts'
import { losePlaces, strandJob } from '../support/state/lanes.ts'
import { campaignRecord, countsOf, marksOf, messageRecord } from '../support/state/messages.ts'
import { keysOfChunks, putChunks } from '../support/state/queues.ts'

let lives: Lives
let life: Life

beforeAll(async () => {
  lives = await startLives()
})
afterAll(() => lives?.close())

/** Recipients that a campaign puts on a slow lane ahead of it (src/model/campaigns/pace.ts). */
const WINDOW = 50

const all = (total: number) => Array.from({ length: total }, (_, place) => place)

/** Feeds and works until so many were taken by the provider. */
async function sendUpTo(count: number): Promise<void> {
  while (life.ledger.size < count) {
    await life.feedTo(Math.min(life.total, life.ledger.size + WINDOW))
    await life.work(count - life.ledger.size, 'sent')
  }
}

async function expectWhole(): Promise<void> {
  const { progress } = await life.describe()
  expect(STATES.reduce((sum, state) => sum + progress[state], 0)).toBe(life.total)
  for (const state of STATES) expect(progress[state]).toBeGreaterThanOrEqual(0)
}

// Four windows, and a place in the middle of a byte of states.
describe.each([[200, 81]])('of %i people', (total, sent) => {
  test(`a campaign that is paused after ${sent} until their records are gone goes on with the others`, async () => {
    life = await lives.begin(total)
    await sendUpTo(sent)
    await life.pause()
    await life.expire(all(total))
    await expectWhole()
    await life.resume()
    await life.goOn()
    expect((await life.record()).state).toBe('done')
    expect([...life.ledger.keys()].sort((a, b) => a - b)).toEqual(all(total))
    expect([...life.ledger.values()].every((attempts) => attempts.length === 1)).toBe(true)
    expect((await life.describe()).progress).toMatchObject({ sent: total, queued: 0 })
  })

  test('a campaign that outlasts its records, and is gone through again, sends to nobody twice', async () => {
    life = await lives.begin(total)
    await sendUpTo(sent)
    await life.expire(all(total))
    await campaignRecord(lives.redis, life.id).change({ next: 0 })
    await life.goOn()
    expect(life.silentRepeats).toEqual([])
    expect([...life.ledger.values()].every((attempts) => attempts.length === 1)).toBe(true)
    expect((await life.describe()).progress).toMatchObject({ sent: total, queued: 0 })
  })
})

test('a job that outlived the record of its message sends nothing', async () => {
  life = await lives.begin(3)
  await life.feedTo(3)
  await life.work(1, 'throttled')
  await life.expire([0])
  await life.work(1, 'sent')
  expect(life.ledger.size).toBe(0)
  expect(await life.recipientStates()).toEqual(['unknown', undefined, undefined])
  await expectWhole()
})

test('a message whose record expires before its outcome is unknown in figures, export and lookup, and can be requeued', async () => {
  life = await lives.begin(5)
  await life.feedTo(5)
  await life.work(2, 'unanswered')
  await life.work(3, 'sent')
  await life.expire(all(5))
  // Whatever knows of them but the campaign is lost.
  await life.sweep()
  await life.goOn()
  expect((await life.describe()).progress).toMatchObject({ sent: 3, unknown: 2, unconfirmed: 0 })
  const [first] = life.messages
  expect(first && (await readMessage(lives.redis, first))).toMatchObject({
    state: 'unknown',
    problem: { code: 'record_lost' },
  })
  const lines: string[] = []
  for await (const piece of exportCampaign({ ...lives, files: lives.config.files }, await life.record(), 'ndjson')) {
    lines.push(...piece.trimEnd().split('\n'))
  }
  const states = lines.map((line) => JSON.parse(line).state)
  expect(states).toEqual(['unknown', 'unknown', 'sent', 'sent', 'sent'])
  await life.requeueAll()
  await life.sweep()
  await life.work(5, 'sent')
  expect(life.silentRepeats).toEqual([])
  expect((await life.describe()).progress).toMatchObject({ sent: 5, unknown: 0 })
})

describe('a dead letter', () => {
  test('ends as failed, so that the campaign ends', async () => {
    life = await lives.begin(120)
    await life.feedTo(WINDOW)
    await life.work(1, 'dead')
    await life.goOn()
    expect((await life.describe()).progress).toMatchObject({ failed: 1, sent: 119 })
    const [first] = life.messages
    expect(first && (await readMessage(lives.redis, first))?.problem?.code).toBe('dead_letter')
  })

  test('can be requeued once the campaign is done, and the figures follow', async () => {
    life = await lives.begin(10)
    await life.feedTo(10)
    await life.work(2, 'dead')
    await life.goOn()
    await life.requeueAll()
    expect((await life.describe()).progress).toMatchObject({ failed: 0, queued: 2 })
    await life.sweep()
    await life.work(10, 'sent')
    expect((await life.describe()).progress).toMatchObject({ failed: 0, sent: 10 })
    await expectWhole()
  })

  test('that cannot be ended yet does not make the fan-out spin', async () => {
    life = await lives.begin(100)
    await life.feedTo(WINDOW)
    // A job that stands in no line.
    await strandJob(lives.redis, messageId(life.lane, life.messages[0]?.ulid ?? ''))
    await losePlaces(lives.redis, life.lane, `${life.id.number}/0`)
    await sendUpTo(99)
    const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await lives.redis.info('commandstats'))?.[1])
    const before = await calls()
    await life.feed(4_000)
    // A round each 100 ms, a heartbeat each 250 ms, and of the looks one, two and four seconds apart a few commands each.
    expect((await calls()) - before).toBeLessThan(120)
    expect((await life.record()).state).toBe('running')
  })
})

test('people waiting in chunks of an earlier release are fed at the end of the list', async () => {
  life = await lives.begin(40)
  await putChunks(lives.redis, life.lane, life.id.number)
  // That release had fed all of them.
  await campaignRecord(lives.redis, life.id).change({ next: 40 })
  await removeChunkQueues(lives.redis)
  expect(await keysOfChunks(lives.redis, life.lane)).toBe(0)
  await life.goOn()
  expect([...life.ledger.keys()].sort((a, b) => a - b)).toEqual(all(40))
  expect((await life.describe()).progress).toMatchObject({ sent: 40, queued: 0 })
})

test('the data of an ended campaign lives as long as the record of a requeued message', async () => {
  life = await lives.begin(2)
  await life.feedTo(2)
  await life.work(1, 'failed')
  await life.goOn()
  const { lane, id } = life
  const known = [campaignRecord, countsOf, marksOf].map((of) => of(lives.redis, id))
  for (const each of known) await each.expireIn(60_000)
  await messageRecord(lives.redis, { lane, ulid: life.messages[0]?.ulid ?? '' }).expireIn(600_000)
  await life.requeueAll()
  for (const each of known) expect(await each.livesMs()).toBeGreaterThan(500_000)
})
