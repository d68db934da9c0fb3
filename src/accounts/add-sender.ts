// Adds and removes senders. A sender is found through four pointers (number, name, phone number id, default of its account), each a key of
// its own that may be on another node of a cluster. A pointer counts only if its record exists. So the record is written last and in one
// command: dying before that adds nothing, and the next try overwrites the pointers.

import type { SealedFor, TokenContext } from '../kernel/seal.ts'
import type { ProviderName } from '../model/accounts/sender.ts'
import { ENTRY } from '../model/events/outbox-entry.ts'
import type { Redis } from '../redis/connect.ts'
import {
  accountKey,
  laneClosedKey,
  outboxKey,
  phoneNumberIdKey,
  rootKeys,
  senderKey,
  senderNumberKey,
  sendersOfAccountKey,
} from '../redis/keys.ts'
import { withLock } from '../redis/lock.ts'
import { dropRetainedLane, retainLaneUntil } from './retained-lanes.ts'
import {
  accessFields,
  defaultSender,
  findSender,
  newSenderId,
  type Sender,
  senderNamed,
  senderOfPhoneNumberId,
} from './senders.ts'

/**
 * A sender as `addSender` takes it, checked before: `number` in digits with country code, `rate` in messages per
 * second, `sealedToken` from `Seal.encrypt`, sealed to the sender's id and address. An empty `name` or `phoneNumberId` means that it
 * has none.
 */
export interface NewSender {
  /** An id reserved before (newSenderId). */
  id?: number
  account: number
  number: string
  name: string
  provider: ProviderName
  baseUrl: string
  sealedToken: SealedFor<TokenContext>
  phoneNumberId: string
  rate: number
  honoursIdempotency: boolean
  isDefault: boolean
}

/** A value that must be unique belongs to another sender. */
export class SenderTakenError extends Error {
  override name = 'SenderTakenError'
  readonly what: 'number' | 'name' | 'phoneNumberId'
  readonly holder: Sender

  constructor(what: SenderTakenError['what'], holder: Sender) {
    super(`the ${what} belongs to sender ${holder.id} of account ${holder.account}`)
    this.what = what
    this.holder = holder
  }
}

/**
 * Adds a sender and returns its id; the account's first one becomes its default. Throws a SenderTakenError when its
 * number or phone number id belongs to a sender of any account, or its name to another one of the account: the limits
 * of WhatsApp are those of the number, so two lanes for one number would send at twice its pace.
 */
export function addSender(redis: Redis, sender: NewSender): Promise<number> {
  return withLock(redis, rootKeys.sendersLock, async (assertHeld) => {
    const { account, number, name, phoneNumberId } = sender
    await refuseTaken(redis, sender)
    const id = sender.id ?? (await newSenderId(redis))
    await redis.hset(rootKeys.lanes, id, account)
    await redis.hset(sendersOfAccountKey(account), { [number]: id, ...(name === '' ? {} : { [`name:${name}`]: id }) })
    await redis.set(senderNumberKey(number), id)
    if (phoneNumberId !== '') await redis.set(phoneNumberIdKey(phoneNumberId), id)
    await openOutbox(redis, account, id)
    const hasDefault = (await defaultSender(redis, account)) !== undefined
    if (!hasDefault) await redis.hset(accountKey(account), 'default_sender', id)
    // Remains of a removed sender with this id, whose request was repeated.
    await dropRetainedLane(redis, { lane: id, account })
    await redis.del(laneClosedKey(id))
    await redis.del(senderKey(id))
    await assertHeld()
    await redis.hset(senderKey(id), {
      id,
      account,
      number,
      name,
      provider: sender.provider,
      ...accessFields(id, sender),
      phone_number_id: phoneNumberId,
      rate: sender.rate,
      honours_idempotency: sender.honoursIdempotency ? '1' : '0',
    })
    // If the process dies before this, the sender exists and the account keeps its former default.
    if (sender.isDefault && hasDefault) await redis.hset(accountKey(account), 'default_sender', id)
    return id
  })
}

/**
 * Opens the lane's outbox before it can send anything, so that no event is missed. An account that stops listening after
 * the second check closes this outbox too (events/store/outbox.ts); one that stopped before it needs none.
 */
async function openOutbox(redis: Redis, account: number, lane: number): Promise<void> {
  const isListenedTo = async (): Promise<boolean> => (await redis.sismember(rootKeys.eventAccounts, account)) === 1
  if (!(await isListenedTo())) return
  // The entry itself means nothing: it creates the stream.
  await redis.xadd(outboxKey(lane), '*', ENTRY.events, '')
  if (!(await isListenedTo())) await redis.del(outboxKey(lane))
}

async function refuseTaken(redis: Redis, sender: NewSender): Promise<void> {
  const { account, number, name, phoneNumberId } = sender
  const holderId = await redis.get(senderNumberKey(number))
  const byNumber =
    (await senderNamed(redis, account, { digits: number })) ??
    (holderId === null ? undefined : await findSender(redis, Number(holderId)))
  if (byNumber && isThere(byNumber)) throw new SenderTakenError('number', byNumber)
  const byName = name === '' ? undefined : await senderNamed(redis, account, { name })
  if (byName && isThere(byName)) throw new SenderTakenError('name', byName)
  const byId = phoneNumberId === '' ? undefined : await senderOfPhoneNumberId(redis, phoneNumberId)
  if (byId && isThere(byId)) throw new SenderTakenError('phoneNumberId', byId)
}

const isThere = (sender: Sender): boolean => sender.removed_at === undefined

/**
 * Gives a sender another name, or none. Throws a SenderTakenError when another sender of the account has it. Dying in
 * between leaves it with two names or with the old one, and it can be done again.
 */
export function changeSenderName(redis: Redis, { id, account, name: before }: Sender, name: string): Promise<void> {
  return withLock(redis, rootKeys.sendersLock, async (assertHeld) => {
    const holder = name === '' ? undefined : await senderNamed(redis, account, { name })
    if (holder && isThere(holder) && holder.id !== id) throw new SenderTakenError('name', holder)
    await assertHeld()
    if (name !== '') await redis.hset(sendersOfAccountKey(account), `name:${name}`, id)
    await redis.hset(senderKey(id), 'name', name)
    if (before !== '' && before !== name) await redis.hdel(sendersOfAccountKey(account), `name:${before}`)
  })
}

/** Processes cache senders for up to a second, see redis/cached.ts. */
const READ_AGAIN_MS = 1_500

/**
 * Removes a sender and frees its number, name and phone number id. If it is busy, returns why, and leaves it as it was: `whyBusy` checks
 * first, then `close`, which closes its lane once almost no process has the sender cached. Its record stays for `keepMs` at least, and
 * for as long as data of its lane is retained (retained-lanes.ts). With `isKnown` it waits for the caches of other processes. Dying in
 * between leaves a sender that takes no new messages and can be removed again.
 */
export function removeSender(
  redis: Redis,
  sender: Sender,
  keepMs: number,
  {
    whyBusy,
    close,
    isKnown = true,
  }: Record<'whyBusy' | 'close', () => Promise<string | undefined>> & {
    isKnown?: boolean
  },
): Promise<string | undefined> {
  return withLock(redis, rootKeys.sendersLock, async (assertHeld) => {
    const before = await whyBusy()
    if (before !== undefined) return before
    const { id, account, number, name, phone_number_id: phoneNumberId } = sender
    const ofAccount = sendersOfAccountKey(account)
    const fields = [number, ...(name === '' ? [] : [`name:${name}`])]
    const isDefault = (await redis.hget(accountKey(account), 'default_sender')) === String(id)
    if (isDefault) await redis.hdel(accountKey(account), 'default_sender')
    // After an interrupted removal, another sender may have got the name meanwhile.
    for (const field of fields)
      if ((await redis.hget(ofAccount, field)) === String(id)) await redis.hdel(ofAccount, field)
    if (isKnown) await new Promise((resolve) => setTimeout(resolve, READ_AGAIN_MS))
    await assertHeld()
    const since = await close()
    if (since !== undefined) {
      for (const field of fields) await redis.hsetnx(ofAccount, field, id)
      if (isDefault) await redis.hset(accountKey(account), 'default_sender', id)
      return since
    }
    for (const key of [senderNumberKey(number), ...(phoneNumberId === '' ? [] : [phoneNumberIdKey(phoneNumberId)])]) {
      // After an interrupted removal, another sender may have got the number or the id meanwhile.
      if ((await redis.get(key)) === String(id)) await redis.del(key)
    }
    const nowMs = Date.now()
    await retainLaneUntil(redis, { lane: id, account }, nowMs + keepMs)
    await redis.hdel(rootKeys.lanes, String(id))
    await redis.hset(senderKey(id), 'removed_at', nowMs)
    return undefined
  })
}
