// Ids of messages, as shown and as packed: ours, `msg_<lane>_<ULID>`, and WhatsApp's. Our id names its lane, so that a
// message is found without an index, and contains the time of acceptance. Ids of one lane sort by that time, which keeps
// the order of campaign messages that are put back.
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

/** Fresh random bytes. Valid until the next call. */
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

/** Buffer for building text: a string that grows by one character is copied each time. */
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

/** A new ULID. `random` gives 16 bytes, and the low five bits of each are used; for derived ids it may be a digest. */
export function newUlid(nowMs: number, random: Uint8Array = drawn(RANDOM_CHARACTERS)): string {
  return headOf(nowMs) + charactersOf(random, RANDOM_CHARACTERS)
}

/** The time written last and the time read last: all messages of a campaign or a batch share one. */
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

/** A new attempt id: six random characters, enough to distinguish the attempts of one message. */
export const newAttemptId = (): string => charactersOf(drawn(ATTEMPT_CHARACTERS), ATTEMPT_CHARACTERS)

const VALUES = new Uint8Array(128)
for (let i = 0; i < ALPHABET.length; i += 1) VALUES[ALPHABET.charCodeAt(i)] = i

/** Bytes of a packed ULID; the first six are the time. */
export const ID_BYTES = 16
/** Bytes of the hash of a person. */
export const PERSON_HASH_BYTES = 4
const TIME_BYTES = 6
/** Characters that make five bytes. */
const BITS_GROUP = 8

/** Writes the ULID as 16 bytes at `at`. They sort like the ids: by the time of acceptance, then by the rest. */
export function packUlid(ulid: string, bytes: Buffer, at: number): void {
  // 26 characters are 130 bits, and the first two are always 0.
  bytes[at] = ((VALUES[ulid.charCodeAt(0)] ?? 0) << 5) | (VALUES[ulid.charCodeAt(1)] ?? 0)
  let to = at + 1
  for (let from = 2; from < 26; from += BITS_GROUP) {
    const high = bitsOf(ulid, from)
    const low = bitsOf(ulid, from + 4)
    // 40 bits in two halves of 20, because numbers shift within 32.
    bytes[to] = high >> 12
    bytes[to + 1] = (high >> 4) & 255
    bytes[to + 2] = ((high & 15) << 4) | (low >> 16)
    bytes[to + 3] = (low >> 8) & 255
    bytes[to + 4] = low & 255
    to += 5
  }
}

/** Four characters as 20 bits. */
const bitsOf = (ulid: string, at: number): number =>
  ((VALUES[ulid.charCodeAt(at)] ?? 0) << 15) |
  ((VALUES[ulid.charCodeAt(at + 1)] ?? 0) << 10) |
  ((VALUES[ulid.charCodeAt(at + 2)] ?? 0) << 5) |
  (VALUES[ulid.charCodeAt(at + 3)] ?? 0)

/** The ULID of 16 bytes. */
export function unpackUlid(bytes: Uint8Array): string {
  const first = bytes[0] ?? 0
  let ulid = (ALPHABET[first >> 5] ?? '') + (ALPHABET[first & 31] ?? '')
  for (let from = 1; from < ID_BYTES; from += 5) {
    const byte = (i: number): number => bytes[from + i] ?? 0
    const high = (byte(0) << 12) | (byte(1) << 4) | (byte(2) >> 4)
    const low = ((byte(2) & 15) << 16) | (byte(3) << 8) | byte(4)
    for (const bits of [high, low]) {
      for (let shift = 15; shift >= 0; shift -= 5) ulid += ALPHABET[(bits >> shift) & 31] ?? ''
    }
  }
  return ulid
}

/** A time (epoch ms) as the first six bytes of a packed id. */
export function packTime(ms: number, bytes: Buffer, at: number): void {
  bytes.writeUIntBE(Math.max(0, Math.min(ms, 2 ** 48 - 1)), at, TIME_BYTES)
}

/** The time (epoch ms) that a packed id begins with. */
export const timeOf = (bytes: Buffer): number => bytes.readUIntBE(0, TIME_BYTES)

/** Writes the first bytes of the id of a campaign's message: its time and its place. */
export function packPlace(startedAtMs: number, place: number, bytes: Buffer, at: number): void {
  packTime(startedAtMs, bytes, at)
  bytes.writeUIntBE(Math.floor(place / 2), at + TIME_BYTES, 3)
}

/** The hash of a person in the index: FNV-1a of the digits. One in four billion others has the same. */
export function personHash(person: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < person.length; i += 1) hash = Math.imul(hash ^ person.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

const WAMID_HEAD = 'wamid.'
/** The usual id of WhatsApp behind `wamid.` and base64: the recipient's digits and an id in hex between marker bytes. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: the marker bytes are control characters
const WAMID = /^\x1c\x18.(\d+)\x15\x02\x00\x11\x18.([0-9A-F]+)\x00$/s
/** Prefix of a shortened id. */
const SHORTENED = '\x01'
/** Prefix of an id that would otherwise look like a shortened one. */
const AS_IT_IS = '\x02'

/**
 * WhatsApp's id of a message as it is stored: of an id in the usual shape only the digits and the hex, which halves
 * its 62 characters. Any other id is stored as it is.
 */
export function shortenProviderId(id: string): string {
  const bytes = Buffer.from(id.slice(WAMID_HEAD.length), 'base64').toString('latin1')
  const [, digits, hex] = WAMID.exec(bytes) ?? []
  const shortened = `${SHORTENED}${digits} ${hex}`
  // Base64 can be written in several ways, and this very id must come out again.
  if (digits !== undefined && restoreProviderId(shortened) === id) return shortened
  return id.startsWith(SHORTENED) || id.startsWith(AS_IT_IS) ? AS_IT_IS + id : id
}

/** The id from its stored form. */
export function restoreProviderId(stored: string): string {
  if (stored.startsWith(AS_IT_IS)) return stored.slice(1)
  if (!stored.startsWith(SHORTENED)) return stored
  const [digits = '', hex = ''] = stored.slice(1).split(' ')
  const [digitsLength, hexLength] = [digits.length, hex.length].map((length) => String.fromCharCode(length))
  const bytes = `\x1c\x18${digitsLength}${digits}\x15\x02\x00\x11\x18${hexLength}${hex}\x00`
  return WAMID_HEAD + Buffer.from(bytes, 'latin1').toString('base64')
}
