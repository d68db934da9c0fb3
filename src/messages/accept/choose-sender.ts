// Which sender a message leaves from: the one that the request names, by number in any spelling or by name, or the default one.

import { cachedDefaultSender, cachedSender, cachedSenderNamed, type Sender } from '../../accounts/senders.ts'
import type { Fault } from '../../kernel/fault.ts'
import { invalidFields, Refusal } from '../../kernel/refusal.ts'
import { LaneClosedError } from '../../lanes/closed-lanes.ts'
import { NOT_A_SENDER } from '../../model/accounts/sender.ts'
import type { Redis } from '../../redis/connect.ts'

/**
 * The sender of the account that is named so, by number in any spelling or by name, and the default one where none is
 * named; or a Refusal.
 */
export async function senderOf(redis: Redis, account: number, named: string | undefined): Promise<Sender> {
  const sender = await senderFor(redis, { account }, { sender: named })
  assertSound(sender, senderFaults(sender), { sender: named })
  return sender
}

/** The sender that a message leaves from: that of the lane, the one that is named, or the default one. */
export async function senderFor(
  redis: Redis,
  { account, lane }: { account: number; lane?: number | undefined },
  { sender: named }: Named,
): Promise<Sender | undefined> {
  if (lane !== undefined) {
    const sender = await cachedSender(redis, lane)
    return sender?.account === account && sender.removed_at === undefined ? sender : undefined
  }
  return named === undefined ? cachedDefaultSender(redis, account) : cachedSenderNamed(redis, account, named)
}

/** The sender as a request names it. */
interface Named {
  sender?: string | undefined
}

/** Throws a Refusal with all the faults; one of a sender that the account does not have has a code of its own. */
export function assertSound(
  sender: Sender | undefined,
  faults: readonly Fault[],
  { sender: named }: Named,
): asserts sender is Sender {
  if (sender === undefined && faults.length === 1) {
    throw unknownSender(named === undefined ? NO_DEFAULT_SENDER : NO_SUCH_SENDER)
  }
  if (faults.length > 0) throw invalidFields(faults)
}

const NO_SUCH_SENDER = 'sender: the account has no sender of this number or name.'
const NO_DEFAULT_SENDER =
  'The account has no default sender: name one in the field sender, or give it one with `senders add` or `senders change`.'

/** The fault of a request that names no sender of the account; none when there is a sender. */
export const senderFaults = (sender: Sender | undefined): Fault[] =>
  sender === undefined ? [{ path: 'sender', message: NOT_A_SENDER }] : []

/** The refusal of a message whose sender was removed while it was judged; any other error is thrown as it is. */
export function refuseClosedLane(error: unknown): never {
  throw error instanceof LaneClosedError ? senderIsGone() : error
}

/** The refusal of a message whose sender was removed. */
export const senderIsGone = (): Refusal => unknownSender(NO_SUCH_SENDER)

const unknownSender = (message: string): Refusal =>
  new Refusal('invalid', 'unknown_sender', message, senderFaults(undefined))
