// Messages of a lane as they stand in Redis once they were read: in the index, and with records where a test looks.
import { newUlid } from '../../src/kernel/message-id.ts'
import { indexMessages } from '../../src/lanes/archive/message-index.ts'
import { newRecordFields } from '../../src/lanes/messages/record-format.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { addRecord } from './state/messages.ts'

/** Writes `total` messages, every n-th to the person, and returns the ULIDs of those. */
export async function fillLane(
  redis: Redis,
  lane: number,
  { total, every, phone }: { total: number; every: number; phone: string },
): Promise<string[]> {
  const found: string[] = []
  for (let at = 0; at < total; at += 1_000) {
    const until = Date.now() + 3_600_000
    const messages = Array.from({ length: Math.min(1_000, total - at) }, (_, i) => {
      const isTheirs = (at + i) % every === 0
      return { ulid: newUlid(Date.now()), to: isTheirs ? phone : String(491_530_000_000 + at + i), until }
    })
    await indexMessages(redis, lane, messages, 3_600_000)
    const added: Promise<unknown>[] = []
    for (const { ulid, to } of messages) {
      if (to !== phone) continue
      found.push(ulid)
      const fields = { type: 'audio', text: 'Canary', class: 'transactional', validUntil: until } as const
      const record = newRecordFields({ ...fields, to, campaign: undefined, run: undefined })
      added.push(addRecord(redis, { lane, ulid }, 'r', record))
    }
    await Promise.all(added)
  }
  return found
}
