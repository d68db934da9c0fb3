// Bulk moves as the producer sees them: queue one, wait for its outcome, ask for its state later. The worker records an
// outcome and then announces it. One subscription per process hears all announcements, and a request that waits then reads
// the record: a missed announcement costs time, never the answer.
import { findMoveOutcome, type MoveOutcome, openMoveQueue } from '../../../gallery/store/moves.ts'
import type { MovePayload } from '../../../jobs/background.ts'
import { openSubscriber, type Redis } from '../../../redis/connect.ts'
import { rootKeys } from '../../../redis/keys.ts'
import { ApiError } from '../../errors.ts'

/** Waits before SUBSCRIBE is tried again: doubled each time, up to the last one. */
const FIRST_RETRY_MS = 500
const LAST_RETRY_MS = 30_000
/** How often a waiting request reads the outcome while it is not subscribed. */
const UNSUBSCRIBED_POLL_MS = 250
/** And while it is: a cluster moves subscriptions to another server silently. */
const SUBSCRIBED_POLL_MS = 1_000

/**
 * Moves of one account that wait at the same time in a process. Workers do moves in order of arrival, some ms each, so
 * that this many delay no other account noticeably.
 */
const WAITING_MAX = 50

/** The outcome of a move, or the state of its job. */
export type MoveState = MoveOutcome | { state: 'pending' } | { state: 'given_up' }

const tooMany = (): ApiError =>
  new ApiError(
    429,
    'too_many_moves',
    `${WAITING_MAX} moves of this account are under way; wait until one of them is done.`,
    {
      headers: { 'Retry-After': '1' },
    },
  )

export type BulkMoves = ReturnType<typeof openBulkMoves>

/** Opens the queue on a connection that fails fast, and the subscription on one of its own. */
export function openBulkMoves(redis: Redis) {
  const queue = openMoveQueue(redis)
  /** Move id → wakes the request that waits for it. */
  const waiting = new Map<string, () => void>()
  /** Waiting moves, by account. */
  const underWay = new Map<number, number>()
  let closed = false

  const wakeAll = () => {
    for (const wake of waiting.values()) wake()
  }
  const subscriber = openSubscriber(redis)
  let isSubscribed = false
  let refusals = 0
  let timer: NodeJS.Timeout | undefined
  /** Retries until the connection is lost. If Redis refuses for good, polling alone finds the outcome. */
  const subscribe = () => {
    clearTimeout(timer)
    if (closed || subscriber.status !== 'ready') return
    subscriber.subscribe(rootKeys.moveEnded).then(
      () => {
        isSubscribed = true
        refusals = 0
        // Announcements may have been missed until now.
        wakeAll()
      },
      () => {
        timer = setTimeout(subscribe, Math.min(FIRST_RETRY_MS * 2 ** refusals, LAST_RETRY_MS)).unref()
        refusals += 1
      },
    )
  }
  subscriber.on('ready', subscribe)
  subscriber.on('close', () => {
    isSubscribed = false
    // Requests that wait then read, find Redis away, and answer that at once.
    wakeAll()
  })
  // The shared connection reports the same errors.
  subscriber.on('error', () => {})
  subscriber.on('message', (_channel, move) => waiting.get(move)?.())

  /** Resolves at the next announcement of the move, or after `limitMs`; sooner while no announcement can be heard. */
  function nextAnnouncement(move: string, limitMs: number) {
    let wake = () => {}
    const heard = new Promise<void>((resolve) => {
      wake = resolve
    })
    const soon = Math.min(limitMs, isSubscribed ? SUBSCRIBED_POLL_MS : UNSUBSCRIBED_POLL_MS)
    const limit = setTimeout(wake, Math.max(0, soon))
    waiting.set(move, wake)
    return { heard, stop: () => clearTimeout(limit) }
  }

  async function queueAndWait(payload: MovePayload, waitMs: number): Promise<MoveOutcome | undefined> {
    await queue.add(payload)
    const deadline = performance.now() + waitMs
    try {
      for (;;) {
        // Listening begins before the read, so that an outcome between the two is not missed.
        const announcement = nextAnnouncement(payload.move, deadline - performance.now())
        try {
          const outcome = await findMoveOutcome(redis, payload.account, payload.move)
          if (outcome !== undefined || closed || performance.now() >= deadline) return outcome
          await announcement.heard
        } finally {
          announcement.stop()
        }
      }
    } finally {
      waiting.delete(payload.move)
    }
  }

  return {
    /** Queues a move and waits up to `waitMs` for its outcome; undefined if there is none yet. 429 if too many wait. */
    async run(payload: MovePayload, waitMs: number): Promise<MoveOutcome | undefined> {
      const { account } = payload
      const own = underWay.get(account) ?? 0
      if (own >= WAITING_MAX) throw tooMany()
      underWay.set(account, own + 1)
      try {
        return await queueAndWait(payload, waitMs)
      } finally {
        const left = (underWay.get(account) ?? 1) - 1
        if (left > 0) underWay.set(account, left)
        else underWay.delete(account)
      }
    },

    /** The state of a move; undefined if the account has none of this id. */
    async stateOf(account: number, move: string): Promise<MoveState | undefined> {
      // The job first: it may be removed as soon as the outcome is stored, never before.
      const job = await queue.find(account, move)
      const outcome = await findMoveOutcome(redis, account, move)
      if (outcome !== undefined) return outcome
      if (job === undefined) return undefined
      return { state: job === 'failed' ? 'given_up' : 'pending' }
    },

    /** Ends the subscription; requests that still wait are answered that there is no outcome yet. */
    async close(): Promise<void> {
      closed = true
      clearTimeout(timer)
      wakeAll()
      if (subscriber !== redis) subscriber.disconnect()
      await queue.close()
    },
  }
}
