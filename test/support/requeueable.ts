// Messages that have failed, in numbers, put into Redis as the steps of a life leave them.

import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import type { LaneQueues } from '../../src/lanes/queues.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { claim } from './claim.ts'
import { withPayloadOf } from './state/lanes.ts'

const HOUR_MS = 3_600_000
const problem = { code: '131051', sentence: 'It was refused.' }

/** Lets `count` messages of the lane fail, to numbers from `first` on; returns their ids. */
export async function failMessages(
  deps: { redis: Redis; queues: LaneQueues },
  lane: number,
  {
    count,
    first = 491_711_000_000,
    retentionMs = 30 * 24 * HOUR_MS,
    code = problem.code,
    run,
  }: {
    count: number
    first?: number
    retentionMs?: number
    code?: string
    /** Number of the campaign of ours that they belong to. */
    run?: number
  },
): Promise<{ name: string; lane: number; ulid: string; to: string }[]> {
  const made = Array.from({ length: count }, (_each, i) => {
    const ulid = newUlid(Date.now())
    return { name: messageId(lane, ulid), lane, ulid, to: String(first + i) }
  })
  const until = Date.now() + HOUR_MS
  const content = { type: 'audio' as const, audio: { link: 'https://example.com/a.ogg' } }
  for (let from = 0; from < count; from += 500) {
    await Promise.all(
      made.slice(from, from + 500).map(async ({ name, ulid, to }) => {
        const id = { lane, ulid }
        const message = { to, type: 'audio' as const, text: 'x', class: 'transactional' as const, validUntil: until }
        const times = { lostAfterMs: HOUR_MS, evidenceWaitMs: 0, retentionMs }
        const payload = { v: 1, to, class: 'transactional', content, until }
        await withPayloadOf(deps.redis, name, payload, async () => {
          await claim(deps.redis, id, 'AAAAAA', { ...message, campaign: undefined, run }, times)
          await recordStatus(deps.redis, id, 'AAAAAA', 'failed', { problem: { ...problem, code } })
        })
      }),
    )
  }
  return made
}
