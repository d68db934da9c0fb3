// Polls what is due on one lane. While other lanes may be waiting it does so for a few seconds only and then gives its
// place up, so that lanes that always have something due keep none waiting. How many polls leave, and when, is for the
// budget to say (messages/store/status-polls.ts).
import { laneBackoffMs } from '../../messages/backoff.ts'
import { MAX_RETRY_AFTER_MS } from '../../messages/outcome.ts'
import { coolPolls, takePolls } from '../../messages/store/status-polls.ts'
import { isRedisAway } from '../../redis/errors.ts'
import type { DirectoryEntry } from '../sending/sender-directory.ts'
import { type PollDeps, pollOrPutOff } from './poll-message.ts'

/** Lanes that one worker polls at the same time. */
export const LANES_AT_ONCE = 50
/** A lane gives its place up after this when all are taken, once its last poll has ended. */
const SLICE_MS = 5_000
/** A lane that has nothing to do for longer gives its place up at once. */
const PATIENCE_MS = 1_000
/** A poll must leave within this time of being taken. A process that was frozen in between leaves it to others. */
const GOOD_FOR_MS = 5_000
/** The lane of a sender that cannot be read is looked at again after this: a person may have repaired it. */
const PUT_OFF_MS = 60_000

/** How often in a row the provider has thrown polls of a lane back, and until when that holds (performance.now). */
interface Throttling {
  inARow: number
  until: number
}

/** The poller of this process, for up to LANES_AT_ONCE lanes. */
export function createLanePoller(deps: PollDeps) {
  const { redis, log } = deps
  const leaseMs = GOOD_FOR_MS + deps.config.sendTimeoutMs + GOOD_FOR_MS
  const throttled = new Map<number, Throttling>()
  let lanes = 0
  let stopping = false

  async function pollOne(lane: number, entry: DirectoryEntry, ulid: string): Promise<void> {
    const end = await pollOrPutOff(deps, entry, { lane, ulid })
    if (end?.kind === 'throttled') return coolDown(lane, end.retryAfterMs)
    const known = throttled.get(lane)
    if (known && known.until <= performance.now() && end?.kind !== 'no_answer') throttled.delete(lane)
  }

  /** Only the polls wait: whether messages are too many is for the answers to messages to say. */
  async function coolDown(lane: number, askedMs: number | undefined): Promise<void> {
    const now = performance.now()
    const known = throttled.get(lane)
    // Those that were under way together are thrown back together, which counts as once.
    const inARow = known === undefined ? 1 : known.until > now ? known.inARow : known.inARow + 1
    const ms = askedMs ? Math.min(askedMs, MAX_RETRY_AFTER_MS) : laneBackoffMs(1_000, inARow - 1)
    if (inARow !== known?.inARow) log.warn({ lane, ms }, 'poll.throttled')
    throttled.set(lane, { inARow, until: Math.max(known?.until ?? 0, now + ms) })
    await coolPolls(redis, lane, ms)
  }

  /** The sender, or undefined when there is none that can be polled; then its polls wait for a while. */
  async function senderOf(lane: number): Promise<DirectoryEntry | undefined> {
    let trouble: unknown = 'the lane has no sender'
    try {
      const entry = await deps.directory.of(lane)
      if (entry) return entry
    } catch (error) {
      if (isRedisAway(error)) throw error
      trouble = error
    }
    log.error({ lane, err: trouble }, 'poll.failed')
    await coolPolls(redis, lane, PUT_OFF_MS)
    return undefined
  }

  async function pollWhatIsDue(lane: number): Promise<void> {
    const endsAt = performance.now() + SLICE_MS
    const mayGoOn = () => !stopping && (lanes < LANES_AT_ONCE || performance.now() < endsAt)
    const running = new Set<Promise<void>>()
    const failures: unknown[] = []
    const begin = (entry: DirectoryEntry, ulid: string): void => {
      const over = pollOne(lane, entry, ulid)
        .catch((error: unknown) => void failures.push(error))
        .finally(() => running.delete(over))
      running.add(over)
    }

    while (mayGoOn() && failures.length === 0) {
      const entry = await senderOf(lane)
      if (!entry) break
      const askedAt = performance.now()
      const { ulids, waitMs, isFull } = await takePolls(redis, lane, entry.sender.rate, leaseMs)
      if (performance.now() - askedAt < GOOD_FOR_MS) for (const ulid of ulids) begin(entry, ulid)
      const isIdle = waitMs === undefined || waitMs > PATIENCE_MS
      if (isIdle && running.size === 0) break
      const waiting = pause(Math.min(waitMs ?? PATIENCE_MS, PATIENCE_MS))
      // When all places are taken, the end of a poll is what makes room.
      await ((isIdle || isFull) && running.size > 0 ? Promise.race([...running, waiting]) : waiting)
    }
    await Promise.all(running)
    if (failures.length > 0) throw failures[0]
  }

  return {
    /** Polls what is due on the lane; rejects when Redis is away. */
    async poll(lane: number): Promise<void> {
      lanes += 1
      try {
        await pollWhatIsDue(lane)
      } finally {
        lanes -= 1
      }
    },

    /** Lets every lane give its place up soon. */
    stop(): void {
      stopping = true
    },
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
