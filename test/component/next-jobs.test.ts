// Pins: what is next on a lane is read without being taken, each job by one worker at a time, and a job that kills who
// reads it is found. Real: Redis.
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { eraseMessage } from '../../src/erase/erase-messages.ts'
import { openFolder } from '../../src/files/folder.ts'
import type { SendPayload } from '../../src/jobs/send.ts'
import { loadConfig } from '../../src/kernel/config.ts'
import { type MessageId, messageId, newAttemptId, parseMessageId } from '../../src/kernel/message-id.ts'
import { cancelMessage, expireMessage } from '../../src/lanes/cancel-message.ts'
import { mendActive } from '../../src/lanes/due-lanes.ts'
import { deadLetter, readNext, releaseRead } from '../../src/lanes/jobs.ts'
import { claimMessages } from '../../src/lanes/messages/claim.ts'
import { finalizeUnsent } from '../../src/lanes/messages/finalize-unsent.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { paceOf } from '../../src/model/messages/pace.ts'
import { mendLane } from '../../src/worker/recovery/lost-records.ts'
import { keptLog } from '../support/app.ts'
import { audioJob, audioMessage, type LaneRedis, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
import { breakJob, deadLettersOn, hasJob, readForLong, readLongAgo, waitingOn } from '../support/state/lanes.ts'
import { messageRecord, requeueableOn } from '../support/state/messages.ts'

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())

/** So many messages wait on a lane of their own. */
async function begin(count: number, delayMs = 0): Promise<{ lane: number; names: string[] }> {
  const lane = world.newLane()
  const names = Array.from({ length: count }, () => messageId(lane, newId(lane).ulid))
  for (const name of names) await world.queues.add(name, audioJob(), delayMs)
  return { lane, names }
}

const read = async (lane: number, by: string, most = 10): Promise<string[]> =>
  (await readNext(world.redis, lane, { by, most })).jobs.map(({ id }) => id)

/** The same by a worker that holds what it has read, however long this process stands still. */
async function readAndHold(lane: number, by: string, most = 10): Promise<string[]> {
  const names = await read(lane, by, most)
  await readForLong(world.redis, lane)
  return names
}

function idOf(name: string): MessageId {
  const id = parseMessageId(name)
  if (!id) throw new Error(name)
  return id
}

async function claimAs(by: string, names: readonly string[]) {
  const claims = names.map((name) => {
    return {
      id: idOf(name),
      waitsAs: 'job' as const,
      attempt: newAttemptId(),
      message: { ...audioMessage, validUntil: Date.now() + 60_000 },
    }
  })
  return claimMessages(world.redis, claims, { ...LONG_TIMES, pace: paceOf(10_000), reader: by })
}

test('reading removes nothing, and a claim removes what it claims', async () => {
  const { lane, names } = await begin(5)
  expect(await read(lane, 'one', 3)).toEqual(names.slice(0, 3))
  expect(await read(lane, 'one', 3)).toEqual(names.slice(0, 3))
  await claimAs('one', names.slice(0, 2))
  expect(await waitingOn(world.redis, lane)).toEqual(names.slice(2))
  expect(await read(lane, 'one', 3)).toEqual(names.slice(2))
})

test('two workers do not read the same jobs, and of two claims of one job the second finds it claimed', async () => {
  const { lane, names } = await begin(6)
  expect(await readAndHold(lane, 'one', 3)).toEqual(names.slice(0, 3))
  expect(await readAndHold(lane, 'two', 3)).toEqual(names.slice(3))
  expect(await read(lane, 'three', 3)).toEqual([])
  const [first] = await claimAs('one', names.slice(0, 1))
  const [second] = await claimAs('two', names.slice(0, 1))
  expect(first).toMatchObject({ verdict: 'done', state: 'sending' })
  expect(second).toMatchObject({ verdict: 'taken' })
})

test('a claim repeated because its answer was lost is granted and has a slot', async () => {
  const { lane, names } = await begin(1)
  const [name = ''] = names
  const claim = {
    id: idOf(name),
    attempt: newAttemptId(),
    message: { ...audioMessage, validUntil: Date.now() + 60_000 },
  }
  for (let asked = 0; asked < 2; asked += 1) {
    const [result] = await claimMessages(world.redis, [claim], { ...LONG_TIMES, pace: paceOf(100), reader: 'one' })
    expect(result).toMatchObject({ verdict: 'done', state: 'sending', slot: expect.anything() })
  }
  expect(lane).toBeGreaterThan(0)
})

test('jobs held by one reader are read by no other, also after those before them were claimed', async () => {
  const { lane, names } = await begin(6)
  expect(await readAndHold(lane, 'one', 2)).toEqual(names.slice(0, 2))
  expect(await readAndHold(lane, 'two', 2)).toEqual(names.slice(2, 4))
  await claimAs('one', names.slice(0, 2))
  expect(await read(lane, 'three', 2)).toEqual(names.slice(4))
})

test('a job that a worker has read and released is available to others', async () => {
  const { lane, names } = await begin(2)
  await readAndHold(lane, 'one')
  expect(await read(lane, 'two')).toEqual([])
  await releaseRead(world.redis, lane, 'one')
  expect(await read(lane, 'two')).toEqual(names)
})

test('a job that three workers died with after reading it alone is reported as such', async () => {
  const { lane, names } = await begin(3)
  expect(await read(lane, 'first')).toEqual(names)
  // Nobody knows which of the three it was.
  for (let deaths = 0; deaths < 3; deaths += 1) {
    await readLongAgo(world.redis, lane)
    const { jobs } = await readNext(world.redis, lane, { by: `worker ${deaths}`, most: 10 })
    expect(jobs).toMatchObject([{ id: names[0], deaths }])
  }
  await readLongAgo(world.redis, lane)
  const { jobs } = await readNext(world.redis, lane, { by: 'last', most: 10 })
  expect(jobs).toMatchObject([{ id: names[0], deaths: 3 }])
  expect(await deadLetter(world.redis, lane, { id: names[0] ?? '', reason: 'it kills', keptMs: 60_000 })).toBe(true)
  await releaseRead(world.redis, lane, 'last')
  expect(await deadLettersOn(world.redis, lane)).toBe(1)
  // The others are read alone as well, and then together again.
  const seen = new Set<string>()
  for (let turns = 0; seen.size < 2 && turns < 10; turns += 1) {
    for (const name of await read(lane, 'last')) {
      seen.add(name)
      await claimAs('last', [name])
    }
  }
  expect([...seen].sort()).toEqual(names.slice(1).sort())
})

test('a delayed job is read once it is due, and before that the read returns the due time', async () => {
  const { lane, names } = await begin(1, 60_000)
  const before = await readNext(world.redis, lane, { by: 'one', most: 10 })
  expect(before.jobs).toEqual([])
  expect(before.dueInMs).toBeGreaterThan(50_000)
  const soon = await begin(1, 1)
  await expect.poll(() => read(soon.lane, 'one')).toEqual(soon.names)
  expect(names).toHaveLength(1)
})

test('a job wrongly marked as being sent goes back to the front', async () => {
  const { lane, names } = await begin(2)
  await claimAs('one', names)
  // Its record was changed by hand.
  await messageRecord(world.redis, idOf(names[1] ?? '')).change({ s: 'q' })
  expect(await mendActive(world.redis, lane)).toEqual([])
  expect(await waitingOn(world.redis, lane)).toEqual([names[1]])
  expect(await mendActive(world.redis, lane)).toEqual([])
})

test('a job whose claimed message has lost its record is not sent again: the message ends as unknown', async () => {
  const { lane, names } = await begin(3)
  await claimAs('one', names.slice(0, 2))
  const [sending, lost, waiting] = names.map(idOf)
  if (!sending || !lost || !waiting) throw new Error('three messages wait')
  await messageRecord(world.redis, lost).remove()
  const { log, lines } = keptLog()
  const deps = { redis: world.redis, config: loadConfig({}), log }
  for (let round = 0; round < 2; round += 1) await mendLane(deps, lane)
  expect(lines.map((line) => JSON.parse(line))).toEqual([
    expect.objectContaining({ msg: 'message.record_lost', message: names[1] }),
  ])
  expect(await readMessage(world.redis, lost)).toMatchObject({
    state: 'unknown',
    problem: { code: 'record_lost' },
    to: audioMessage.to,
  })
  expect((await readMessage(world.redis, sending))?.state).toBe('sending')
  expect(await waitingOn(world.redis, lane)).toEqual([names[2]])
  expect(await requeueableOn(world.redis, lane).all()).toEqual([lost.ulid])
  // Whoever looks at its job, or repeats the claim, is told so.
  expect(await claimAs('two', [names[1] ?? ''])).toMatchObject([{ verdict: 'taken' }])
  expect(await finalizeUnsent(world.redis, waiting, 'gone', audioJob(), 60_000)).toBe(false)
})

/** A message whose record was lost while it was being sent. */
async function lostWhileSent(payload: SendPayload) {
  const lane = world.newLane()
  const id = newId(lane)
  const name = messageId(lane, id.ulid)
  await world.queues.add(name, payload)
  await claimAs('one', [name])
  await messageRecord(world.redis, id).remove()
  const { log, lines } = keptLog()
  return { id, name, lines, mend: () => mendLane({ redis: world.redis, config: loadConfig({}), log }, lane) }
}

describe('a message whose record was lost while it was being sent', () => {
  test('is shown with everything that its job contains', async () => {
    const content = { type: 'text', text: { body: 'Your parcel is here.' } } as const
    const sendAt = Date.now() - 1_000
    const { id, mend } = await lostWhileSent({ ...audioJob(), content, campaign: 'spring', sendAt })
    await mend()
    expect(await readMessage(world.redis, id)).toMatchObject({
      ...{ state: 'unknown', type: 'text', text: 'Your parcel is here.', campaign: 'spring', sendAt },
    })
  })

  test('is neither cancelled nor expired: it may have been sent', async () => {
    // Its validity is over.
    const { id, mend } = await lostWhileSent(audioJob(-1_000))
    const deps = { redis: world.redis, queues: world.queues }
    for (const end of [cancelMessage, expireMessage])
      expect(await end(deps, id, 60_000)).toEqual({ verdict: 'ignored', state: 'sending' })
    await mend()
    expect((await readMessage(world.redis, id))?.state).toBe('unknown')
  })

  test('also ends as unknown when its person is erased first', async () => {
    const { id, name, mend } = await lostWhileSent(audioJob())
    const files = openFolder(tmpdir())
    const config = { retentionMs: 60_000, validityMs: { campaign: 60_000 } }
    const { redis, queues } = world
    expect(await eraseMessage({ redis, queues, files, config }, id, audioMessage.to)).toBe('erased')
    await mend()
    const record = await readMessage(redis, id)
    expect(record).toMatchObject({ state: 'unknown', to: '', text: '' })
    expect(record?.payload).toBeUndefined()
    expect(await hasJob(redis, name)).toBe(false)
  })

  test('waits again when its job is unreadable, becomes a dead letter, and nothing of it is logged', async () => {
    const { name, lines, mend } = await lostWhileSent(audioJob())
    const content = { type: 'audio', audio: { link: 'for Eve alone' } }
    await breakJob(world.redis, name, JSON.stringify({ ...audioJob(), content }))
    await mend()
    expect(lines).toEqual([])
    expect(await waitingOn(world.redis, idOf(name).lane)).toEqual([name])
  })

  test('is left as it is when its job is sealed under a data key that this worker lacks', async () => {
    const { name, lines, mend } = await lostWhileSent(audioJob())
    await breakJob(world.redis, name, JSON.stringify({ ...audioJob(), sealed: 'another key' }))
    await mend()
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({ msg: 'attempt.data_key_missing', message: name }),
    ])
    expect(await waitingOn(world.redis, idOf(name).lane)).toEqual([])
  })
})
