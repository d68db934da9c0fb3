// The cursor of a client that pulls events: the last event seen of each outbox. It is opaque to clients, and
// short, because an account may have hundreds of lanes: 8 to 12 bytes each. Pure.

/** How far one outbox was read: up to an entry, and so many of its lines. */
export interface OutboxCursor {
  entry: string
  lines: number
}
export type Cursor = ReadonlyMap<number, OutboxCursor>

const VERSION = 1
const ENTRY = /^(\d{1,15})-(\d{1,10})$/

/** A cursor as text, base64url. */
export function writeCursor(cursor: Cursor): string {
  const bytes: number[] = [VERSION]
  for (const [source, { entry, lines }] of [...cursor].sort(([a], [b]) => a - b)) {
    const [, ms = '0', seq = '0'] = ENTRY.exec(entry) ?? []
    for (const number of [source, Number(ms), Number(seq), lines]) pushNumber(bytes, number)
  }
  return Buffer.from(bytes).toString('base64url')
}

/** A cursor from its text; undefined for text that is none. */
export function readCursor(text: string): Cursor | undefined {
  if (!/^[\w-]+$/.test(text)) return undefined
  const bytes = Buffer.from(text, 'base64url')
  if (bytes[0] !== VERSION) return undefined
  const numbers: number[] = []
  let number = 0
  let unit = 1
  for (const byte of bytes.subarray(1)) {
    number += (byte & 127) * unit
    // Endless zeros add nothing, until the unit is infinite and the number NaN.
    if (number > Number.MAX_SAFE_INTEGER || unit > Number.MAX_SAFE_INTEGER) return undefined
    if (byte < 128) {
      numbers.push(number)
      number = 0
      unit = 1
    } else unit *= 128
  }
  if (unit !== 1 || numbers.length % 4 !== 0) return undefined
  const cursor = new Map<number, OutboxCursor>()
  for (let i = 0; i < numbers.length; i += 4) {
    const [source = 0, ms = 0, seq = 0, lines = 0] = numbers.slice(i, i + 4)
    cursor.set(source, { entry: `${ms}-${seq}`, lines })
  }
  return cursor
}

/** Seven bits a byte, the low ones first; the highest bit marks that more follow. */
function pushNumber(bytes: number[], number: number): void {
  let rest = number
  while (rest >= 128) {
    bytes.push((rest % 128) | 128)
    rest = Math.floor(rest / 128)
  }
  bytes.push(rest)
}
