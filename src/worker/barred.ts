// Why a message must not be sent, asked right before it is claimed and again if it leaves later than the answer is good for.
import { type Deadline, deadlineIn } from '../deadline.ts'
import { acceptedAtMs, type MessageId } from '../messages/message-id.ts'
import { optedOut, type Problem, personErased } from '../messages/outcome.ts'
import type { NewMessage } from '../messages/store/record-format.ts'
import { LOOK_GOOD_FOR_MS } from '../opt-outs/store/hold.ts'
import { optedOutAmong } from '../opt-outs/store/opt-outs.ts'
import type { Tombstones } from '../people/tombstones.ts'
import type { Redis } from '../redis/connect.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/** Whom a message is to, and what of it decides whom to ask. */
type Asked = Pick<NewMessage, 'to' | 'class' | 'run'>

/** Whether its opt-out or its erasure keeps the message from its recipient. Of what they may always get nobody is asked. */
const isAsked = ({ stopsTransactional }: DirectoryEntry, { class: of, run }: Asked): boolean =>
  of === 'campaign' || stopsTransactional || run !== undefined

/** Until when a message may leave that is asked for from now on and found to be wanted. */
export const wantedUntilOf = (entry: DirectoryEntry, message: Asked): Deadline =>
  deadlineIn(isAsked(entry, message) ? LOOK_GOOD_FOR_MS : Number.POSITIVE_INFINITY)

/** Why it must not be sent: its recipient wants no such message, or was erased since the message's campaign began. */
export async function barredFor(
  { redis, tombstones }: { redis: Redis; tombstones: Tombstones },
  { sender: { account }, stopsTransactional }: DirectoryEntry,
  { ulid }: MessageId,
  { to, class: of, run }: Asked,
): Promise<Problem | undefined> {
  const isErased = async (sinceMs: number): Promise<boolean> =>
    (await tombstones.isAny(account, sinceMs)) && (await tombstones.erasedOf(account, [to], sinceMs)).has(to)
  const [erased, wantsNone] = await Promise.all([
    run !== undefined && isErased(acceptedAtMs(ulid)),
    (of === 'campaign' || stopsTransactional) && optedOutAmong(redis, account, [to]).then(({ size }) => size > 0),
  ])
  return erased ? personErased : wantsNone ? optedOut : undefined
}
