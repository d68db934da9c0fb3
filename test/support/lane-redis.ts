// A Redis of its own for the tests of one file, with the queues of lanes on it, and the smallest message there is.

import { createAccount } from '../../src/accounts/accounts.ts'
import { addSender } from '../../src/accounts/add-sender.ts'
import { type MessageId, newUlid } from '../../src/kernel/message-id.ts'
import type { SealedFor } from '../../src/kernel/seal.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { connectWithRetry, type Redis, readyOrLate } from '../../src/redis/connect.ts'
import { startRedis, type TestRedis } from './redis.ts'

export interface LaneRedis {
  server: TestRedis
  redis: Redis
  queues: LaneQueues
  /** The number of a lane that nothing has used yet; no sender has it. */
  newLane(): number
  /** A sender of its own on the partner wire that sends so many messages a second, to where nobody listens; its lane. */
  addSender(rate?: number, sealedToken?: SealedFor): Promise<number>
  close(): Promise<void>
}

/** Starts it; a test file does so before all its tests and closes it after them. */
export async function startLaneRedis(): Promise<LaneRedis> {
  const server = await startRedis()
  const redis = connectWithRetry(server.url)
  redis.on('error', () => {})
  await readyOrLate(redis, 300_000)
  const queues = openLaneQueues(redis)
  let account: number | undefined
  let lanes = 0
  let senders = 0
  return {
    server,
    redis,
    queues,
    newLane: () => (lanes += 1),
    async addSender(rate = 80, sealedToken: SealedFor = () => 'x') {
      account ??= await createAccount(redis, 'one')
      senders += 1
      const sender = { account, number: `4917000${senders + 10_000}`, name: '', provider: 'partner-api' } as const
      const access = { baseUrl: 'http://127.0.0.1:9', sealedToken, phoneNumberId: '' }
      return addSender(redis, { ...sender, ...access, rate, honoursIdempotency: false, isDefault: false })
    },
    async close() {
      await queues.close()
      redis.disconnect()
      await server.stop()
    },
  }
}

export const newId = (lane: number): MessageId => ({ lane, ulid: newUlid(Date.now()) })

/** What a claim must know of a message. */
export const audioMessage = {
  to: '491700000001',
  type: 'audio',
  text: 'x',
  class: 'transactional',
  campaign: undefined,
  run: undefined,
} as const

const HOUR_MS = 3_600_000
/** Times of a claim that no test waits for. */
export const LONG_TIMES = { lostAfterMs: HOUR_MS, evidenceWaitMs: HOUR_MS, retentionMs: HOUR_MS }

const audio = { type: 'audio', audio: { link: 'https://example.com/a.mp3' } } as const
/** What a job of such a message holds. */
export const audioJob = (validMs = HOUR_MS) =>
  ({ v: 1, to: audioMessage.to, class: 'transactional', content: audio, until: Date.now() + validMs }) as const
