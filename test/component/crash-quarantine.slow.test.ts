// Pins: jobs that a dead worker left behind run few at a time, the lanes in turn, and the one that kills its workers is
// found and made a dead letter, and no other. Real: Redis. A process that dies is one that begins and never ends.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { beginIsolatedRetry, isolatedCrashes } from '../../src/lanes/isolated-retries.ts'
import { type MessageId, messageId, newUlid } from '../../src/messages/message-id.ts'
import type { Redis } from '../../src/redis/connect.ts'
import type { JobEnd } from '../../src/worker/bullmq.ts'
import { type CrashQuarantine, createCrashQuarantine } from '../../src/worker/crash-quarantine.ts'
import { newId, startLaneRedis } from '../support/lane-redis.ts'
import { isolatedRetriesOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const DONE: JobEnd = { kind: 'done' }
const PROVIDER_MS = 100

let redis: Redis
let newLane: () => number
let close: () => Promise<void>
beforeAll(async () => {
  ;({ redis, newLane, close } = await startLaneRedis())
})
afterAll(() => close?.())

const stalled = (id: MessageId) => ({ id: messageId(id.lane, id.ulid), stalledCounter: 1 })
const answer = () => new Promise<JobEnd>((resolve) => setTimeout(() => resolve(DONE), PROVIDER_MS))
const death = () => new Promise<JobEnd>(() => {})

test('a thousand of them finish in bounded time on a slow provider, never more than twenty at once', async () => {
  const quarantine = createCrashQuarantine(redis)
  const lane = newLane()
  let atOnce = 0
  let most = 0
  const begunAt = performance.now()
  const ends = await Promise.all(
    Array.from({ length: 1_000 }, () =>
      quarantine.run(stalled(newId(lane)), async () => {
        atOnce += 1
        most = Math.max(most, atOnce)
        await answer()
        atOnce -= 1
        return DONE
      }),
    ),
  )
  expect(ends).toHaveLength(1_000)
  expect(most).toBe(20)
  // 5 s at twenty at a time, 100 s one after the other.
  expect(performance.now() - begunAt).toBeLessThan(30_000)
})

test('a job that no worker died with waits for none of them', async () => {
  const quarantine = createCrashQuarantine(redis)
  const lane = newLane()
  for (let i = 0; i < 50; i += 1) void quarantine.run(stalled(newId(lane)), death)
  const job = { id: messageId(lane, newUlid(Date.now())), stalledCounter: 0 }
  expect(await quarantine.run(job, async () => DONE)).toEqual(DONE)
})

test('a lane with hundreds of them does not keep the one of another lane waiting', async () => {
  const quarantine = createCrashQuarantine(redis)
  const [many, one] = [newLane(), newLane()]
  let ended = 0
  const all = Array.from({ length: 400 }, () =>
    quarantine.run(stalled(newId(many)), answer).finally(() => (ended += 1)),
  )
  await quarantine.run(stalled(newId(one)), answer)
  expect(ended).toBeLessThan(200)
  await Promise.all(all)
})

/** Takes all up as a new worker does, until the killer kills it or all have ended; what ended deadLetters, if any. */
async function liveOnce(quarantine: CrashQuarantine, left: Set<MessageId>, killer: MessageId) {
  const deadLetters: MessageId[] = []
  let isDead = false
  for (const id of left) {
    const work = async () => {
      if (id === killer) isDead = true
      if (isDead) return death()
      await answer()
      return isDead ? death() : DONE
    }
    void quarantine.run(stalled(id), work).then((end) => {
      if (isDead) return
      left.delete(id)
      if (end.kind === 'dead_letter') deadLetters.push(id)
    })
  }
  await eventually(async () => isDead || left.size === 0, 'the worker died, or ended all')
  return { isDead, deadLetters }
}

test('one that kills its workers becomes a dead letter after three of them, and no other is', async () => {
  const lane = newLane()
  const left = new Set(Array.from({ length: 60 }, () => newId(lane)))
  const killer = [...left][30]
  if (!killer) throw new Error('no killer')
  let deaths = 0
  for (;;) {
    const { isDead, deadLetters } = await liveOnce(createCrashQuarantine(redis), left, killer)
    if (isDead) deaths += 1
    else {
      expect(deadLetters).toEqual([killer])
      break
    }
    expect(deaths).toBeLessThan(10)
  }
  expect(deaths).toBe(3)
  expect(left.size).toBe(0)
  expect(await isolatedCrashes(redis, killer)).toBe(0)
})

test('of a job that is gone with its worker nothing is kept for good', async () => {
  const lane = newLane()
  expect(await beginIsolatedRetry(redis, newId(lane))).toBe(0)
  expect(await isolatedRetriesOf(redis, lane).livesMs()).toBeGreaterThan(0)
})
