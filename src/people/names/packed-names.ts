// Packs names of people into few bytes: an account may have millions. A number and the usual kind of user id, two letters and digits, are
// packed as one binary number whose last bits give the kind; anything else as text.

/** The last bits of each kind, and how many. None is the end of another. */
const KINDS = {
  number: { bits: 0b0, of: 1 },
  id: { bits: 0b01, of: 2 },
  parentId: { bits: 0b011, of: 3 },
  text: { bits: 0b0111, of: 4 },
  list: { bits: 0b1111, of: 4 },
} as const
type Kind = keyof typeof KINDS
const LETTERS = 26n

/** Digits that say as a number all that they say as a text. */
const DIGITS = '[1-9][0-9]{0,29}'
const NUMBER = new RegExp(`^${DIGITS}$`)
const ID = new RegExp(`^([A-Z])([A-Z])\\.(ENT\\.)?(${DIGITS})$`)

/** The names in their order, as bytes; of none, none. A name has up to 255 bytes. */
export function packNames(names: readonly string[]): Buffer {
  const packed = names.map(packName)
  const [first = Buffer.alloc(0)] = packed
  if (packed.length <= 1) return first
  return Buffer.concat([...packed.flatMap((each) => [Buffer.of(each.length), each]), Buffer.of(KINDS.list.bits)])
}

/** What `packNames` was given. Bytes that it has not made give other names, or none. */
export function unpackNames(bytes: Buffer): string[] {
  const end = bytes.length - 1
  if (end < 0) return []
  if (kindOf(bytes) !== 'list') return [unpackName(bytes)]
  const names: string[] = []
  for (let at = 0; at < end; at += 1 + (bytes[at] ?? 0)) {
    const name = bytes.subarray(at + 1, at + 1 + (bytes[at] ?? 0))
    if (name.length > 0) names.push(unpackName(name))
  }
  return names
}

function kindOf(bytes: Buffer): Kind {
  const last = bytes.at(-1) ?? 0
  const is = (kind: Kind): boolean => (last & ((1 << KINDS[kind].of) - 1)) === KINDS[kind].bits
  return (['number', 'id', 'parentId', 'text'] as const).find(is) ?? 'list'
}

function packName(name: string): Buffer {
  if (NUMBER.test(name)) return binary(BigInt(name), 'number')
  const [, first, second, parent, digits] = ID.exec(name) ?? []
  if (first === undefined || second === undefined || digits === undefined) {
    return Buffer.concat([Buffer.from(name), Buffer.of(KINDS.text.bits)])
  }
  const country = letter(first) * LETTERS + letter(second)
  return binary(BigInt(digits) * LETTERS * LETTERS + country, parent === undefined ? 'id' : 'parentId')
}

function unpackName(bytes: Buffer): string {
  const kind = kindOf(bytes)
  if (kind === 'text') return bytes.subarray(0, -1).toString()
  const value = BigInt(`0x${bytes.toString('hex')}`) >> BigInt(KINDS[kind].of)
  if (kind === 'number') return String(value)
  const country = value % (LETTERS * LETTERS)
  const letters = character(country / LETTERS) + character(country % LETTERS)
  return `${letters}.${kind === 'parentId' ? 'ENT.' : ''}${value / (LETTERS * LETTERS)}`
}

function binary(value: bigint, kind: Kind): Buffer {
  const { bits, of } = KINDS[kind]
  const hex = ((value << BigInt(of)) | BigInt(bits)).toString(16)
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex')
}

const letter = (character: string): bigint => BigInt(character.charCodeAt(0) - 65)
const character = (letter: bigint): string => String.fromCharCode(Number(letter) + 65)
