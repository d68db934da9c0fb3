// Where somebody who pulls events has come to: of each outbox the last event seen. A cursor is opaque to clients, and
// short, because an account may have hundreds of lanes: 8 to 12 bytes each. Pure.

/** The place after which the next event of an outbox is looked for: an entry, and how many of its lines were seen. */
export interface Place {
  entry: string
  lines: number
}
export type Places = ReadonlyMap<number, Place>

const VERSION = 1
const ENTRY = /^(\d{1,15})-(\d{1,10})$/

/** The cursor of these places, base64url. */
export function writePlaces(places: Places): string {
  const bytes: number[] = [VERSION]
  for (const [source, { entry, lines }] of [...places].sort(([a], [b]) => a - b)) {
    const [, ms = '0', seq = '0'] = ENTRY.exec(entry) ?? []
    for (const number of [source, Number(ms), Number(seq), lines]) pushNumber(bytes, number)
  }
  return Buffer.from(bytes).toString('base64url')
}

/** The places of a cursor; undefined for what is none. */
export function readPlaces(text: string): Places | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  if (bytes[0] !== VERSION) return undefined
  const numbers: number[] = []
  let number = 0
  let unit = 1
  for (const byte of bytes.subarray(1)) {
    number += (byte & 127) * unit
    // Zeros without an end add nothing, until the unit is infinite and the number none.
    if (number > Number.MAX_SAFE_INTEGER || unit > Number.MAX_SAFE_INTEGER) return undefined
    if (byte < 128) {
      numbers.push(number)
      number = 0
      unit = 1
    } else unit *= 128
  }
  if (unit !== 1 || numbers.length % 4 !== 0) return undefined
  const places = new Map<number, Place>()
  for (let i = 0; i < numbers.length; i += 4) {
    const [source = 0, ms = 0, seq = 0, lines = 0] = numbers.slice(i, i + 4)
    places.set(source, { entry: `${ms}-${seq}`, lines })
  }
  return places
}

/** Seven bits a byte, the low ones first; the highest bit says that more follow. */
function pushNumber(bytes: number[], number: number): void {
  let rest = number
  while (rest >= 128) {
    bytes.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
}
