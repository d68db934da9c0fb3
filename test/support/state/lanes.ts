// What waits on a lane, as jobs and as places of campaigns, and what was given up; ways to put it there, to take it and to lose
// it.
import { readFileSync } from 'node:fs'
import { SEND_JOB } from '../../../src/jobs/send.ts'
import { parseMessageId } from '../../../src/kernel/message-id.ts'
import {
  delayedUntil,
  JOB,
  laneBacklogKeys,
  laneDeadLettersKey,
  laneJobKey,
  laneMetaKey,
  laneQueue,
} from '../../../src/lanes/bullmq/layout.ts'
import { openQueue, type Queue } from '../../../src/lanes/bullmq/open-queue.ts'
import { deadLetter, readNext } from '../../../src/lanes/jobs.ts'
import type { Redis } from '../../../src/redis/connect.ts'
import { CorkedRedis } from '../../../src/redis/connections.ts'
import { readWorkers } from '../../../src/redis/heartbeats.ts'
import { lanePrefix, laneReadersKey, placesKey, SUFFIX } from '../../../src/redis/keys.ts'
import { recordAt } from './handles.ts'

type Class = 'transactional' | 'campaign'

async function withQueue<T>(redis: Redis, lane: number, use: (queue: Queue) => Promise<T>): Promise<T> {
  const queue = openQueue(redis, laneQueue(lane), lanePrefix(lane))
  try {
    return await use(queue)
  } finally {
    await queue.close()
  }
}

const laneOf = (name: string): number => {
  const id = parseMessageId(name)
  if (id === undefined) throw new Error(`not a message id: ${name}`)
  return id.lane
}

/** Names of the messages that wait on the lane for their turn, the next one first. */
export async function waitingOn(redis: Redis, lane: number, of: Class = 'transactional'): Promise<string[]> {
  const { waiting, prioritized } = laneBacklogKeys(lane)
  if (of === 'campaign') return redis.zrange(prioritized, '0', '-1')
  return (await redis.lrange(waiting, 0, '-1')).reverse()
}

/** Until when (epoch ms) a message waits for its time; undefined when it does not. */
export async function dueOf(redis: Redis, name: string): Promise<number | undefined> {
  const score = await redis.zscore(laneBacklogKeys(laneOf(name)).delayed, name)
  return score === null ? undefined : delayedUntil(score)
}

/** Names of all messages that wait on the lane, for their turn or for their time. */
export async function allWaitingOn(redis: Redis, lane: number): Promise<string[]> {
  const { delayed } = laneBacklogKeys(lane)
  const later = await redis.zrange(delayed, '0', '-1')
  return [...(await waitingOn(redis, lane)), ...(await waitingOn(redis, lane, 'campaign')), ...later]
}

/** A name stands in line on the lane, without a job. */
export const putInLine = (redis: Redis, lane: number, name: string) => redis.lpush(laneBacklogKeys(lane).waiting, name)

/** The message has a job that stands in no line. */
export const strandJob = (redis: Redis, name: string) =>
  redis.hset(laneJobKey(laneOf(name), name), { [JOB.name]: SEND_JOB, [JOB.data]: '{}' })

/** How many messages of campaigns wait for their turn on the lane, or are in somebody's hands. */
export async function campaignBacklogOn(redis: Redis, lane: number): Promise<number> {
  const { prioritized, active } = laneBacklogKeys(lane)
  return (await redis.zcard(prioritized)) + (await redis.llen(active))
}

/** Something stands in the place of what waits that nothing can be done with. */
export const ruinWaiting = (redis: Redis, lane: number) => redis.set(laneBacklogKeys(lane).waiting, 'broken')

/** Names of the messages that have a job on the lane, wherever it is. */
export async function jobsOn(redis: Redis, lane: number): Promise<string[]> {
  const prefix = laneJobKey(lane, '')
  return (await redis.keys(`${prefix}msg_*`)).map((key) => key.slice(prefix.length))
}

/** Names of everything that stands in a queue of the lane. */
export const namesInQueue = (redis: Redis, lane: number): Promise<string[]> => redis.keys(`${lanePrefix(lane)}:lane-*`)

/** What the job of a message holds, as it is kept; undefined when there is none. Other jobs are found by their lane. */
export async function jobOf(redis: Redis, name: string, lane = laneOf(name)) {
  const fields = await redis.hgetall(laneJobKey(lane, name))
  const { [JOB.data]: text = '', [JOB.failedReason]: failedReason, atm = '0', stacktrace = '' } = fields
  if (Object.keys(fields).length === 0) return undefined
  return { id: name, text, data: JSON.parse(text || 'null'), failedReason, attemptsMade: Number(atm), stacktrace }
}

/** Whether the message has a job. */
export const hasJob = async (redis: Redis, name: string): Promise<boolean> =>
  (await redis.exists(laneJobKey(laneOf(name), name))) === 1

/** The job of a message holds this text instead of its payload. */
export const breakJob = (redis: Redis, name: string, text: string) =>
  redis.hset(laneJobKey(laneOf(name), name), JOB.data, text)

/** The lane loses the job of a message, which nobody has in hand. */
export const loseJob = (redis: Redis, name: string, lane = laneOf(name)) =>
  withQueue(redis, lane, (queue) => queue.remove(name))

/** The lane loses everything that waits on it. */
export const loseAllJobs = (redis: Redis, lane: number) =>
  withQueue(redis, lane, (queue) => queue.obliterate({ force: true }))

/** Puts a job on the lane as another program might, whatever is in it; nobody is told. */
export async function addSilently(
  redis: Redis,
  lane: number,
  name: string,
  payload: unknown,
  delayMs?: number,
): Promise<void> {
  const options = { jobId: name, ...(delayMs !== undefined && { delay: delayMs }) }
  await withQueue(redis, lane, (queue) => queue.add(SEND_JOB, payload, options))
}

/** Does something while the payload of a message stands where its claim looks for it, although nothing waits. */
export async function withPayloadOf<T>(redis: Redis, name: string, payload: object, act: () => Promise<T>): Promise<T> {
  const job = recordAt(redis, laneJobKey(laneOf(name), name))
  await job.change({ [JOB.data]: JSON.stringify(payload) })
  const done = await act()
  await job.remove()
  return done
}

/** How many dead letters the lane has. */
export const deadLettersOn = (redis: Redis, lane: number) => redis.zcard(laneDeadLettersKey(lane))

/** A dead letter without a payload that failed for this reason. */
export async function addDeadLetter(redis: Redis, name: string, reason: string, atMs: number): Promise<void> {
  const lane = laneOf(name)
  const fields = { [JOB.name]: SEND_JOB, [JOB.data]: '{}', [JOB.failedReason]: reason }
  await redis.hset(laneJobKey(lane, name), fields)
  await redis.zadd(laneDeadLettersKey(lane), atMs, name)
}

/** Whether nothing may leave the lane until it is resumed. */
export const isLanePaused = async (redis: Redis, lane: number): Promise<boolean> =>
  (await redis.hexists(laneMetaKey(lane), 'paused')) === 1

/** Whether a command that was sent puts something on the lane, or takes it off. */
export const isAboutJobsOf = (lane: number, words: unknown): boolean => JSON.stringify(words).includes(`:lane-${lane}`)

/** The name under which the dashboard shows what waits on the lane. */
export const shownAs = (lane: number): string => laneQueue(lane)

/** Names of the places that wait on the lane, `<campaign>/<place>`, the next one first. */
export const placesOn = (redis: Redis, lane: number): Promise<string[]> => redis.zrange(placesKey(lane), 0, '-1')

/** The lane loses these places, or all that wait on it; how many there were. */
export async function losePlaces(redis: Redis, lane: number, ...names: string[]): Promise<number> {
  const lost = names.length > 0 ? names : await placesOn(redis, lane)
  return lost.length === 0 ? 0 : redis.zrem(placesKey(lane), ...lost)
}

/** Makes a dead letter of what is next on the lane, as a worker that gives it up does; its name. */
export async function giveUpNext(redis: Redis, lane: number): Promise<string | undefined> {
  const { jobs } = await readNext(redis, lane, { by: 'a test', most: 1 })
  const [job] = jobs
  if (job) await deadLetter(redis, lane, { id: job.id, reason: 'it could not be processed', keptMs: 86_400_000 })
  return job?.id
}

/** Does `seen` with the next look of this process at what waits on the lane, in place of the look itself. */
function atNextLook(lane: number, seen: (look: () => unknown) => unknown): void {
  const send = CorkedRedis.prototype.sendCommand
  const { waiting } = laneBacklogKeys(lane)
  CorkedRedis.prototype.sendCommand = function (this: CorkedRedis, ...args) {
    const [{ name, args: given }] = args
    // A look has eight keys.
    if (name !== 'evalsha' || given[2] !== waiting || Number(given[1]) !== 8) return send.apply(this, args)
    CorkedRedis.prototype.sendCommand = send
    return seen(() => send.apply(this, args))
  }
}

/** It hangs for ever, as when its answer is lost. */
export const hangNextLook = (lane: number): void => atNextLook(lane, () => new Promise(() => {}))

/** Resolves once there was one. */
export const nextLook = (lane: number): Promise<void> =>
  new Promise((seen) => {
    atNextLook(lane, (look) => {
      seen()
      return look()
    })
  })

/** How many of these processes serve each lane, as their workers said last. */
export async function serversOf(redis: Redis, lanes: readonly number[], pids: readonly number[]): Promise<number[]> {
  const { alive } = await readWorkers(redis)
  const serving = alive.filter(({ facts }) => facts && pids.includes(facts.pid))
  return lanes.map((lane) => serving.filter(({ facts }) => facts?.serves.some((each) => each.lane === lane)).length)
}

/** What workers have read of the lane and not claimed was read so long ago that they are taken for dead. */
export const readLongAgo = (redis: Redis, lane: number): Promise<void> => readLater(redis, lane, -60_000)

/** They are not taken for dead, however long the test stands still. */
export const readForLong = (redis: Redis, lane: number): Promise<void> => readLater(redis, lane, 3_600_000)

async function readLater(redis: Redis, lane: number, byMs: number): Promise<void> {
  const key = laneReadersKey(lane)
  for (const [worker, read] of Object.entries(await redis.hgetall(key))) {
    const [ms = '0', ...rest] = read.split(' ')
    await redis.hset(key, worker, [Number(ms) + byMs, ...rest].join(' '))
  }
}

/** The part of scripts that reserves slots, as Redis gets it. */
export const paceScript = (): string =>
  readFileSync(new URL('../../../src/lanes/messages/scripts/message-pace.lua', import.meta.url), 'utf8').replace(
    /SUFFIX\.(late|joins)/g,
    (_name, of: 'late' | 'joins') => `'${SUFFIX[of]}'`,
  )
