// Message ids: `msg_<lane>_<ULID>`. The id names its lane, so that a message is found without an index, and tells when
// it was accepted; ids of one lane sort by that time, which keeps the order of campaign messages that are put back.
import { randomFillSync } from 'node:crypto'

/** The parts of a message id: the lane that sends it, and a ULID that holds when it was accepted. */
export interface MessageId {
  lane: number
  /** 26 characters of Crockford's base 32: 48 bits of time in ms, 80 random bits. */
  ulid: string
}

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const CODES = Buffer.from(ALPHABET, 'latin1')
const SHAPE = /^msg_([1-9]\d{0,14})_([0-7][0-9A-HJKMNP-TV-Z]{25})$/
/** Random bytes are drawn in bulk: asking the system takes 5 µs, however few are wanted. */
const pool = new Uint8Array(4_096)
let drawnSoFar = pool.length

/** Random bytes that nobody else gets. Good until the next call. */
function drawn(count: number): Uint8Array {
  if (drawnSoFar + count > pool.length) {
    randomFillSync(pool)
    drawnSoFar = 0
  }
  drawnSoFar += count
  return pool.subarray(drawnSoFar - count, drawnSoFar)
}

const TIME_CHARACTERS = 10
const RANDOM_CHARACTERS = 16
const ATTEMPT_CHARACTERS = 6

/** Where characters are put together: text that grows by one at a time is copied at each. */
const scratch = Buffer.alloc(RANDOM_CHARACTERS)

/** A character for the low five bits of each of these bytes, at most RANDOM_CHARACTERS of them. */
function charactersOf(bytes: Uint8Array, count: number): string {
  for (let i = 0; i < count; i += 1) scratch[i] = CODES[(bytes[i] ?? 0) & 31] ?? 0
  return scratch.toString('latin1', 0, count)
}

/** The id as users see it, `msg_<lane>_<ULID>`. */
export const messageId = (lane: number, ulid: string): string => `msg_${lane}_${ulid}`

/** The parts of a message id, or undefined for any other string. */
export function parseMessageId(text: string): MessageId | undefined {
  const match = SHAPE.exec(text)
  return match?.[1] && match[2] ? { lane: Number(match[1]), ulid: match[2] } : undefined
}

/** A new ULID. `random` gives 16 bytes, of which the low five bits each are used; for derived ids it may be a digest. */
export function newUlid(nowMs: number, random: Uint8Array = drawn(RANDOM_CHARACTERS)): string {
  return headOf(nowMs) + charactersOf(random, RANDOM_CHARACTERS)
}

/** The time that was written last, and the one that was read last: messages of a campaign or a batch all have the same. */
let written = { ms: -1, head: '' }
let read = written

/** A time as the first ten characters of a ULID. */
function headOf(ms: number): string {
  if (ms === written.ms) return written.head
  let time = ms
  let head = ''
  for (let i = 0; i < TIME_CHARACTERS; i += 1) {
    head = (ALPHABET[time % 32] ?? '') + head
    time = Math.floor(time / 32)
  }
  written = { ms, head }
  return head
}

/** Most messages whose ids can be derived from one ULID: what its last two characters can count. */
export const MAX_DERIVED = 32 ** 2

/** The ULID of the `index`-th message of a batch: the batch's own with the index in its last two characters. */
export function derivedUlid(ulid: string, index: number): string {
  if (index < 0 || index >= MAX_DERIVED)
    throw new RangeError(`an index is 0 to ${MAX_DERIVED - 1}, this one is ${index}`)
  return ulid.slice(0, -2) + (ALPHABET[index >> 5] ?? '') + (ALPHABET[index & 31] ?? '')
}

/** When the message was accepted, epoch ms. */
export function acceptedAtMs(ulid: string): number {
  const head = ulid.slice(0, TIME_CHARACTERS)
  if (head === read.head) return read.ms
  let ms = 0
  for (const character of head) ms = ms * 32 + ALPHABET.indexOf(character)
  read = { ms, head }
  return ms
}

/** A new attempt id: six random characters, enough to tell the attempts of one message apart. */
export const newAttemptId = (): string => charactersOf(drawn(ATTEMPT_CHARACTERS), ATTEMPT_CHARACTERS)
