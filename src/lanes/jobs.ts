// Reads what waits on a lane: jobs of messages, and places of campaigns (places.ts). A job is the record of its message until the first
// claim. Reading takes nothing: the claim of a message takes its job or its place in the same step, so a worker that dies before that has
// changed nothing.

import { sendPayloadSchema } from '../jobs/send.ts'
import { messageId } from '../kernel/message-id.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignPrefix, jobDeathsKey, laneReadersKey, placesKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { jsonText } from '../redis/records.ts'
import {
  JOB,
  laneBacklogKeys,
  laneCounterKey,
  laneDeadLettersKey,
  laneJobKey,
  laneMetaKey,
  META,
} from './bullmq/layout.ts'
import { parsePlace, type WaitingPlace } from './places.ts'

/** The payload of a job, from its text. */
export const payloadText = jsonText.pipe(sendPayloadSchema)

/** The payload of the job of a message; null without a job. `isDead`: it is a dead letter. */
export async function readJob(
  redis: Redis,
  lane: number,
  id: string,
): Promise<{ text: string | null; isDead: boolean }> {
  const [text = null, reason = null] = await redis.hmget(laneJobKey(lane, id), JOB.data, JOB.failedReason)
  return { text, isDead: reason !== null }
}

/** `waits`: it is queued, delayed or being worked on. */
export type JobState = 'none' | 'waits' | 'dead_letter'

/** Of many messages of one lane in one round trip, in their order. */
export const jobStates = (redis: Redis, lane: number, ulids: readonly string[]): Promise<JobState[]> =>
  Promise.all(
    ulids.map(async (ulid) => {
      const [name, reason] = await redis.hmget(laneJobKey(lane, messageId(lane, ulid)), JOB.name, JOB.failedReason)
      return name === null ? 'none' : reason === null ? 'waits' : 'dead_letter'
    }),
  )

const nextScript = defineScript(import.meta.url, 'lane-next', { names: { JOB, META } })
const deadLetterScript = defineScript(import.meta.url, 'lane-dead-letter', { names: { JOB } })

/** A job that waits: its id is that of the message, its payload JSON. */
export interface WaitingJob {
  id: string
  data: string
  /** Workers that died over it while they had read nothing else. */
  deaths: number
}

/** What is next on a lane. */
export interface Next {
  isPaused: boolean
  /** There is more, although fewer were read than requested. */
  hasMore: boolean
  /** Until the next delayed job is due (ms); undefined when there is none. */
  dueInMs: number | undefined
  jobs: WaitingJob[]
  places: WaitingPlace[]
  /** Workers that died over the first of the places while they had read nothing else. */
  deaths: number
  /** The epoch of each campaign that has places among these, by its number. */
  epochs: ReadonlyMap<number, number>
}

/** What to read of a lane. */
export interface Wanted {
  /** Taken to have died over what it does not claim, or release with `releaseRead`, within two seconds. */
  by: string
  most: number
  /** Only transactional messages. */
  firstOnly?: boolean
  /** Campaigns whose places are left out, by their numbers. */
  held?: readonly number[]
}

const NO_EPOCHS: ReadonlyMap<number, number> = new Map()

/**
 * What is to be sent next, without what other workers are reading: transactional jobs, then jobs of campaigns and places, half each.
 * Nothing of a paused lane. Rejects when Redis is away.
 */
export async function readNext(redis: Redis, lane: number, wanted: Wanted): Promise<Next> {
  const { by, most, firstOnly = false, held = [] } = wanted
  const { waiting, prioritized, delayed } = laneBacklogKeys(lane)
  const reply = await nextScript(
    redis,
    {
      waiting,
      prioritized,
      delayed,
      meta: laneMetaKey(lane),
      counter: laneCounterKey(lane),
      places: placesKey(lane),
      readers: laneReadersKey(lane),
      deaths: jobDeathsKey(lane),
    },
    {
      jobs: laneJobKey(lane, ''),
      campaigns: campaignPrefix(lane),
      most,
      firstOnly,
      by,
      held: held.length > 0 ? held : undefined,
    },
  )
  // By hand: each job has three entries.
  const [state, dueMs, found = [], names = [], deaths = 0, epochs = []]: unknown[] = Array.isArray(reply) ? reply : []
  if (typeof state !== 'string' || typeof dueMs !== 'number' || !Array.isArray(found) || !Array.isArray(names))
    throw new Error(`lane ${lane} does not say what is next`)
  const jobs: WaitingJob[] = []
  for (let i = 0; i + 2 < found.length; i += 3) {
    jobs.push({ id: String(found[i]), data: String(found[i + 1]), deaths: Number(found[i + 2]) })
  }
  return {
    isPaused: state === 'paused',
    hasMore: state === 'more',
    dueInMs: dueMs < 0 ? undefined : dueMs,
    jobs,
    places: names.flatMap((name) => parsePlace(String(name)) ?? []),
    deaths: Number(deaths),
    epochs: Array.isArray(epochs) && epochs.length > 0 ? epochsOf(epochs) : NO_EPOCHS,
  }
}

/** Campaigns and their epochs in turns. */
function epochsOf(flat: readonly unknown[]): ReadonlyMap<number, number> {
  const epochs = new Map<number, number>()
  for (let i = 0; i + 1 < flat.length; i += 2) epochs.set(Number(flat[i]), Number(flat[i + 1]))
  return epochs
}

/** The worker will claim nothing of what it has read; others may read it. */
export async function releaseRead(redis: Redis, lane: number, by: string): Promise<void> {
  await redis.hdel(laneReadersKey(lane), by)
}

/**
 * Makes a dead letter of a waiting job, with the reason, for people to inspect; dead letters older than `keptMs` are removed.
 * False when the job does not wait (any more).
 */
export async function deadLetter(
  redis: Redis,
  lane: number,
  { id, reason, keptMs }: { id: string; reason: string; keptMs: number },
): Promise<boolean> {
  const { waiting, prioritized } = laneBacklogKeys(lane)
  const keys = { waiting, prioritized, failed: laneDeadLettersKey(lane), deaths: jobDeathsKey(lane) }
  return (await deadLetterScript(redis, keys, { jobs: laneJobKey(lane, ''), id, reason, keptMs })) === 1
}
