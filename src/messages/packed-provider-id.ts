// The chat product's id of a message in a third of the room, or little more: `wamid.` and base64 of marker bytes, the digits of the
// recipient and an id in hex (shape: 1C 18 <digits> 15 02 00 11 18 <hex> 00, lengths before both) are 62 characters for 40
// bits of number and 72 of id. Whatever has another shape is kept as it is.
//
// What is stored is text of seven bits a character, so that all that reads records reads text. Its first character is below a space, as that
// of no id is, and says in how many characters the number follows; the rest is the hex.

const HEAD = 'wamid.'
const BEFORE_NUMBER = [0x1c, 0x18]
/** Of a message that a business sends; people's own begin otherwise, and are not stored. */
const BEFORE_HEX = [0x15, 0x02, 0x00, 0x11, 0x18]
/** So many digits are a safe integer. */
const MOST_DIGITS = 15
const MOST_HEX = 64
/** Seven digits of hex are four characters of seven bits. */
const GROUP = { hex: 7, characters: 4 }
/** Stands before what could be taken for a packed id. */
const AS_IT_IS = '\0'
const PRINTABLE = 0x20

const HEX = /^[0-9A-F]+$/
const NUMBER = /^[1-9]\d*$/

/** An id as it is stored. */
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
  scratch[0] = count
  let at = write(Number(number), 1, count)
  for (let from = 0; from < length; from += GROUP.hex) {
    const group = hex.slice(from, from + GROUP.hex)
    at = write(Number.parseInt(group, 16), at, charactersFor(group.length))
  }
  return scratch.toString('latin1', 0, at)
}

function stands(marker: readonly number[], bytes: Buffer, at: number): boolean {
  for (let i = 0; i < marker.length; i += 1) if (bytes[at + i] !== marker[i]) return false
  return true
}

/** Where a packed id is put together: the number's length, at most eight characters of it, and the hex. */
const scratch = Buffer.alloc(64)

/** Writes a value as so many characters of seven bits at `at`; returns where they end. */
function write(value: number, at: number, count: number): number {
  let rest = value
  for (let i = at + count - 1; i >= at; i -= 1) {
    scratch[i] = rest % 128
    rest = Math.floor(rest / 128)
  }
  return at + count
}

/** Characters that so many digits of hex take. */
const charactersFor = (hex: number): number =>
  Math.floor(hex / GROUP.hex) * GROUP.characters + Math.ceil(((hex % GROUP.hex) * 4) / 7)

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
  for (let at = 0; at < characters.length; at += GROUP.characters) {
    const count = Math.min(GROUP.hex, left)
    hex += numberOf(characters.slice(at, at + GROUP.characters))
      .toString(16)
      .toUpperCase()
      .padStart(count, '0')
    left -= count
  }
  return hex
}
