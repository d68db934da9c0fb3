// The frozen recipients of a campaign: below a name of their own,
//   recipients.ndjson   a line per recipient, in order: ["4917012345678","Ann","Berlin"], number and values filled in
//   places.bin          where every 500th line begins, 8 bytes each, so that any recipient is found by one read
//   refused.csv         who was left out, and why
// Written once and never changed, except to erase a person: see person-in-snapshot.ts and person-in-rows.ts.
import { randomUUID } from 'node:crypto'
import { mkdir, open, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { z } from 'zod'
import { csvLine } from '../files/csv.ts'
import { newDraft } from '../files/drafts.ts'
import { type FileStore, readPart, removeAll } from '../files/store.ts'
import { cutText } from '../kernel/cut-text.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { jsonText, readRecord } from '../redis/records.ts'
import { campaignFolder } from './files.ts'

/** Lines between two known offsets: the unit of reading. */
export const STRIDE = 500
export const OFFSET_BYTES = 8
/** A step may begin in one stride and end in the next, and a later one may repeat what was left of it. */
const STRIDES_KEPT = 3
/** Most of a list that is read ahead. */
const AHEAD_BYTES = 256 * 1024
/** Parts that were read are kept as long as strides of them may be needed. */
const PARTS_KEPT = 2
/** Lines are written in pieces of about this many characters. */
const WRITE_AT = 128 * 1024

/** A line of a campaign's frozen list. */
export interface Recipient {
  /** Digits with country code. */
  to: string
  /** The values filled in, in the order of the campaign's sources. */
  values: string[]
}

/** Whether this recipient was erased. Nothing is sent to them, and they are in no other list. */
export const isErased = ({ to }: Pick<Recipient, 'to'>): boolean => /^0+$/.test(to)

type Line = [string, ...string[]]
/** Checked by hand: each piece has 500 of them, and a zod tuple takes 2 µs each. */
const isLine = (line: unknown): boolean =>
  Array.isArray(line) && line.every((each) => typeof each === 'string') && /^\d{5,15}$/.test(line[0] ?? '')
const areLines = z.custom<Line[]>((lines) => Array.isArray(lines) && lines.every(isLine))
const linesSchema = jsonText.pipe(areLines.transform((lines) => lines.map(recipientOf)))
const recipientOf = ([to, ...values]: Line): Recipient => ({ to, values })

/** Refused recipients that are listed with an explanation; for a file of 2 MB without numbers, all would be 148 MB. */
const MOST_REFUSED = 10_000
/** Characters kept of a text that should be a phone number. */
const PHONE_SHOWN = 64

/** Names of the files of a list, in the order in which they are stored: without the last one a list is incomplete. */
export const FILES = { recipients: 'recipients.ndjson', refused: 'refused.csv', places: 'places.bin' }

/** Begins a snapshot: a draft until it is closed. */
export async function writeSnapshot(files: FileStore, id: CampaignId) {
  const name = `recipients-${randomUUID()}`
  const prefix = `${campaignFolder(id)}${name}/`
  const folder = await newDraft(files)
  await mkdir(folder, { mode: 0o700 })
  const recipients = await openLines(join(folder, FILES.recipients))
  const refused = await openLines(join(folder, FILES.refused))
  await refused.add(csvLine(['where', 'phone', 'reason', 'explanation']))
  const offsets: number[] = []
  let total = 0
  let refusedInAll = 0

  return {
    name,

    async add({ to, values }: Recipient): Promise<void> {
      if (total % STRIDE === 0) offsets.push(recipients.bytes())
      total += 1
      await recipients.add(`${JSON.stringify([to, ...values])}\n`)
    },

    /** Beyond the first 10,000 they are only counted, in the last line of the file. */
    async refuse(where: string, phone: string, reason: string, explanation: string): Promise<void> {
      refusedInAll += 1
      if (refusedInAll > MOST_REFUSED) return
      await refused.add(csvLine([where, cutText(phone, PHONE_SHOWN), reason, explanation]))
    },

    /** Resolves once all of it is kept. */
    async close(): Promise<void> {
      const more = refusedInAll - MOST_REFUSED
      if (more > 0) await refused.add(csvLine(['', '', 'more', `${more} more were left out and are not listed`]))
      await Promise.all([recipients.close(), refused.close()])
      const bytes = Buffer.alloc(offsets.length * OFFSET_BYTES)
      for (const [i, offset] of offsets.entries()) bytes.writeDoubleLE(offset, i * OFFSET_BYTES)
      const file = await open(join(folder, FILES.places), 'wx', 0o600)
      await file.writeFile(bytes)
      await file.sync()
      await file.close()
      for (const each of Object.values(FILES)) await files.take(join(folder, each), `${prefix}${each}`)
      await rm(folder, { recursive: true, force: true })
    },

    async discard(): Promise<void> {
      await Promise.all([recipients.abandon(), refused.abandon()])
      await rm(folder, { recursive: true, force: true })
      await removeAll(files, prefix)
    },
  }
}

export type Snapshot = Awaited<ReturnType<typeof openSnapshot>>

/** Opens a snapshot for reading at any place. Rejects with a FileMissingError, or a FilesAwayError. */
export async function openSnapshot(files: FileStore, id: CampaignId, name: string) {
  const prefix = `${campaignFolder(id)}${name}/`
  const bytes = await readPart(files, `${prefix}${FILES.places}`)
  const offsets = Array.from({ length: bytes.length / OFFSET_BYTES }, (_, i) => bytes.readDoubleLE(i * OFFSET_BYTES))
  const size = await files.sizeOf(`${prefix}${FILES.recipients}`)
  const startOf = (stride: number): number => offsets[stride] ?? size
  let latest: { stride: number; recipients: Promise<Recipient[]> }[] = []
  let parts: { from: number; to: number; bytes: Promise<Buffer> }[] = []

  /** The lines between two known offsets; the latest are cached, because a slow lane reads a few at a time. */
  function readStride(stride: number): Promise<Recipient[]> {
    const known = latest.find((each) => each.stride === stride)
    const recipients = known?.recipients ?? parseStride(stride)
    // Tried again by the next who asks.
    recipients.catch(() => {
      latest = latest.filter((each) => each.stride !== stride)
    })
    latest = [{ stride, recipients }, ...latest.filter((each) => each.stride !== stride)].slice(0, STRIDES_KEPT)
    return recipients
  }

  async function parseStride(stride: number): Promise<Recipient[]> {
    if (stride >= offsets.length) return []
    const { from, bytes } = partWith(stride)
    const [begin, end] = [startOf(stride) - startOf(from), startOf(stride + 1) - startOf(from)]
    const piece = (await bytes).subarray(begin, end)
    if (piece.length !== end - begin) throw new Error('the list of recipients is shorter than when it was written')
    const text = piece.toString('utf8')
    return readRecord(linesSchema, `recipients of ${name}`, `[${text.trimEnd().replaceAll('\n', ',')}]`)
  }

  /**
   * The bytes of a stride, with read-ahead: a sequential reader gets twice as many strides each time, because a bucket takes 10 ms to
   * answer whatever the size, and a lookup of one recipient needs only their stride.
   */
  function partWith(stride: number) {
    const known = parts.find(({ from, to }) => from <= stride && stride < to)
    if (known !== undefined) return known
    const before = parts.find(({ to }) => to === stride)
    const most = before === undefined ? 1 : 2 * (before.to - before.from)
    let to = stride + 1
    while (to < offsets.length && to - stride < most && startOf(to + 1) - startOf(stride) <= AHEAD_BYTES) to += 1
    const range = { from: startOf(stride), to: startOf(to) }
    const part = { from: stride, to, bytes: readPart(files, `${prefix}${FILES.recipients}`, range) }
    // Tried again by the next who asks.
    part.bytes.catch(() => {
      parts = parts.filter((each) => each !== part)
    })
    parts = [part, ...parts].slice(0, PARTS_KEPT)
    return part
  }

  return {
    /** Up to `most` recipients from the one at place `index`, at least one unless the list is over. */
    async read(index: number, most: number): Promise<Recipient[]> {
      const recipients = await readStride(Math.floor(index / STRIDE))
      const at = index % STRIDE
      return recipients.slice(at, at + most)
    },

    /** All `count` recipients from the one at place `index`, fewer where the list ends. */
    async readAll(index: number, count: number): Promise<Recipient[]> {
      const all: Recipient[] = []
      while (all.length < count) {
        const some = await this.read(index + all.length, count - all.length)
        if (some.length === 0) break
        all.push(...some)
      }
      return all
    },
  }
}

/** The CSV file of the recipients that a preflight refused, and why. Rejects with a FileMissingError. */
export const readRefused = (files: FileStore, id: CampaignId, snapshot: string): Promise<Readable> =>
  files.read(`${campaignFolder(id)}${snapshot}/${FILES.refused}`)

/** Appends text in pieces. Once `close` has returned, all of it is on disk. */
async function openLines(path: string) {
  const file = await open(path, 'wx', 0o600)
  let waiting = ''
  let bytes = 0
  const flush = async (): Promise<void> => {
    const piece = waiting
    waiting = ''
    await file.appendFile(piece)
  }
  return {
    bytes: () => bytes,
    async add(text: string): Promise<void> {
      waiting += text
      bytes += Buffer.byteLength(text)
      if (waiting.length >= WRITE_AT) await flush()
    },
    async close(): Promise<void> {
      await flush()
      await file.sync()
      await file.close()
    },
    abandon: (): Promise<void> => file.close().catch(() => {}),
  }
}
