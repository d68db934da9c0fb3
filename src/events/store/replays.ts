// Replays: delivering the events of a period to an endpoint again. A record holds the order and its progress; the job in the
// endpoint's queue only names it.
import { z } from 'zod'
import { type EventJob, eventJobSchema } from '../../jobs/background.ts'
import { newUlid } from '../../kernel/message-id.ts'
import { DAY_MS } from '../../kernel/time-units.ts'
import type { Queue } from '../../lanes/bullmq/open-queue.ts'
import { eventTypeSchema } from '../../model/events/event-schema.ts'
import type { PlacedEvent } from '../../model/events/outbox-entry.ts'
import type { Redis } from '../../redis/connect.ts'
import { eventKeys } from '../../redis/keys.ts'
import { isThere, jsonText, readRecord } from '../../redis/records.ts'
import { isFor } from './documents.ts'
import type { Endpoint } from './endpoints.ts'
import { sourcesOf } from './outbox.ts'
import { readRange } from './outbox-entries.ts'

const KEEP_MS = 9 * DAY_MS

const orderSchema = z.object({
  sinceMs: z.number(),
  untilMs: z.number(),
  /** Those of the endpoint unless given. */
  types: z.array(eventTypeSchema).optional(),
  failedOnly: z.boolean(),
})
/** The request; times are epoch ms, both inclusive. */
export type ReplayOrder = z.infer<typeof orderSchema>

const recordSchema = z.object({
  endpoint: z.string(),
  state: z.enum(['waiting', 'running', 'done']),
  order: jsonText.pipe(orderSchema),
  delivered: z.coerce.number().int().default(0),
  /** Source and entry up to which it is done. */
  cursor: z.string().default(''),
  created_at: z.coerce.number(),
  ended_at: z.coerce.number().optional(),
})
export type Replay = z.infer<typeof recordSchema>

/** `rpl_<ULID>`, for a replay that is requested at `nowMs` (epoch ms). */
export const newReplayId = (nowMs: number): string => `rpl_${newUlid(nowMs)}`

/** Stores it under its id. */
export async function createReplay(
  redis: Redis,
  { account, id: endpoint }: Endpoint,
  id: string,
  { order, nowMs }: { order: ReplayOrder; nowMs: number },
): Promise<void> {
  const key = eventKeys(account).replay(id)
  await redis.hset(key, { endpoint, state: 'waiting', order: JSON.stringify(order), created_at: nowMs })
  await redis.pexpire(key, KEEP_MS)
}

/** A replay of this endpoint by its id; undefined when there is none or it has expired. */
export async function findReplay(redis: Redis, endpoint: Endpoint, id: string): Promise<Replay | undefined> {
  const raw = await redis.hgetall(eventKeys(endpoint.account).replay(id))
  const found = isThere(raw) ? readRecord(recordSchema, `replay ${id}`, raw) : undefined
  return found?.endpoint === endpoint.id ? found : undefined
}

/** Stores its progress. */
export async function noteReplay(
  redis: Redis,
  account: number,
  id: string,
  progress: { state: Replay['state']; delivered?: number; cursor?: string; ended_at?: number },
): Promise<void> {
  const key = eventKeys(account).replay(id)
  await redis.hset(key, progress)
  await redis.pexpire(key, KEEP_MS)
}

const ENTRIES_AT_ONCE = 200
/** Time limit of a dry run; then it returns its partial count. */
const COUNT_FOR_MS = 3_000

/** How many events a replay would deliver; `complete` is false when there may be more. */
export async function countReplay(
  redis: Redis,
  endpoint: Endpoint,
  order: ReplayOrder,
  senderOf: (lane: number) => string | undefined,
): Promise<{ matched: number; complete: boolean }> {
  const until = performance.now() + COUNT_FOR_MS
  let matched = 0
  let cursor: string | undefined = ''
  while (cursor !== undefined) {
    if (performance.now() > until) return { matched, complete: false }
    const page: Awaited<ReturnType<typeof replayPage>> = await replayPage(redis, endpoint, order, cursor, senderOf)
    matched += page.events.length
    cursor = page.next
  }
  return { matched, complete: true }
}

/** A page of a replay: its events, and where it goes on; `next` undefined at its end. */
export async function replayPage(
  redis: Redis,
  endpoint: Endpoint,
  order: ReplayOrder,
  cursor: string,
  senderOf: (lane: number) => string | undefined,
): Promise<{ events: PlacedEvent[]; next: string | undefined }> {
  const sources = await sourcesOf(redis, endpoint.account)
  const [at = '', entry = ''] = cursor.split(' ')
  const source = cursor === '' ? sources[0] : sources.find((each) => each >= Number(at))
  if (source === undefined) return { events: [], next: undefined }
  const from = String(source) === at && entry !== '' ? entry : `${Math.max(0, order.sinceMs - 1)}-0`
  const found = await readRange(redis, endpoint.account, source, { from: `(${from}`, to: '+', most: ENTRIES_AT_ONCE })
  const within = found.filter((each) => timeOf(each.entry) <= order.untilMs)
  const last = within.at(-1)
  const isEnd = within.length < ENTRIES_AT_ONCE
  const [following] = sources.flatMap((each) => (each > source ? `${each} ` : []))
  const types: readonly string[] = order.types ?? endpoint.types
  const events = within.flatMap((each) =>
    each.events.filter((event) => isFor(endpoint, types, event, senderOf(source))),
  )
  const next = isEnd ? following : `${source} ${last?.entry ?? ''}`
  return { events: events.filter(({ entry: of }) => timeOf(of) >= order.sinceMs), next }
}

const timeOf = (entry: string): number => Number.parseInt(entry, 10)

/** Jobs of an endpoint's queue that are read: it holds no more that were given up, and hardly more that wait. */
const MOST_JOBS = 2_000

/** A delivery with an event in the period of the order. */
export interface FailedDelivery {
  id: string
  data: Extract<EventJob, { kind: 'deliver' }>
}

/** Failed deliveries: those that wait for a retry, and those that were given up. */
export async function failedDeliveries(
  queue: Queue<EventJob>,
  { sinceMs, untilMs }: ReplayOrder,
): Promise<FailedDelivery[]> {
  const jobs = await queue.getJobs(['failed', 'delayed'], 0, MOST_JOBS)
  return jobs.flatMap((job) => {
    const { data } = eventJobSchema.safeParse(job.data)
    if (data?.kind !== 'deliver') return []
    const isWithin = data.refs.some((ref) => {
      const at = Number.parseInt(ref.split(':')[1] ?? '', 10)
      return at >= sinceMs && at <= untilMs
    })
    return isWithin && job.id ? [{ id: job.id, data }] : []
  })
}
