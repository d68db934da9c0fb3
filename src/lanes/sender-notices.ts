// The two events about the block of a sender: that WhatsApp refuses everything of it, and that this is over.
import { ENTRY } from '../model/events/outbox-entry.ts'
import type { Redis } from '../redis/connect.ts'
import { outboxKey, senderBlockedKey } from '../redis/keys.ts'
import { defineScript } from '../redis/lua.ts'

const noticeScript = defineScript(import.meta.url, 'sender-notice', { names: { ENTRY } })

/**
 * Emits `sender.blocked`, once until the sender has recovered: WhatsApp refuses everything of it. Returns whether it was blocked just
 * now.
 */
export async function emitSenderBlocked(redis: Redis, lane: number, reason: string): Promise<boolean> {
  const keys = { outbox: outboxKey(lane), blocked: senderBlockedKey(lane) }
  return (await noticeScript(redis, keys, { isBlocked: true, reason })) === 1
}

/** Emits `sender.recovered` for a sender that was blocked. */
export async function emitSenderRecovered(redis: Redis, lane: number): Promise<void> {
  const keys = { outbox: outboxKey(lane), blocked: senderBlockedKey(lane) }
  await noticeScript(redis, keys, { isBlocked: false, reason: '' })
}
