// Running a chunk of a campaign as a worker does, with a WhatsApp that the test plays.

import { findSender } from '../../src/accounts/senders.ts'
import type { FileStore } from '../../src/files/store.ts'
import type { Chunk } from '../../src/jobs/chunk.ts'
import { parseMessageId } from '../../src/kernel/message-id.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { type CallEnd, MISSED_SLOT } from '../../src/model/messages/outcome.ts'
import type { Departure } from '../../src/model/provider.ts'
import { createOpenCampaigns } from '../../src/recipients/open-campaigns.ts'
import { readRecipientStates } from '../../src/recipients/recipient-states.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { type ChunkEnd, sendChunk } from '../../src/worker/sending/send-chunk.ts'
import type { Life, Lives } from './campaign-lives.ts'
import { interceptCommands } from './redis.ts'
import { laneOf, sendingTo } from './sending.ts'
import { allWaitingOn } from './state/lanes.ts'

/** Answers to the `nth` request, from 1, to this number. */
export type ChatProduct = (to: string, nth: number) => CallEnd | Promise<CallEnd>

export const ACCEPTED: CallEnd = { kind: 'accepted', providerId: 'p' }

/** How a chunk is run. */
interface How {
  /** Place of its first recipient. */
  from?: number
  count?: number
  crashes?: number
  /** Messages in flight at once. */
  share?: number
  stopping?: AbortSignal
  /** The worker's connection; its own without one. */
  redis?: Redis
  rate?: number
  /** Where the campaign's list is read. */
  files?: FileStore
}

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

  async function run({ from = 0, count = life.total - from, ...how }: How = {}): Promise<ChunkEnd> {
    const [end] = await runAll([{ from, count }], how)
    if (end === undefined) throw new Error('no chunk')
    return end
  }

  /** Runs chunks at the same time in one worker. */
  async function runAll(spans: readonly { from: number; count: number }[], how: How = {}): Promise<ChunkEnd[]> {
    const { crashes = 0, share = 4, rate = 100_000, files = config.files } = how
    const redis = how.redis ?? lives.redis
    const campaigns = createOpenCampaigns({ redis, files, validityMs: config.validityMs.campaign })
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
    const deps = sendingTo({ redis, lanes, config }, { ...sender, rate }, provider)
    const served = laneOf(deps, life.lane, share)
    how.stopping?.addEventListener('abort', () => served.chunks.close())
    const ran = spans.map((span) => {
      const chunk: Chunk = { v: 1, run: life.id.number, ...span }
      return sendChunk({ ...deps, campaigns }, { lane: life.lane, chunk, crashes, chunks: served.chunks })
    })
    try {
      const ends = await Promise.all(ran)
      await served.idle()
      return ends
    } finally {
      served.loop.stop()
      if (how.redis) await lanes.close()
    }
  }

  return {
    sent,
    run,
    runAll,

    /** Answers otherwise from now on. */
    answers(next: ChatProduct): void {
      answers = next
    },

    /** The worker loses its connection at its n-th command and is heard of no more. */
    async runAndDie(commands: number): Promise<void> {
      const redis = connectWithRetry(lives.url)
      redis.on('error', () => {})
      await new Promise((resolve) => redis.once('ready', resolve))
      let left = commands
      interceptCommands(redis, (send) => {
        left -= 1
        if (left === -1) redis.disconnect()
        return send()
      })
      await run({ redis }).catch(() => {})
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
