// The lanes that are due for the sweeper, and their state. Code that gives a lane work first adds the work, then marks the lane as
// due. The sweeper takes due lanes and sets when each is due next, or takes the mark off when nothing is left. So the cost of a sweep
// depends on the lanes with work alone. A process that dies in between leaves the lane unmarked; the sweeper's slow round over all
// lanes finds it.

import { z } from 'zod'
import type { Redis } from '../redis/connect.ts'
import { whereAnswered } from '../redis/each-server.ts'
import {
  activeCampaignsKey,
  campaignPrefix,
  inDoubtKey,
  laneCooldownKey,
  messageKey,
  placesKey,
  pollKey,
  queuedAgainKey,
  rootKeys,
} from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { laneBacklogKeys, laneJobKey, laneMetaKey, META } from './bullmq/layout.ts'
import { defineMessageScript } from './messages/message-script.ts'

/** The state of one lane, read in one atomic step. */
export interface SweepState {
  lane: number
  /** Jobs that wait for a worker. */
  waiting: number
  active: number
  /** Messages are being sent, or unconfirmed; those of campaigns have no job while they are. */
  hasInDoubt: boolean
  /** Jobs that wait, are delayed or are being worked on. */
  backlog: number
  /** Places of campaigns that wait. */
  places: number
  /** Place that goes next; undefined when none waits or may be taken. */
  placeHead: string | undefined
  /** Campaigns that a worker must watch. */
  activeCampaigns: number
  /** The lane is paused or in a cooldown. Only known while jobs wait. */
  isHeld: boolean
  /** Job that goes next; undefined when none waits. */
  head: string | undefined
  /** When the next message is due for the sweep (epoch ms); undefined without one. */
  nextSweepAt: number | undefined
  /** When the next status poll is due (epoch ms); undefined when none is. */
  nextPollAt: number | undefined
  /** When this was read, by the same clock as the times above (epoch ms). */
  nowMs: number
}

const sweepStateScript = defineScript(import.meta.url, 'lane-sweep-state', { names: { META } })
const mendScript = defineMessageScript(import.meta.url, 'lane-mend')

const maybeTime = z.union([z.literal('').transform(() => undefined), z.coerce.number()])
const sweepStateReply = z.tuple([
  z.number(),
  z.number(),
  z.number(),
  z.number(),
  z.enum(['0', '1']),
  z.string(),
  maybeTime,
  maybeTime,
  maybeTime,
  z.number(),
  z.string(),
  z.number(),
])

/** Reads lanes, one command each; those of a server of a cluster that does not answer are left out. */
export function readSweepStates(redis: Redis, lanes: readonly number[]): Promise<SweepState[]> {
  return whereAnswered(redis, lanes, { what: 'sweep', ask: (lane) => readSweepState(redis, lane) })
}

async function readSweepState(redis: Redis, lane: number): Promise<SweepState> {
  const reply = await sweepStateScript(redis, {
    ...laneBacklogKeys(lane),
    meta: laneMetaKey(lane),
    cooldown: laneCooldownKey(lane),
    inDoubt: inDoubtKey(lane),
    queuedAgain: queuedAgainKey(lane),
    polls: pollKey(lane),
    activeCampaigns: activeCampaignsKey(lane),
    places: placesKey(lane),
    campaigns: campaignPrefix(lane),
  })
  const [waiting, delayed, active, activeCampaigns, held, head, openAt, queuedAt, nextPollAt, ...ofPlaces] =
    sweepStateReply.parse(reply)
  const [places, placeHead, nowMs] = ofPlaces
  return {
    lane,
    waiting,
    active,
    hasInDoubt: openAt !== undefined,
    backlog: waiting + delayed + active,
    activeCampaigns,
    places,
    placeHead: placeHead === '' ? undefined : placeHead,
    isHeld: held === '1',
    head: head === '' ? undefined : head,
    nextSweepAt: earliest(openAt, queuedAt),
    nextPollAt,
    nowMs,
  }
}

/** The earliest defined time. */
export function earliest(...times: readonly (number | undefined)[]): number | undefined {
  const known = times.filter((time) => time !== undefined)
  return known.length === 0 ? undefined : Math.min(...known)
}

/**
 * Requeues jobs listed as active whose record is not `sending`. Returns the names of messages of such jobs that have no record
 * any more: they may have been sent (finalizeUnsent). Those that are named `unreadable` wait again, to become dead letters.
 */
export async function mendActive(redis: Redis, lane: number, unreadable: readonly string[] = []): Promise<string[]> {
  const args = { jobs: laneJobKey(lane, ''), records: messageKey(lane, ''), unreadable }
  return z.array(z.string()).parse(await mendScript(redis, laneBacklogKeys(lane), args))
}

const takeScript = defineScript(import.meta.url, 'due-lanes-take')
const settleScript = defineScript(import.meta.url, 'due-lanes-settle')
const takeReply = z.tuple([z.number()], z.coerce.number().int())

/** Lanes that this sweep has taken. */
export interface DueLanes {
  /** When they are due again unless settled (epoch ms). */
  till: number
  lanes: number[]
}

/** Marks a lane as due now unless it is marked (queues.ts marks lanes with new work). */
export async function markUnmarkedLane(redis: Redis, lane: number): Promise<void> {
  await redis.zadd(rootKeys.dueLanes, 'NX', 0, String(lane))
}

/** Takes at most `most` lanes that are due; each is due again after `againMs`, should this process die over them. */
export async function takeDueLanes(redis: Redis, againMs: number, most: number): Promise<DueLanes> {
  const reply = await takeScript(redis, { due: rootKeys.dueLanes }, { againMs, most })
  const [till, ...lanes] = takeReply.parse(reply)
  return { till, lanes }
}

/** Ends a sweep of lanes: when each is due next (epoch ms), or undefined when nothing is left in it. */
export async function settleDueLanes(
  redis: Redis,
  till: number,
  next: readonly { lane: number; atMs: number | undefined }[],
): Promise<void> {
  if (next.length === 0) return
  await settleScript(redis, { due: rootKeys.dueLanes }, { takenUntil: till, times: next })
}
