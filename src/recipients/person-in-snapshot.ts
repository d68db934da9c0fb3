// Finds a person in the frozen lists of a campaign, and overwrites their line in place: it keeps its length, with zeros for the number
// and without values.

import { type FileStore, readPart } from '../files/store.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { campaignFolder } from './files.ts'
import { missing, type Span, thereOrNothing, writeOver } from './overwrite.ts'
import { numberPattern } from './person-finder.ts'
import { FILES, OFFSET_BYTES, STRIDE } from './snapshot.ts'

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
  const offsets = await readPart(files, `${folder}${FILES.places}`)
  let stride = 0
  while ((stride + 1) * OFFSET_BYTES < offsets.length && offsets.readDoubleLE((stride + 1) * OFFSET_BYTES) <= offset) {
    stride += 1
  }
  const from = offsets.readDoubleLE(stride * OFFSET_BYTES)
  const isLast = (stride + 1) * OFFSET_BYTES >= offsets.length
  const to = isLast ? await files.sizeOf(name) : offsets.readDoubleLE((stride + 1) * OFFSET_BYTES)
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
