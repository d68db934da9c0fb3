// Limits how many messages of an account may wait to be sent. They are counted on the lanes themselves, so no crash can make
// the count wrong: every few seconds, and more often close to the limit. In between this process adds what it accepts
// itself, so several processes may together pass the limit by what the others accept within 50 ms.
import { laneIdsOf } from '../../accounts/senders.ts'
import { Refusal } from '../../kernel/refusal.ts'
import { waitingOn } from '../../lanes/stats.ts'
import { isCluster, type Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'

/** How long a count is used: FAR_MS with room to spare, NEAR_MS close to the limit; longer with many lanes. */
const FAR_MS = 5_000
const NEAR_MS = 50
/** Close to the limit: less room than this share of it, or than this many messages. */
const NEAR_SHARE = 0.05
const NEAR_MESSAGES = 1_000
/** Seconds after which a client that was refused may try again. */
const AGAIN_SECONDS = 5

interface Count {
  /** What waited when it was counted, and what was on its way then. */
  counted: number
  /** When that count began. */
  atMs: number
  /** Accepted since then. */
  since: number
  /** Being accepted: not on the lane yet, perhaps. */
  underWay: number
  counting: Promise<void> | undefined
  lanes: number
}

const counts = new WeakMap<Redis, Map<number, Count>>()

/**
 * Makes room for so many messages of the account, of which `most` may wait (0: any number), or throws a Refusal:
 * `too_many_waiting`. Call what it gives once they are on their lanes, or will not be.
 */
export async function roomToWait(redis: Redis, account: number, most: number, messages: number): Promise<() => void> {
  if (most === 0) return () => {}
  const count = countOf(redis, account)
  const room = (): number => most - count.counted - count.since
  const isNear = (): boolean => room() - messages < Math.max(NEAR_MESSAGES, most * NEAR_SHARE)
  if (performance.now() - count.atMs > (isNear() ? Math.max(NEAR_MS, count.lanes) : FAR_MS)) {
    await (count.counting ?? recount(redis, account, count))
  }
  if (room() < messages) {
    const sentence = `The account has ${most - Math.max(0, room())} messages that wait to be sent, and may have ${most}.`
    throw new Refusal('too_many', 'too_many_waiting', sentence, [], AGAIN_SECONDS)
  }
  count.since += messages
  count.underWay += messages
  return () => {
    count.underWay -= messages
  }
}

function countOf(redis: Redis, account: number): Count {
  const known = counts.get(redis) ?? new Map<number, Count>()
  counts.set(redis, known)
  const count = known.get(account) ?? {
    ...{ counted: 0, atMs: Number.NEGATIVE_INFINITY, since: 0, underWay: 0, counting: undefined, lanes: 0 },
  }
  known.set(account, count)
  return count
}

function recount(redis: Redis, account: number, count: Count): Promise<void> {
  const atMs = performance.now()
  const { underWay, since } = count
  const counting = laneIdsOf(redis, account)
    .then((lanes) => {
      count.lanes = lanes.length
      return waitingOn(redis, lanes)
    })
    .then((waiting) => {
      count.counted = waiting + underWay
      count.since -= since
      count.atMs = atMs
    })
    .catch((error: unknown) => {
      // A server of a cluster is away, and perhaps not that of this message's lane: with what was counted last, and all that
      // came since, the account may send on.
      if (!isCluster(redis) || !isRedisAway(error) || count.atMs === Number.NEGATIVE_INFINITY) throw error
      count.atMs = atMs
    })
    .finally(() => {
      count.counting = undefined
    })
  count.counting = counting
  return counting
}
