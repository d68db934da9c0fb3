// Tells whoever listens that a sender can send nothing any more, and that it can again.
import type { Redis } from '../redis/connect.ts'
import { outboxKey, senderBlockedKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'

const noticeScript = defineScript(import.meta.url, 'sender-notice')

/** The chat product refuses everything of the sender, and its lane is paused. Told once until it has recovered. */
export async function tellBlocked(redis: Redis, lane: number, reason: string): Promise<void> {
  await tell(redis, lane, true, reason)
}

/** Somebody let the lane of a sender go on that was blocked; of any other, nothing is told. */
export async function tellRecovered(redis: Redis, lane: number): Promise<void> {
  await tell(redis, lane, false, '')
}

async function tell(redis: Redis, lane: number, isBlocked: boolean, reason: string): Promise<void> {
  await noticeScript(redis, { outbox: outboxKey(lane), blocked: senderBlockedKey(lane) }, { isBlocked, reason })
}
