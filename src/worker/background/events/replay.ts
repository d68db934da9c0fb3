// Works on a replay, a page a turn, in between the other jobs of the endpoint's queue.
//
// Where the process may die: within a page, its events are told once more, under the same ids.

import type { PlacedEvent } from '../../../events/outbox-entry.ts'
import {
  failedDeliveries,
  findReplay,
  noteReplay,
  type Replay,
  type ReplayOrder,
  replayPage,
} from '../../../events/store/replays.ts'
import type { EventJob } from '../../../jobs/events.ts'
import type { Queue } from '../../../queue/open-queue.ts'
import { promote, retry } from '../../../queue/take-up.ts'
import { type Target, type TellDeps, tell } from './tell.ts'

/** A replay whose endpoint fails is tried again after this. */
const FAILING_WAIT_MS = 30_000

/** Does a page. How long (ms) until the next; undefined when it is done, or not kept any more. */
export async function takeReplayTurn(
  deps: TellDeps,
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
  if (!(await tellPage(deps, target, events, { stopped, types: replay.order.types }))) return FAILING_WAIT_MS
  await noteReplay(redis, endpoint.account, id, progressOf(replay, events.length, next, await deps.nowMs()))
  return next === undefined ? undefined : 1
}

const progressOf = (replay: Replay, more: number, next: string | undefined, nowMs: number) => ({
  state: next === undefined ? ('done' as const) : ('running' as const),
  delivered: replay.delivered + more,
  ...(next === undefined ? { ended_at: nowMs } : { cursor: next }),
})

async function tellPage(
  deps: TellDeps,
  target: Target,
  events: readonly PlacedEvent[],
  how: { stopped: AbortSignal; types: readonly string[] | undefined },
): Promise<boolean> {
  const { max_events: most } = target.endpoint
  for (let from = 0; from < events.length; from += most) {
    const retryIn = (): number => FAILING_WAIT_MS
    const end = await tell(deps, target, events.slice(from, from + most), { attempt: 1, retryIn, ...how })
    if (end.kind !== 'taken') return false
  }
  return true
}

/** Has those deliveries tried now that wait for a retry or were given up. How many events they hold. */
async function retryFailed(queue: Queue<EventJob>, order: ReplayOrder): Promise<number> {
  let count = 0
  for (const { id, data } of await failedDeliveries(queue, order)) {
    // Neither, when it was taken up meanwhile.
    if ((await promote(queue, id)) || (await retry(queue, id, { ...data, failures: 0 }))) count += data.refs.length
  }
  return count
}
