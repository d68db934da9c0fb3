// Erases the messages of a person on one lane, each in a step of its own. If the process dies, the next run finds those that
// are left.
import { z } from 'zod'
import type { FileStore } from '../files/store.ts'
import type { SendPayload } from '../jobs/send.ts'
import {
  ID_BYTES,
  type MessageId,
  messageId,
  PERSON_HASH_BYTES,
  packPlace,
  timeOf,
  unpackUlid,
} from '../kernel/message-id.ts'
import { namesOfPerson, openTextOr } from '../kernel/sealed.ts'
import { cancelStep } from '../lanes/cancel-message.ts'
import { payloadText, readJob } from '../lanes/jobs.ts'
import { finalizeUnsent } from '../lanes/messages/finalize-unsent.ts'
import { findInboundBy, namesOfWriter } from '../lanes/messages/inbound.ts'
import {
  CAMPAIGN_ID_BYTES,
  placesOfPerson,
  RECEIVED_ID_BYTES,
  readSegment,
  type Segment,
  segmentsFrom,
} from '../lanes/messages/index-segments.ts'
import { defineMessageScript } from '../lanes/messages/message-script.ts'
import { FIELDS } from '../lanes/messages/record-format.ts'
import { resolveUnconfirmed } from '../lanes/messages/steps.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import { LETTERS } from '../model/messages/lifecycle.ts'
import { personErased } from '../model/messages/outcome.ts'
import type { Redis } from '../redis/connect.ts'
import {
  inboundKeyOf,
  indexSegmentKeys,
  messageKey,
  pollKey,
  recipientCooldownKey,
  replyWindowKey,
} from '../redis/keys.ts'

const eraseScript = defineMessageScript(import.meta.url, 'message-erase')

/** What forgetting needs. */
export interface EraseDeps {
  redis: Redis
  queues: LaneQueues
  files: FileStore
  config: { retentionMs: number; validityMs: { campaign: number } }
}

/** Messages that are worked on at once: their commands share round trips. */
const AT_ONCE = 100
/** Who was accepted so lately may be on the way to its lane: the index is written first. */
const UNDER_WAY_MS = 60_000

/**
 * `busy`: it is being sent, and what comes of that is waited for. `before`: it was forgotten already. `other`: it is
 * nobody's, or somebody else's.
 */
type Verdict = 'erased' | 'before' | 'busy' | 'other'

/** What was forgotten on a lane, and how many messages are on their way, which must be looked at again. */
export interface ErasedOnLane {
  messages: number
  received: number
  busy: number
}

/** Forgets all messages of the lane to and from the person; what waits to be sent is cancelled. */
export async function eraseMessages(
  deps: EraseDeps,
  of: { account: number; lane: number; person: string; nowMs: number },
): Promise<ErasedOnLane> {
  const { redis } = deps
  const done: ErasedOnLane = { messages: 0, received: 0, busy: 0 }
  for await (const found of indexedOf(redis, of.lane, of.person)) {
    for (let at = 0; at < found.length; at += AT_ONCE) {
      const some = found.slice(at, at + AT_ONCE)
      const verdicts = await Promise.all(some.map((message) => eraseOne(deps, message, of)))
      for (const [i, { kind }] of some.entries()) {
        if (verdicts[i] === 'busy') done.busy += 1
        if (verdicts[i] === 'erased') done[kind === 'sent' ? 'messages' : 'received'] += 1
      }
      const isForgotten = (message: IndexedMessage, i: number): boolean =>
        verdicts[i] === 'erased' ||
        verdicts[i] === 'before' ||
        (verdicts[i] === 'other' && message.acceptedAtMs < of.nowMs - UNDER_WAY_MS)
      await forgetPlaces(redis, some.filter(isForgotten))
    }
  }
  const names = namesOfPerson(of.person)
  await redis.del(...names.map((name) => recipientCooldownKey(of.lane, name)), ...windowsOf(of.lane, of.person))
  return done
}

const windowsOf = (lane: number, person: string): string[] =>
  namesOfPerson(person).map((name) => replyWindowKey(lane, name))

const eraseOne = (deps: EraseDeps, message: IndexedMessage, of: { account: number; person: string }) =>
  message.kind === 'received'
    ? eraseReceived(deps.redis, message, of)
    : eraseMessage(deps, { lane: message.lane, ulid: message.name }, of.person)

async function eraseReceived(
  redis: Redis,
  { lane, name }: IndexedMessage,
  { account, person }: { account: number; person: string },
): Promise<Verdict> {
  const message = await findInboundBy(redis, account, name)
  if (message?.from !== person) return 'other'
  // Dies in between: the message is still there, and tells the next look what else the person is known by.
  for (const other of namesOfWriter(message)) await redis.del(...windowsOf(lane, other))
  await redis.del(inboundKeyOf(account, name))
  return 'erased'
}

/** Forgets one message, if it is to this person; cancels it first if it waits. */
export async function eraseMessage(deps: EraseDeps, id: MessageId, person: string): Promise<Verdict> {
  const { redis, config } = deps
  const payload = await payloadFor(redis, id, person)
  // A worker that claims it from now on finds that it is cancelled.
  const isEnded = payload !== undefined && (await finalizeUnsent(redis, id, 'erased', payload, config.retentionMs))
  let verdict = await eraseRecord(redis, id, person)
  if (verdict === LETTERS.unconfirmed) {
    // That it may be repeated is over; what still comes in about it is written down.
    const attempt = await redis.hget(messageKey(id.lane, id.ulid), FIELDS.attempt)
    await resolveUnconfirmed(redis, id, attempt ?? '', 'never', 1)
    verdict = await eraseRecord(redis, id, person)
  } else if (verdict === LETTERS.queued) {
    await cancelStep(redis, id, config.retentionMs, personErased)
    verdict = await eraseRecord(redis, id, person)
  }
  if (verdict !== 'erased' && verdict !== 'before' && verdict !== 'other') return 'busy'
  if (payload !== undefined && !(await removeJob(deps, id, person))) return 'busy'
  return isEnded || payload !== undefined ? 'erased' : verdict
}

async function payloadFor(redis: Redis, id: MessageId, person: string): Promise<SendPayload | undefined> {
  const { text } = await readJob(redis, id.lane, messageId(id.lane, id.ulid))
  const payload = payloadText.safeParse(text).data
  return payload?.to === person ? payload : undefined
}

const eraseReply = z.string()

async function eraseRecord(redis: Redis, { lane, ulid }: MessageId, person: string) {
  const keys = { record: messageKey(lane, ulid), polls: pollKey(lane) }
  // A recipient is sealed in another way each time, and never again once it is written.
  const stored = await redis.hget(keys.record, FIELDS.to)
  const recipient = stored !== null && openTextOr(stored, '') === person ? stored : person
  return eraseReply.parse(await eraseScript(redis, keys, { ulid, recipient }))
}

/** False while a worker holds it: it is refused its claim, and the job goes. */
async function removeJob({ redis, queues }: EraseDeps, id: MessageId, person: string) {
  if ((await payloadFor(redis, id, person)) === undefined) return true
  await queues.removeJob(id).catch(() => {})
  return (await payloadFor(redis, id, person)) === undefined
}

// Where a person stands in the index of a lane: the four bytes beside each id tell, or nearly. The message itself has the
// last word, since one person in four billion others has the same four.

/** A message of somebody who may be the person. `name`: its ULID, or of a received one what stands for its id. */
export interface IndexedMessage {
  lane: number
  kind: 'sent' | 'received'
  name: string
  acceptedAtMs: number
  segment: Segment
  place: number
}

/** Segments read in one round trip, each of 16 KB but those of campaigns. */
const SEGMENTS = 32
/** Places of a campaign that are read at a time: 256 KB. */
const PLACES = 65_536
/** Ids that are asked for together. */
const IDS = 500

/** All messages of the lane that may be to or from the person, in pieces. An id may come twice. */
export async function* indexedOf(redis: Redis, lane: number, person: string): AsyncGenerator<IndexedMessage[]> {
  const segments = await segmentsFrom(redis, lane, 0)
  for (let at = 0; at < segments.length; at += SEGMENTS) {
    const some = segments.slice(at, at + SEGMENTS)
    const found = await Promise.all(some.map((segment) => inSegment(redis, segment, person)))
    yield found.flat()
  }
}

async function inSegment(redis: Redis, segment: Segment, person: string): Promise<IndexedMessage[]> {
  const found: IndexedMessage[] = []
  for (let from = 0; ; from += PLACES) {
    const hashes = await readSegment(redis, segment, 'hashes', {
      from: from * PERSON_HASH_BYTES,
      to: (from + PLACES) * PERSON_HASH_BYTES,
    })
    if (hashes === null || hashes.length === 0) return found
    const places = placesOfPerson(hashes, person)
    for (let at = 0; at < places.length; at += IDS) {
      const read = places.slice(at, at + IDS).map((place) => messageAt(redis, segment, from + place))
      found.push(...(await Promise.all(read)).filter((message) => message !== undefined))
    }
    if (hashes.length < PLACES * PERSON_HASH_BYTES) return found
  }
}

async function messageAt(redis: Redis, segment: Segment, place: number): Promise<IndexedMessage | undefined> {
  const { lane, kind } = segment
  const size = kind === 'campaign' ? CAMPAIGN_ID_BYTES : kind === 'sent' ? ID_BYTES : RECEIVED_ID_BYTES
  const id = await readSegment(redis, segment, 'ids', { from: place * size, to: (place + 1) * size })
  if (id === null || id.length < size || id.every((byte) => byte === 0)) return undefined
  if (kind === 'received') {
    const name = id.subarray(6).toString('base64url').slice(0, 27)
    return { lane, kind, name, acceptedAtMs: timeOf(id), segment, place }
  }
  const whole = Buffer.alloc(ID_BYTES)
  if (kind === 'campaign') packPlace(segment.newestMs, place, whole, 0)
  id.copy(whole, ID_BYTES - id.length)
  return { lane, kind: 'sent', name: unpackUlid(whole), acceptedAtMs: timeOf(whole), segment, place }
}

/** The four bytes stand for nobody any more. An index that has ended meanwhile is left as it is. */
async function forgetPlaces(redis: Redis, messages: readonly IndexedMessage[]): Promise<void> {
  const nobody = Buffer.alloc(PERSON_HASH_BYTES)
  await Promise.all(
    messages.map(async ({ lane, segment, place }) => {
      const { hashes: key } = indexSegmentKeys(lane, segment.name)
      // Beyond its end it would make the string grow, without an end of its own.
      if ((await redis.strlen(key)) >= (place + 1) * PERSON_HASH_BYTES)
        await redis.setrange(key, place * PERSON_HASH_BYTES, nobody)
    }),
  )
}
