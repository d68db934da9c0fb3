// Where a page of messages ended, as clients carry it: nothing that they could read or should make.
import type { Place } from './entries.ts'

const LENGTHS = [16, 27]
const HEAD = 12

/** The cursor of a place, for the account that asked. */
export function writeCursor(account: number, { lane, key }: Place): string {
  const head = Buffer.alloc(HEAD)
  head.writeUIntBE(account, 0, 6)
  head.writeUIntBE(Math.min(lane, 2 ** 48 - 1), 6, 6)
  return Buffer.concat([head, Buffer.from(key, 'latin1')]).toString('base64url')
}

/** The place of a cursor; undefined for any other text, and for a cursor of another account. */
export function readCursor(account: number, text: string): Place | undefined {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.toString('base64url') !== text || !LENGTHS.includes(bytes.length - HEAD)) return undefined
  if (bytes.readUIntBE(0, 6) !== account) return undefined
  return { lane: bytes.readUIntBE(6, 6), key: bytes.subarray(HEAD).toString('latin1') }
}
