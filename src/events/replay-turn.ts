// Processes a replay page by page, in between the other jobs of the endpoint's queue.
//
// Dying within a page delivers its events again, under the same ids.

import type { EventJob } from '../jobs/background.ts'
import { promote, type Queue, retry } from '../lanes/bullmq/open-queue.ts'
import type { PlacedEvent } from '../model/events/outbox-entry.ts'
import { type DeliveryDeps, deliver, type Target } from './deliver.ts'
import { failedDeliveries, findReplay, noteReplay, type Replay, type ReplayOrder, replayPage } from './store/replays.ts'

/** A replay whose endpoint fails is tried again after this. */
const FAILING_WAIT_MS = 30_000

/** Delivers a page. Returns the wait (ms) until the next; undefined when the replay is done, or expired. */
export async function takeReplayTurn(
  deps: DeliveryDeps,
  target: Target,
  queue: Queue<EventJob>,
  id: string,
  stopped: AbortSignal,
): Promise<number | undefined> {
  const { redis } = deps
  const { endpoint } = target
  const replay = await findReplay(redis, endpoint, id)
  if (replay === undefined || replay.state === 'done') return undefined
  if (replay.order.failedOnly) {
    const count = await retryFailed(queue, replay.order)
    await noteReplay(redis, endpoint.account, id, { state: 'done', delivered: count, ended_at: await deps.nowMs() })
    return undefined
  }
  const senderOf = (lane: number): string | undefined => target.senders.get(lane)?.number
  const { events, next } = await replayPage(redis, endpoint, replay.order, replay.cursor, senderOf)
  if (!(await deliverPage(deps, target, events, { stopped, types: replay.order.types }))) return FAILING_WAIT_MS
  await noteReplay(redis, endpoint.account, id, progressOf(replay, events.length, next, await deps.nowMs()))
  return next === undefined ? undefined : 1
}

const progressOf = (replay: Replay, more: number, next: string | undefined, nowMs: number) => ({
  state: next === undefined ? ('done' as const) : ('running' as const),
  delivered: replay.delivered + more,
  ...(next === undefined ? { ended_at: nowMs } : { cursor: next }),
})

async function deliverPage(
  deps: DeliveryDeps,
  target: Target,
  events: readonly PlacedEvent[],
  how: { stopped: AbortSignal; types: readonly string[] | undefined },
): Promise<boolean> {
  const { max_events: most } = target.endpoint
  for (let from = 0; from < events.length; from += most) {
    const retryIn = (): number => FAILING_WAIT_MS
    const end = await deliver(deps, target, events.slice(from, from + most), { attempt: 1, retryIn, ...how })
    if (end.kind !== 'taken') return false
  }
  return true
}

/** Retries deliveries that wait or were given up. Returns how many events they hold. */
async function retryFailed(queue: Queue<EventJob>, order: ReplayOrder): Promise<number> {
  let count = 0
  for (const { id, data } of await failedDeliveries(queue, order)) {
    // False for both if it was taken meanwhile.
    if ((await promote(queue, id)) || (await retry(queue, id, { ...data, failures: 0 }))) count += data.refs.length
  }
  return count
}
