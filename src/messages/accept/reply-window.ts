// The 24 hours after a person has written: outside of them WhatsApp takes only templates.
import { Refusal } from '../../kernel/refusal.ts'
import { replyWindowOf } from '../../lanes/messages/inbound.ts'
import { namesOf } from '../../people/names/names.ts'
import type { Redis } from '../../redis/connect.ts'

/** The warning, and the code of the refusal. */
export const OUTSIDE_WINDOW = 'outside_window'

/** Whether the person, under any of their names, has not written to the sender within 24 hours before `atMs`. */
export async function isOutsideWindow(
  redis: Redis,
  { account, lane, to }: { account: number; lane: number; to: string },
  atMs: number,
): Promise<boolean> {
  const endsAt = await replyWindowOf(redis, lane, await namesOf(redis, account, to))
  return (endsAt ?? 0) < atMs
}

/** Refuses a message to such a person. */
export const outsideWindow = (): Refusal =>
  new Refusal(
    'in_the_way',
    OUTSIDE_WINDOW,
    'The person has not written within 24 hours before it would leave, and can be sent only templates.',
    [{ path: 'to', message: 'has not written within 24 hours' }],
  )
