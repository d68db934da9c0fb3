// Ids of messages, as they are shown and as they are packed: ours, `msg_<lane>_<ULID>`, and the chat product's. Ours names
// its lane, so that a message is found without an index, and tells when it was accepted; ids of one lane sort by that time,
// which keeps the order of campaign messages that are put back.
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

const VALUES = new Uint8Array(128)
for (let i = 0; i < ALPHABET.length; i += 1) VALUES[ALPHABET.charCodeAt(i)] = i

/** Bytes of a packed ULID, the first six of which are the time. */
export const ID_BYTES = 16
/** Bytes of the mark of a person. */
export const MARK_BYTES = 4
const TIME_BYTES = 6
/** Characters that make five bytes. */
const BITS_GROUP = 8

/** Writes the ULID as 16 bytes at `at`. They sort like the ids: by the time of acceptance, then by the rest. */
export function packUlid(ulid: string, bytes: Buffer, at: number): void {
  // 26 characters are 130 bits, of which the first two are always 0.
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

/** The place in its list that the id of a campaign's message was made from: the 25 bits that follow the time. */
export const placeIn = (bytes: Buffer): number => bytes.readUIntBE(TIME_BYTES, 3) * 2 + ((bytes[9] ?? 0) >> 7)

/** Writes the time and the place that the id of a campaign's message begins with. */
export function packPlace(startedAtMs: number, place: number, bytes: Buffer, at: number): void {
  packTime(startedAtMs, bytes, at)
  bytes.writeUIntBE(Math.floor(place / 2), at + TIME_BYTES, 3)
}

/** Stands for a person in the index: FNV-1a of the digits. One in four billion others has the same. */
export function markOf(person: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < person.length; i += 1) hash = Math.imul(hash ^ person.charCodeAt(i), 0x01000193)
  return hash >>> 0
}

const HEAD = 'wamid.'
const BEFORE_NUMBER = [0x1c, 0x18]
/** Of a message that a business sends; people's own begin otherwise, and are not stored. */
const BEFORE_HEX = [0x15, 0x02, 0x00, 0x11, 0x18]
/** So many digits are a safe integer. */
const MOST_DIGITS = 15
const MOST_HEX = 64
/** Seven digits of hex are four characters of seven bits. */
const HEX_GROUP = { hex: 7, characters: 4 }
/** Stands before what could be taken for a packed id. */
const AS_IT_IS = '\0'
const PRINTABLE = 0x20

const HEX = /^[0-9A-F]+$/
const NUMBER = /^[1-9]\d*$/

/**
 * The chat product's id of a message as it is stored, in a third of the room, or little more: `wamid.` and base64 of marker
 * bytes, the digits of the recipient and an id in hex (shape: 1C 18 <digits> 15 02 00 11 18 <hex> 00, lengths before both)
 * are 62 characters for 40 bits of number and 72 of id. Whatever has another shape is kept as it is.
 *
 * What is stored is text of seven bits a character, so that all that reads records reads text. Its first character is below
 * a space, as that of no id is, and says in how many characters the number follows; the rest is the hex.
 */
export function packProviderId(id: string): string {
  return packed(id) ?? (id.charCodeAt(0) < PRINTABLE ? AS_IT_IS + id : id)
}

/** The id that is stored so. */
export function unpackProviderId(stored: string): string {
  const first = stored.charCodeAt(0)
  if (!(first < PRINTABLE)) return stored
  if (first === 0) return stored.slice(1)
  const number = String(numberOf(stored.slice(1, 1 + first)))
  const hex = hexOf(stored.slice(1 + first))
  const bytes = Buffer.concat([
    Buffer.from([...BEFORE_NUMBER, number.length]),
    Buffer.from(number, 'latin1'),
    Buffer.from([...BEFORE_HEX, hex.length]),
    Buffer.from(`${hex}\0`, 'latin1'),
  ])
  return HEAD + bytes.toString('base64')
}

function packed(id: string): string | undefined {
  if (!id.startsWith(HEAD)) return undefined
  const base64 = id.slice(HEAD.length)
  const bytes = Buffer.from(base64, 'base64')
  const digits = bytes[BEFORE_NUMBER.length] ?? 0
  const numberAt = BEFORE_NUMBER.length + 1
  const hexAt = numberAt + digits + BEFORE_HEX.length + 1
  const length = bytes[hexAt - 1] ?? 0
  const isShape =
    bytes.length === hexAt + length + 1 &&
    bytes[bytes.length - 1] === 0 &&
    stands(BEFORE_NUMBER, bytes, 0) &&
    stands(BEFORE_HEX, bytes, numberAt + digits)
  if (!isShape || digits > MOST_DIGITS || length > MOST_HEX || length % 2 === 1) return undefined
  const number = bytes.toString('latin1', numberAt, numberAt + digits)
  const hex = bytes.toString('latin1', hexAt, hexAt + length)
  // Base64 can be written in several ways, and the very id must come out again.
  if (!NUMBER.test(number) || !HEX.test(hex) || bytes.toString('base64') !== base64) return undefined
  let count = 1
  while (128 ** count <= Number(number)) count += 1
  packing[0] = count
  let at = write(Number(number), 1, count)
  for (let from = 0; from < length; from += HEX_GROUP.hex) {
    const group = hex.slice(from, from + HEX_GROUP.hex)
    at = write(Number.parseInt(group, 16), at, charactersFor(group.length))
  }
  return packing.toString('latin1', 0, at)
}

function stands(marker: readonly number[], bytes: Buffer, at: number): boolean {
  for (let i = 0; i < marker.length; i += 1) if (bytes[at + i] !== marker[i]) return false
  return true
}

/** Where a packed id is put together: the number's length, at most eight characters of it, and the hex. */
const packing = Buffer.alloc(64)

/** Writes a value as so many characters of seven bits at `at`; returns where they end. */
function write(value: number, at: number, count: number): number {
  let rest = value
  for (let i = at + count - 1; i >= at; i -= 1) {
    packing[i] = rest % 128
    rest = Math.floor(rest / 128)
  }
  return at + count
}

/** Characters that so many digits of hex take. */
const charactersFor = (hex: number): number =>
  Math.floor(hex / HEX_GROUP.hex) * HEX_GROUP.characters + Math.ceil(((hex % HEX_GROUP.hex) * 4) / 7)

/** The even number of digits of hex that take so many characters: no two take as many. */
const HEX_IN = new Map(Array.from({ length: MOST_HEX / 2 }, (_, i) => [charactersFor(2 * i + 2), 2 * i + 2]))

function numberOf(characters: string): number {
  let value = 0
  for (let i = 0; i < characters.length; i += 1) value = value * 128 + characters.charCodeAt(i)
  return value
}

function hexOf(characters: string): string {
  let left = HEX_IN.get(characters.length) ?? 0
  let hex = ''
  for (let at = 0; at < characters.length; at += HEX_GROUP.characters) {
    const count = Math.min(HEX_GROUP.hex, left)
    hex += numberOf(characters.slice(at, at + HEX_GROUP.characters))
      .toString(16)
      .toUpperCase()
      .padStart(count, '0')
    left -= count
  }
  return hex
}
