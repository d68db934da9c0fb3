// Senders as people name them: by number in any spelling, else by name, else by id.

import { type Fault, quoted } from '../kernel/fault.ts'
import { parsePhone } from '../kernel/recipient.ts'
import { invalidFields, Refusal } from '../kernel/refusal.ts'
import type { Redis } from '../redis/connect.ts'
import { findSender, listReadableSenders, listSenders, type Sender } from './senders.ts'

/** The senders of this name. Only a name can belong to several senders, of different accounts. */
function sendersNamed(senders: readonly Sender[], name: string): Sender[] {
  const phone = parsePhone(name)
  const byNumber = phone.ok ? senders.filter(({ number }) => number === phone.digits) : []
  if (byNumber.length > 0) return byNumber
  const byName = name === '' ? [] : senders.filter((sender) => sender.name === name)
  return byName.length > 0 ? byName : senders.filter(({ id }) => String(id) === name)
}

/**
 * The one sender of the account, or of all, that is named so; undefined when there is none. `removedToo`: also a removed one by its id,
 * for removing it again finishes what a removal left undone. Throws a Refusal when several are named so.
 */
export async function findNamedSender(
  redis: Redis,
  name: string,
  { account, removedToo = false }: { account?: number | undefined; removedToo?: boolean } = {},
): Promise<Sender | undefined> {
  const byId = /^[1-9]\d{0,14}$/.test(name) ? await findSender(redis, Number(name)) : undefined
  if (byId !== undefined && (removedToo || byId.removed_at === undefined)) {
    return account === undefined || byId.account === account ? byId : undefined
  }
  const [sender, ...more] = sendersNamed(await listReadableSenders(redis, account), name)
  if (more.length === 0) return sender
  const ids = [sender, ...more].map((each) => each?.id).join(', ')
  throw new Refusal(
    'invalid',
    'invalid_request',
    `Several senders are called ${quoted(name)}: ${ids}; name one by its number or its id.`,
  )
}

/** The sentence for a name that no sender of the account, or of any account, has. */
export const notASender = (name: string, account?: number): string =>
  `${quoted(name)} is not a sender${account === undefined ? '' : ' of this account'}; name it by its number, its name or its id`

/** The same as `sendersNamed`, or a Refusal `unknown_sender` when there is none. */
export function existingSenders(senders: readonly Sender[], name: string, account?: number): Sender[] {
  const found = sendersNamed(senders, name)
  if (found.length > 0) return found
  const message = notASender(name, account)
  throw new Refusal('invalid', 'unknown_sender', `sender: ${message}.`, [{ path: 'sender', message }])
}

/** The ids of the account's senders that a list names, each once; or a Refusal with every unknown name. */
export async function senderIds(redis: Redis, account: number, names: readonly string[]): Promise<number[]> {
  if (names.length === 0) return []
  const all = await listSenders(redis, account)
  const faults: Fault[] = []
  const ids = names.flatMap((name, i) => {
    const found = sendersNamed(all, name)
    if (found.length === 0) faults.push({ path: `senders[${i}]`, message: notASender(name, account) })
    return found.map(({ id }) => id)
  })
  if (faults.length > 0) throw invalidFields(faults)
  return [...new Set(ids)]
}
