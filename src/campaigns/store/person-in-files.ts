// A person in the frozen lists of a campaign: finding them, and writing over them where they stand. The line stays, with
// zeros for a number and without values, see write-over.ts.
import { type FileStore, readPart } from '../../files/store.ts'
import type { CampaignId } from '../campaign-id.ts'
import { numberPattern } from '../named-person.ts'
import { campaignFolder } from './files.ts'
import { FILES, PLACE_BYTES, STRIDE } from './snapshot.ts'
import { missing, type Span, thereOrNothing, writeOver } from './write-over.ts'

const NEWLINE = 10

/** A recipient of a frozen list, and the bytes of the file that are theirs. */
export interface FoundRecipient extends Span {
  /** Place in the list, from 0. */
  place: number
  values: string[]
}

/** Where the person (digits) stands in a frozen list; undefined when nowhere, or when there is no such list. */
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
    // What is looked for may stand across two pieces.
    rest = read.subarray(Math.max(0, read.length - wanted.length + 1))
    offset += read.length - rest.length
  }
  return undefined
}

/** Writes over a recipient. The line stays, so that the places of all others do. */
export async function eraseInSnapshot(
  files: FileStore,
  id: CampaignId,
  snapshot: string,
  person: string,
  { offset, length }: FoundRecipient,
): Promise<void> {
  const head = `["${'0'.repeat(person.length)}"`
  const bytes = Buffer.from(`${head}${' '.repeat(length - head.length - 1)}]`)
  await writeOver(files, `${campaignFolder(id)}${snapshot}/${FILES.recipients}`, [{ offset, bytes }])
}

/** Writes over the number wherever it stands among those whom a preflight refused. Returns how often it did. */
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
  await writeOver(
    files,
    name,
    found.map(({ 0: typed, index }) => ({ offset: index, bytes: Buffer.from('*'.repeat(typed.length)) })),
  )
  return found.length
}
