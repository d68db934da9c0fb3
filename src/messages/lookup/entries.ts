// Entries of the message index over all lanes, newest first. Each source is a segment of the index or a short list. A source is
// read only when its upper bound is next.
/** A message as the index has it. `key` is its packed id, a character per byte, which sorts like the ids. */
export interface Entry {
  lane: number
  key: string
}

/** A place between entries: what stands before it has been looked at. */
export type Place = Entry

/** What entries are read from, a piece at a time. */
export interface Source {
  /** No entry that is still to be read has a greater key; undefined once all are read. */
  bound: string | undefined
  /** The next piece, in any order. Sets `bound` anew. */
  read: () => Promise<Entry[]>
}

/** The greatest key of a time (epoch ms). */
export function lastKeyOf(ms: number): string {
  const bytes = Buffer.alloc(16, 0xff)
  bytes.writeUIntBE(Math.max(0, Math.min(Math.floor(ms), 2 ** 48 - 1)), 0, 6)
  return bytes.toString('latin1')
}

/** Newest first; lanes only tell apart what has one id. */
export function compareEntries(a: Entry, b: Entry): number {
  if (a.key !== b.key) return a.key < b.key ? 1 : -1
  return b.lane - a.lane
}

/**
 * Entries of all sources in order, each once, in pieces; a piece may be empty. `place`: whatever is not after it was in a
 * piece. Sources are read one, two, four at a time and so on, up to `atOnce`: most who ask want the newest only.
 */
export async function* inOrder(
  sources: readonly Source[],
  atOnce: number,
): AsyncGenerator<{ entries: Entry[]; place: Place | undefined }> {
  const unread = [...sources]
  let known: Entry[] = []
  let last: Entry | undefined
  for (let most = 1; ; most = Math.min(2 * most, atOnce)) {
    unread.sort((a, b) => ((a.bound ?? '') < (b.bound ?? '') ? 1 : -1))
    const next = unread.slice(0, most)
    for (const piece of await Promise.all(next.map((source) => source.read()))) known = known.concat(piece)
    for (let i = unread.length - 1; i >= 0; i -= 1) if (unread[i]?.bound === undefined) unread.splice(i, 1)
    const line = unread.reduce((most, { bound = '' }) => (bound > most ? bound : most), '')
    const ready = known.filter(({ key }) => key > line).sort(compareEntries)
    known = known.filter(({ key }) => key <= line)
    const entries = ready.filter((entry, i) => compareEntries(ready[i - 1] ?? last ?? NONE, entry) !== 0)
    last = entries.at(-1) ?? last
    if (unread.length === 0) {
      yield { entries, place: undefined }
      return
    }
    yield { entries, place: { lane: Number.MAX_SAFE_INTEGER, key: line } }
  }
}

const NONE: Entry = { lane: 0, key: '' }

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
