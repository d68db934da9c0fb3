// The 24 hours after a person wrote, in which they can be answered with any kind of message. The key is there for as
// long as the window is open, and its expiry says until when.
import type { Redis } from '../../redis/connect.ts'
import { replyWindowKey } from '../../redis/keys.ts'
import { execOrThrow } from '../../redis/transaction.ts'
import { nameOfPerson, namesOfPerson } from '../sealed.ts'

/** How long a window stays open after the latest message of the person. */
export const WINDOW_MS = 24 * 3_600_000

/** Opens a window at this time (epoch ms), unless a later message keeps it open for longer. */
export async function openReplyWindow(
  redis: Redis,
  lane: number,
  person: string,
  atMs: number,
  nowMs: number,
): Promise<void> {
  // A time in the future cannot be right.
  const until = Math.min(atMs, nowMs) + WINDOW_MS
  if (until <= nowMs) return
  const key = replyWindowKey(lane, nameOfPerson(person))
  // Webhooks come in any order: an earlier message must not shorten it.
  await execOrThrow(redis.multi().set(key, '', 'PXAT', until, 'NX').pexpireat(key, until, 'GT'))
}

/** Until when the person can be answered by this lane (epoch ms); undefined while the window is closed. */
export async function replyWindowOf(redis: Redis, lane: number, person: string): Promise<number | undefined> {
  const all = await Promise.all(namesOfPerson(person).map((name) => redis.pexpiretime(replyWindowKey(lane, name))))
  const until = Math.max(...all)
  return until > 0 ? until : undefined
}
