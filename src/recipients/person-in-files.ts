// Finds a person in the frozen lists of a campaign, and overwrites their line in place: it keeps its length, with zeros for the number
// and without values.

import { receive } from '../files/drafts.ts'
import { FileMissingError, type FileStore, readPart } from '../files/store.ts'
import { parseListedPhone } from '../kernel/recipient.ts'
import type { CampaignId } from '../model/campaigns/campaign.ts'
import { campaignFolder } from './files.ts'
import { FILES, PLACE_BYTES, STRIDE } from './snapshot.ts'

const NEWLINE = 10

/** A recipient of a frozen list, and the bytes of the file that are theirs. */
export interface FoundRecipient extends Span {
  /** Place in the list, from 0. */
  place: number
  values: string[]
}

/** The place of the person (digits) in a frozen list; undefined when they are not in it, or when there is no such list. */
export async function findInSnapshot(
  files: FileStore,
  id: CampaignId,
  snapshot: string,
  person: string,
): Promise<FoundRecipient | undefined> {
  const folder = `${campaignFolder(id)}${snapshot}/`
  const name = `${folder}${FILES.recipients}`
  const offset = await lineOf(files, name, Buffer.from(`["${person}"`))
  if (offset === undefined) return undefined
  const places = await readPart(files, `${folder}${FILES.places}`)
  let stride = 0
  while ((stride + 1) * PLACE_BYTES < places.length && places.readDoubleLE((stride + 1) * PLACE_BYTES) <= offset) {
    stride += 1
  }
  const from = places.readDoubleLE(stride * PLACE_BYTES)
  const isLast = (stride + 1) * PLACE_BYTES >= places.length
  const to = isLast ? await files.sizeOf(name) : places.readDoubleLE((stride + 1) * PLACE_BYTES)
  const lines = await readPart(files, name, { from, to })
  const at = offset - from
  const end = lines.indexOf(NEWLINE, at)
  const line = lines.subarray(at, end === -1 ? lines.length : end)
  const [, ...values] = JSON.parse(line.toString('utf8')) as string[]
  const place = stride * STRIDE + lines.subarray(0, at).filter((byte) => byte === NEWLINE).length
  return { place, values, offset, length: line.length }
}

/** Where the line begins that begins with these bytes; undefined as well when there is no such file. */
async function lineOf(files: FileStore, name: string, head: Buffer): Promise<number | undefined> {
  // Begins with a line end, so that the first line is one like all others.
  let rest: Buffer = Buffer.from('\n')
  let offset = -1
  const wanted = Buffer.concat([rest, head])
  for await (const piece of await thereOrNothing(files.read(name))) {
    const read = Buffer.concat([rest, piece])
    const at = read.indexOf(wanted)
    if (at !== -1) return offset + at + 1
    // The line may span two pieces.
    rest = read.subarray(Math.max(0, read.length - wanted.length + 1))
    offset += read.length - rest.length
  }
  return undefined
}

/** Overwrites a recipient. The line stays, so that the places of all others stay. */
export async function eraseInSnapshot(
  files: FileStore,
  id: CampaignId,
  snapshot: string,
  person: string,
  { offset, length }: FoundRecipient,
): Promise<void> {
  const head = `["${'0'.repeat(person.length)}"`
  const line = Buffer.from(`${head}${' '.repeat(length - head.length - 1)}]`)
  const name = `${campaignFolder(id)}${snapshot}/${FILES.recipients}`
  await writeOver(files, name, [{ offset, length }], (bytes, _span, from) => void line.copy(bytes, 0, from))
}

/** Overwrites the number among the refused recipients of a preflight. Returns how often. */
export async function eraseAmongRefused(
  files: FileStore,
  id: CampaignId,
  snapshot: string,
  person: string,
): Promise<number> {
  const name = `${campaignFolder(id)}${snapshot}/${FILES.refused}`
  // At most 10,000 lines, see snapshot.ts.
  const text = await readPart(files, name).then((bytes) => bytes.toString('latin1'), missing)
  const found = [...(text ?? '').matchAll(new RegExp(numberPattern(person), 'g'))]
  const spans = found.map(({ 0: typed, index: offset }) => ({ offset, length: typed.length }))
  return writeOver(files, name, spans, (bytes) => void bytes.fill('*'))
}

// Overwrites parts of a campaign's file in place, so that the places and line numbers of everybody else stay. Idempotent, and a process
// may die in the middle: the file is rewritten under another name and replaces the old one in one step.
//
// One at a time: of two concurrent rewrites, the later would bring back whom the earlier erased.

/** Bytes of a file. */
export interface Span {
  offset: number
  length: number
}

/**
 * Writes a file anew, in one step, and returns how many `spans` there were, which are in order; without any it stays as it
 * is. `write` changes the bytes of a span, from its place `from` on: a span may lie in two pieces of the file.
 */
export async function writeOver<S extends Span>(
  files: FileStore,
  name: string,
  spans: Iterable<S> | AsyncIterable<S>,
  write: (bytes: Buffer, span: S, from: number) => void,
): Promise<number> {
  async function* inOrder() {
    yield* spans
  }
  const rest = inOrder()
  let next = await rest.next()
  let count = 0
  async function* changed() {
    let begin = 0
    for await (const read of await files.read(name)) {
      const piece = Buffer.from(read)
      const end = begin + piece.length
      while (!next.done && next.value.offset < end) {
        const { offset, length } = next.value
        const from = Math.max(0, begin - offset)
        write(piece.subarray(offset + from - begin, offset + length - begin), next.value, from)
        // Its other half is in the next piece.
        if (offset + length > end) break
        count += 1
        next = await rest.next()
      }
      yield piece
      begin = end
    }
  }
  if (next.done) return 0
  const draft = await receive(files, changed())
  try {
    await files.take(draft.path, name)
  } finally {
    await draft.discard()
  }
  return count
}

/** A file that was purged, or replaced by another upload, counts as empty. */
export async function thereOrNothing(read: Promise<AsyncIterable<Buffer>>): Promise<AsyncIterable<Buffer>> {
  const found = await read.catch(missing)
  return found ?? nothing()
}

async function* nothing(): AsyncGenerator<Buffer> {}

/** Undefined for a file that is not there; anything else is thrown. */
export function missing(error: unknown): undefined {
  if (error instanceof FileMissingError) return undefined
  throw error
}

// Whether a text names a person. Pure.

/** What people write between the digits of a number. */
const BETWEEN = String.raw`(?:\(0\)|[ ().\-/[\]\u2212\p{Cf}\p{Pd}\p{Z}]){0,8}`

const DIGITS = /^\d+$/
const spaced = (digits: string): string => [...digits].join(BETWEEN)

/**
 * The source of a regular expression for a person anywhere in a text: the digits of a number, as people space them, or an
 * id as it stands.
 */
function numberPattern(person: string): string {
  if (!DIGITS.test(person)) return `(?<!\\w)${person.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&')}(?!\\w)`
  return `(?<!\\d)(?:00${BETWEEN})?${spaced(person)}(?!\\d)`
}

/** What separates the values of a line, whichever program wrote it. */
const VALUES = /[,;|\t\n":{}]/

/** Looks for one person in texts. */
export function createPersonFinder(person: string) {
  // The library takes 4 µs for a number: only cells that end like the wanted one are parsed.
  const end = person.slice(-6)
  const pattern = new RegExp(numberPattern(person), 'u')
  const endPattern = DIGITS.test(person) ? new RegExp(spaced(end), 'u') : pattern
  const digitsOf = (cell: string): string | undefined => {
    const parsed = parseListedPhone(cell.trim())
    return parsed.ok ? parsed.digits : undefined
  }
  const is = (cell: string): boolean => cell.replace(/\D/g, '').endsWith(end) && digitsOf(cell) === person
  return {
    /** Whether the cell is the person's number, in whatever spelling. */
    is,
    /** Whether the text may name the person: a cheap check before the search. */
    mayStandIn: (text: string): boolean => endPattern.test(text),
    /** Whether the text contains the person's number or id. */
    standsIn: (text: string): boolean => endPattern.test(text) && (pattern.test(text) || text.split(VALUES).some(is)),
    /** Whether the cell is somebody's number. */
    isSomebody: (cell: string): boolean => digitsOf(cell) !== undefined,
  }
}
