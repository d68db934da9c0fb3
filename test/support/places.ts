// Sending a campaign's places as a worker does, with a WhatsApp that the test plays.
import { findSender } from '../../src/accounts/senders.ts'
import type { FileStore } from '../../src/files/store.ts'
import { parseMessageId } from '../../src/kernel/message-id.ts'
import { laneCooldown } from '../../src/lanes/cooldown.ts'
import { addPlaces, countPlaces, type Span } from '../../src/lanes/places.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { isLanePaused } from '../../src/lanes/stats.ts'
import { type CallEnd, MISSED_SLOT } from '../../src/model/messages/outcome.ts'
import type { Departure } from '../../src/model/provider.ts'
import { readRecipientStates } from '../../src/recipients/recipient-states.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import type { Life, Lives } from './campaign-lives.ts'
import { interceptCommands } from './redis.ts'
import { laneOf, sendingTo } from './sending.ts'
import { allWaitingOn } from './state/lanes.ts'
import { eventually } from './wait.ts'

/** Answers to the `nth` request, from 1, to this number. */
export type ChatProduct = (to: string, nth: number) => CallEnd | Promise<CallEnd>

export const ACCEPTED: CallEnd = { kind: 'accepted', providerId: 'p' }

/** How places are sent. */
interface How {
  /** Messages in flight at once. */
  share?: number
  stopping?: AbortSignal
  /** The worker's connection; its own without one. */
  redis?: Redis
  rate?: number
  /** Where the campaign's list is read. */
  files?: FileStore
}

/** Nothing waits any more, the lane is paused or in a cooldown, or the worker was stopped; nothing is in flight. */
export type RunEnd = 'done' | 'lane waits' | 'stopped'

export type Product = Awaited<ReturnType<typeof playProduct>>

/** A worker of the life's lane and its WhatsApp. `sent` are the numbers that it took, in their order. */
export async function playProduct(lives: Lives, life: Life, answer: ChatProduct = () => ACCEPTED) {
  const { config, queues } = lives
  const found = await findSender(lives.redis, life.lane)
  if (!found) throw new Error('no sender')
  const sender = found
  const sent: string[] = []
  let asked = 0
  let answers = answer

  const feed = (span: Span = { from: 0, count: life.total }): Promise<void> => addPlaces(lives.redis, life.id, [span])

  /** Whether the lane may not send now. */
  async function isHeld(): Promise<boolean> {
    const { redis } = lives
    return (
      (await isLanePaused(redis, life.lane)) ||
      (await laneCooldown(redis, life.lane, await redisNowMs(redis, 'any'))) !== undefined
    )
  }

  /** A worker serves the lane until there is nothing more to do. */
  async function serve({ share = 4, rate = 100_000, files = config.files, ...how }: How = {}): Promise<RunEnd> {
    const redis = how.redis ?? lives.redis
    const lanes = how.redis ? openLaneQueues(how.redis) : queues
    const provider = {
      async send(_sender: unknown, { to }: { to: string }, _timeoutMs: number, at?: Departure): Promise<CallEnd> {
        if (at === undefined || performance.now() > at.leaveBy) return { kind: 'never_left', cause: MISSED_SLOT }
        at.left()
        asked += 1
        const end = await answers(to, asked)
        if (end.kind === 'accepted' || end.kind === 'unanswered') sent.push(to)
        return end
      },
    }
    const deps = sendingTo({ redis, lanes, config, files }, { ...sender, rate }, provider)
    const served = laneOf(deps, life.lane, share)
    how.stopping?.addEventListener('abort', () => served.signals.stop())
    served.signals.wake()
    try {
      const ended = async (): Promise<RunEnd | undefined> => {
        if (redis.status === 'end' || how.stopping?.aborted) return 'stopped'
        if (served.inFlightLimit.running() > 0) return undefined
        if ((await countPlaces(lives.redis, life.lane)) === 0) return 'done'
        if (await isHeld()) return 'lane waits'
        // As the message does that wakes a lane.
        served.signals.feed()
        return undefined
      }
      const end = await eventually(ended, 'the lane has nothing to do', 30_000)
      served.signals.stop()
      // What is in flight is settled, unless its connection is gone.
      if (redis.status !== 'end') await served.idle()
      return end
    } finally {
      served.signals.stop()
      if (how.redis) await lanes.close()
    }
  }

  return {
    sent,
    feed,
    serve,

    /** Feeds all recipients, or these, and serves the lane. */
    async run({ span, ...how }: How & { span?: Span } = {}): Promise<RunEnd> {
      await feed(span)
      return serve(how)
    },

    /** Answers otherwise from now on. */
    answers(next: ChatProduct): void {
      answers = next
    },

    /** The worker loses its connection at its n-th command and is heard of no more. */
    async serveAndDie(commands: number): Promise<void> {
      const redis = connectWithRetry(lives.url)
      redis.on('error', () => {})
      await new Promise((resolve) => redis.once('ready', resolve))
      let left = commands
      interceptCommands(redis, (send) => {
        left -= 1
        if (left === -1) redis.disconnect()
        return send()
      })
      await serve({ redis }).catch(() => {})
      redis.disconnect()
    },

    /** ULIDs of messages with a job of their own. */
    async jobs(): Promise<string[]> {
      const found = await allWaitingOn(lives.redis, life.lane)
      return found.flatMap((name) => parseMessageId(name)?.ulid ?? []).sort()
    },

    states: () => readRecipientStates(lives.redis, life.id, 0, life.total),
  }
}
