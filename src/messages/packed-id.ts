// What the index keeps of a message: its ULID in 16 bytes instead of 26 characters, and four bytes that stand for whom it
// went to or came from. Packed ids sort like the ids: by the time of acceptance, then by the rest.

const ALPHABET = '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
const VALUES = new Uint8Array(128)
for (let i = 0; i < ALPHABET.length; i += 1) VALUES[ALPHABET.charCodeAt(i)] = i

/** Bytes of a packed ULID, the first six of which are the time. */
export const ID_BYTES = 16
/** Bytes of the mark of a person. */
export const MARK_BYTES = 4
const TIME_BYTES = 6
/** Characters that make five bytes. */
const GROUP = 8

/** Writes the ULID as 16 bytes at `at`. */
export function packUlid(ulid: string, bytes: Buffer, at: number): void {
  // 26 characters are 130 bits, of which the first two are always 0.
  bytes[at] = ((VALUES[ulid.charCodeAt(0)] ?? 0) << 5) | (VALUES[ulid.charCodeAt(1)] ?? 0)
  let to = at + 1
  for (let from = 2; from < 26; from += GROUP) {
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
