// Pins: which dead letters can be queued again, and what queueing one again comes to when something else has happened to it
// or to its lane since it was found. Real: Redis, HTTP, producer.
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { closeLane } from '../../src/lanes/closed-lanes.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { matchingDeadLetters, retryDeadLetter } from '../../src/messages/requeue/dead-letters.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { sendTo } from '../support/messages.ts'
import { failMessages } from '../support/requeueable.ts'
import { type Service, startService } from '../support/service.ts'
import { giveUpNext, jobOf, ruinWaiting, waitingOn } from '../support/state/lanes.ts'
import { messageIndexOf } from '../support/state/messages.ts'

let service: Service
let redis: Redis
let queues: LaneQueues
let lane: number
let name: string
beforeAll(async () => {
  service = await startService({ worker: false })
  redis = service.redis
  queues = openLaneQueues(redis)
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})
beforeEach(async () => {
  const tenant = await service.addTenant()
  lane = tenant.partnerLane
  name = await sendTo(service, tenant, '+491700006001')
  await giveUp()
})

/** Makes a dead letter of the job that goes next, as a worker that gives it up does. */
const giveUp = () => giveUpNext(redis, lane)

async function found(names = [name]) {
  return matchingDeadLetters({ redis }, lane, names, {})
}
async function oneFound() {
  const [letter] = await found()
  if (letter === undefined) throw new Error('no dead letter')
  return letter
}
const retry = async (letter: Awaited<ReturnType<typeof oneFound>>) =>
  retryDeadLetter({ redis, queues, config: service.config }, lane, letter)

test('of two that requeue one dead letter only the first succeeds', async () => {
  const [one, other] = [await oneFound(), await oneFound()]
  expect([await retry(one), await retry(other)]).toEqual([true, false])
  expect(await waitingOn(redis, lane)).toEqual([name])
})

test('a dead letter whose sender was removed meanwhile is not reported as queued again', async () => {
  const letter = await oneFound()
  expect(await closeLane(redis, lane)).toBe(true)
  expect(await retry(letter)).toBe(false)
})

test('any other error is reported as an error', async () => {
  const letter = await oneFound()
  await ruinWaiting(redis, lane)
  await expect(retry(letter)).rejects.toThrow('WRONGTYPE')
})

test('a requeued dead letter is found in lists for as long as it lives', async () => {
  await messageIndexOf(redis, lane).expireIn(600_000)
  const beganMs = Date.now()
  expect(await retry(await oneFound())).toBe(true)
  const { validityMs, retentionMs } = service.config
  const livesMs = validityMs.transactional + retentionMs
  expect(await messageIndexOf(redis, lane).livesUntil()).toBeGreaterThanOrEqual(beganMs + livesMs)
})

test('a job that failed although its message has a record is no dead letter: the record has the outcome', async () => {
  const [failed] = await failMessages({ redis, queues }, lane, { count: 1 })
  const { content, until } = (await oneFound()).payload
  const payload = { v: 1, to: '491700006002', class: 'transactional', content, until } as const
  await queues.add(failed?.name ?? '', payload)
  await giveUp()
  const letters = await found([name, failed?.name ?? ''])
  expect(letters.map((letter) => letter.name)).toEqual([name])
  expect((await jobOf(redis, failed?.name ?? ''))?.failedReason).toBeTruthy()
})
