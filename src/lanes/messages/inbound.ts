// Received messages by WhatsApp's id, and the 24-hour reply windows that they open.
import { z } from 'zod'
import { nameOfPerson, namesOfPerson, sealText } from '../../kernel/sealed.ts'
import { DAY_MS } from '../../kernel/time-units.ts'
import { ENTRY } from '../../model/events/outbox-entry.ts'
import { receivedPartsSchema } from '../../model/messages/received.ts'
import type { Names } from '../../model/people/person.ts'
import type { Redis } from '../../redis/connect.ts'
import { inboundDigest, inboundKey, inboundKeyOf, outboxKey, replyWindowKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { execOrThrow, jsonText, readRecord, sealedText } from '../../redis/records.ts'
import { assertReplicated } from '../../redis/replication.ts'
import { indexReceived } from '../archive/message-index.ts'

const inboundSchema = z.object({
  /** It has the number in it. */
  id: sealedText,
  /** The lane of the sender that received it. */
  lane: z.coerce.number().int().positive(),
  /** Digits of the person who wrote, or the user id where WhatsApp does not give the number. */
  from: sealedText,
  type: z.string(),
  text: sealedText,
  /** JSON in the hash. */
  parts: sealedText.pipe(jsonText).pipe(receivedPartsSchema).prefault('{}'),
  /** The file of the gallery that its media were fetched into. */
  gallery_file: z.coerce.number().int().positive().optional(),
  /** Epoch ms. */
  received_at: z.coerce.number(),
})
export type InboundMessage = z.infer<typeof inboundSchema>
/** One that is to be stored. */
export type NewInbound = Omit<InboundMessage, 'parts'> & Partial<Pick<InboundMessage, 'parts'>>

/** The field that a script writes. */
const INBOUND = { gallery_file: 'gallery_file' } as const satisfies { [Name in keyof InboundMessage]?: Name }

/** Set once its event was written. */
const NOTIFIED = 'notified'

/**
 * Stores a received message and opens the reply window. Resolves to when it was received (epoch ms), the same each time it comes;
 * undefined once `emitReceived` has completed it, so that repeated webhooks change nothing. Dying before that is harmless: the webhook
 * was not answered, and comes again.
 */
export async function storeInbound(
  redis: Redis,
  account: number,
  message: NewInbound,
  retentionMs: number,
): Promise<number | undefined> {
  const key = inboundKey(account, message.id)
  const [notified, storedAt] = await redis.hmget(key, NOTIFIED, 'received_at')
  if (notified === '1') return undefined
  // First, so that a process that dies in between leaves an id without a message. A repeat is shown once.
  if (storedAt === null) {
    await indexReceived(redis, message, retentionMs)
    const { id, from, text, parts = {} } = message
    const stored = {
      ...message,
      ...{ id: sealText(id), from: sealText(from), text: sealText(text), parts: sealText(JSON.stringify(parts)) },
    }
    await execOrThrow(redis.multi().hset(key, stored).pexpire(key, retentionMs, 'NX'))
  }
  if (opensWindow(message)) {
    const { lane, received_at: at } = message
    for (const person of namesOfWriter(message)) await openReplyWindow(redis, lane, person, at, Date.now())
  }
  return Number(storedAt ?? message.received_at)
}

/** Emits `message.received` of a stored message. Two webhooks at the same moment may both write the event, under one id. */
export async function emitReceived(redis: Redis, account: number, message: NewInbound): Promise<void> {
  const key = inboundKey(account, message.id)
  const event = JSON.stringify({ about: 'received', name: inboundDigest(message.id), at: message.received_at })
  await redis.xadd(outboxKey(message.lane), 'NOMKSTREAM', '*', ENTRY.events, event)
  await redis.hset(key, NOTIFIED, '1')
  await assertReplicated(redis, [key])
}

/** Types that no person writes, or that go to many. */
const OPENS_NOTHING: ReadonlySet<string> = new Set(['system', 'request_welcome', 'revoke'])
/** Whether it opens the reply window of 24 hours. */
export const opensWindow = ({ type, parts }: NewInbound): boolean =>
  !OPENS_NOTHING.has(type) && parts?.group_id === undefined

/** The names of the person who wrote it: a number, a user id, or both. Either may be written to. */
export const namesOfWriter = ({ from, parts }: Pick<NewInbound, 'from' | 'parts'>): string[] =>
  [...new Set([from, parts?.from_user_id ?? ''])].filter((name) => name !== '')

/**
 * A received message of the account by WhatsApp's id; undefined when there is none. Throws a
 * CorruptRecordError.
 */
export const findInbound = (redis: Redis, account: number, id: string): Promise<InboundMessage | undefined> =>
  readInbound(redis, inboundKey(account, id))

/** The same, by the digest of the id in the index. */
export const findInboundBy = (redis: Redis, account: number, digested: string): Promise<InboundMessage | undefined> =>
  readInbound(redis, inboundKeyOf(account, digested))

async function readInbound(redis: Redis, key: string): Promise<InboundMessage | undefined> {
  const raw = await redis.hgetall(key)
  if (Object.keys(raw).length === 0) return undefined
  const message = readRecord(inboundSchema, 'received message', raw)
  const { parts, gallery_file: file } = message
  if (parts.media === undefined || file === undefined) return message
  return { ...message, parts: { ...parts, media: { ...parts.media, gallery: String(file) } } }
}

const fetchedScript = defineScript(import.meta.url, 'inbound-fetched', { names: { INBOUND } })

/**
 * Records that the file of a received message is in the gallery, and emits `message.media_kept`; false when the message has expired.
 * Idempotent, but may write the event twice, under one id.
 */
export async function noteGalleryFile(
  redis: Redis,
  { account, lane, message, file }: { account: number; lane: number; message: string; file: number },
): Promise<boolean> {
  if ((await fetchedScript(redis, { inbound: inboundKeyOf(account, message) }, { file })) !== 1) return false
  const event = JSON.stringify({ about: 'media_kept', name: message, at: Date.now() })
  await redis.xadd(outboxKey(lane), 'NOMKSTREAM', '*', ENTRY.events, event)
  return true
}

/** How long a window stays open after the latest message of the person. */
export const WINDOW_MS = DAY_MS

/** Opens a window at this time (epoch ms), unless a later message keeps it open for longer. */
export async function openReplyWindow(
  redis: Redis,
  lane: number,
  person: string,
  atMs: number,
  nowMs: number,
): Promise<void> {
  // A time in the future is wrong.
  const until = Math.min(atMs, nowMs) + WINDOW_MS
  if (until <= nowMs) return
  const key = replyWindowKey(lane, nameOfPerson(person))
  // Webhooks come in any order: an earlier message must not shorten it.
  await execOrThrow(redis.multi().set(key, '', 'PXAT', until, 'NX').pexpireat(key, until, 'GT'))
}

/** Until when the person with these names can be answered by this lane (epoch ms); undefined while the window is closed. */
export async function replyWindowOf(redis: Redis, lane: number, names: Names): Promise<number | undefined> {
  const all = await Promise.all(
    names.flatMap(namesOfPerson).map((name) => redis.pexpiretime(replyWindowKey(lane, name))),
  )
  const until = Math.max(...all)
  return until > 0 ? until : undefined
}

/** The indexes of those people who, under any of their names, have written to the lane's number within 24 hours. */
export async function openWindowsAmong(
  redis: Redis,
  lane: number,
  people: readonly Names[],
): Promise<ReadonlySet<number>> {
  if (people.length === 0) return new Set()
  const names = people.flatMap((person, i) => person.flatMap(namesOfPerson).map((name) => ({ name, i })))
  const found = await redis.mget(names.map(({ name }) => replyWindowKey(lane, name)))
  return new Set(names.flatMap(({ i }, at) => (typeof found[at] === 'string' ? [i] : [])))
}
