// Puts messages on their lane: many jobs are added in one step, together with the ids of their messages in the index of the
// lane. Then the workers are woken. Those of campaigns go behind transactional ones; one with a `send_at` is delayed until then.

import { SEND_JOB, type SendPayload, storedPayload } from '../jobs/send.ts'
import { acceptedAtMs, type MessageId, parseMessageId } from '../kernel/message-id.ts'
import type { Redis } from '../redis/connect.ts'
import { assertConnected, withinLimit } from '../redis/errors.ts'
import { laneClosedKey, messageIndexKey, placesKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'
import { DIGIT, LATENESS, SERIES } from './archive/index-segments.ts'
import { type IndexedMessage, indexMessages, packForIndex } from './archive/message-index.ts'
import { JOB, laneBacklogKeys, laneCounterKey, laneJobKey } from './bullmq/layout.ts'
import { LaneClosedError } from './closed-lanes.ts'
import { placeNameOf } from './places.ts'
import { wakeLane } from './wake.ts'

/**
 * BullMQ priority of campaign messages; transactional ones have none and always go first. A prioritized job also
 * costs O(log n) to remove, a plain one O(n).
 */
export const CAMPAIGN_PRIORITY = 1

/** A message on its way to its lane. */
export interface LaneMessage {
  id: string
  payload: SendPayload
  /** How long until it is fetched at the earliest (ms). */
  waitMs?: number
}

/** Adds new messages of one lane; what `createBatcher` takes together. They are kept in the index for `retentionMs`. */
export const addingNew =
  (retentionMs: number) =>
  async (redis: Redis, messages: readonly LaneMessage[]): Promise<true[]> => {
    const [first] = messages
    if (first !== undefined) {
      await addToLane(redis, laneOf(first.id).lane, messages, { retentionMs, areNew: true })
    }
    return messages.map(() => true)
  }

/** Adds messages of one lane and wakes the workers. Those that are `areNew` are added to its index. */
export async function addToLane(
  redis: Redis,
  lane: number,
  messages: readonly LaneMessage[],
  { retentionMs, areNew }: { retentionMs: number; areNew: boolean },
): Promise<void> {
  assertConnected(redis)
  await withinLimit(write(redis, lane, messages, areNew ? messages.map(indexedOf) : [], retentionMs))
  wakeLane(redis, lane)
}

/**
 * First the index, then the jobs: a process that dies in between leaves ids without messages. Single messages get
 * both in one step; the index of a campaign's is written by a step of its own.
 */
async function write(
  redis: Redis,
  lane: number,
  messages: readonly LaneMessage[],
  indexed: readonly IndexedMessage[],
  retentionMs: number,
): Promise<void> {
  const single = indexed.filter(({ run }) => run === undefined)
  const ofCampaigns = indexed.filter(({ run }) => run !== undefined)
  if (ofCampaigns.length > 0) await indexMessages(redis, lane, ofCampaigns, retentionMs)
  const adding = { name: SEND_JOB, jobs: messages.map(laneJobOf), indexed: single, places: messages.flatMap(placeOf) }
  await addJobs(redis, lane, adding, retentionMs)
}

const priorityOf = ({ class: of }: SendPayload): number => (of === 'campaign' ? CAMPAIGN_PRIORITY : 0)

/** The name of the place of a campaign's message; none of any other. */
const placeOf = ({ id, payload: { run } }: LaneMessage): string[] =>
  run === undefined ? [] : [placeNameOf(run, laneOf(id).ulid)]

/** The job of a message, which waits for its turn or until it is due. */
const laneJobOf = ({ id, payload, waitMs = 0 }: LaneMessage): LaneJob => ({
  ...{ id, timestamp: acceptedAtMs(laneOf(id).ulid), data: JSON.stringify(storedPayload(payload)) },
  ...{ priority: priorityOf(payload), waitMs: Math.ceil(waitMs), notBefore: payload.sendAt ?? 0 },
})

const ULID_LENGTH = 26

/** The entry of a message in the index. */
const indexedOf = ({ id, payload: { to, until, run } }: LaneMessage): IndexedMessage => ({
  // Cheaper than parsing the id once more: this runs for every message.
  ulid: id.slice(-ULID_LENGTH),
  to,
  until,
  run,
})

/** The parts of an id that was made here. */
export function laneOf(id: string): MessageId {
  const parsed = parseMessageId(id)
  if (!parsed) throw new Error(`not a message id: ${id}`)
  return parsed
}

const addScript = defineScript(import.meta.url, 'lane-add', { names: { JOB, SERIES, DIGIT, LATENESS } })

/** A job that is to wait on its lane. */
export interface LaneJob {
  id: string
  /** JSON. */
  data: string
  /** When the message was accepted (epoch ms). */
  timestamp: number
  /** Delay from now on (whole ms); 0 for none. */
  waitMs: number
  /** Earliest time when it is due (epoch ms); 0 for now. */
  notBefore: number
  /** 0 for one that goes first, else BullMQ's priority. */
  priority: number
}

/**
 * Adds the messages that are to be `indexed` to the lane's index, for `retentionMs` after their validity, then jobs
 * called `name` to its queue, except those that are there, and removes the `places` that they replace from the lane. Rejects
 * when Redis is away or full: then none was added, or all were and the answer was lost. Rejects with a LaneClosedError, and
 * adds none, once the lane's sender was removed.
 */
export async function addJobs(
  redis: Redis,
  lane: number,
  {
    name,
    jobs,
    indexed,
    places,
  }: { name: string; jobs: readonly LaneJob[]; indexed: readonly IndexedMessage[]; places?: readonly string[] },
  retentionMs: number,
): Promise<void> {
  const { waiting, prioritized, delayed } = laneBacklogKeys(lane)
  const reply = await addScript(
    redis,
    {
      ...{ waiting, prioritized, delayed, counter: laneCounterKey(lane) },
      ...{ index: messageIndexKey(lane), closed: laneClosedKey(lane), places: placesKey(lane) },
    },
    {
      jobs: laneJobKey(lane, ''),
      name,
      ids: jobs.map(({ id }) => id),
      payloads: jobs.map(({ data }) => data),
      times: jobs.map(({ timestamp }) => timestamp),
      waits: jobs.map(({ waitMs }) => waitMs),
      notBefore: jobs.map(({ notBefore }) => notBefore),
      priorities: jobs.map(({ priority }) => priority),
      ...(indexed.length > 0 ? packForIndex(indexed, retentionMs) : {}),
      names: places && places.length > 0 ? places : undefined,
    },
  )
  if (reply === 'closed') throw new LaneClosedError(lane)
}
