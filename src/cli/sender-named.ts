// The sender, or its lane, that somebody names at the command line, where all accounts are at hand.

import { findSender, listSenders, type Sender } from '../accounts/store/senders.ts'
import { notASender, sendersNamed } from '../messages/accept/named-senders.ts'
import { quoted } from '../messages/fault.ts'
import type { Redis } from '../redis/connect.ts'
import { CliFailure } from './failure.ts'

/** The one sender that is named so by number, name or id; a CliFailure when none or several are. */
export async function senderNamed(redis: Redis, name: string): Promise<Sender> {
  const [sender, ...more] = sendersNamed(await listSenders(redis), name)
  if (sender === undefined) throw noSender(name)
  if (more.length === 0) return sender
  const ids = [sender, ...more].map(({ id }) => id).join(', ')
  throw new CliFailure(`Several senders are called ${quoted(name)}: ${ids}; name one by its number or its id.`)
}

/** The same, or a removed one by its id: of what a removal left undone the rest is done by another one. */
export async function keptSenderNamed(redis: Redis, name: string): Promise<Sender> {
  const removed = /^\d{1,15}$/.test(name) ? await findSender(redis, Number(name)) : undefined
  return removed?.removed_at === undefined ? senderNamed(redis, name) : removed
}

/** What is said when no sender is named so. */
export const noSender = (name: string): CliFailure => new CliFailure(`${notASender(name)}, see \`senders list\`.`)
