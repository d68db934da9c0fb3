// What a campaign keeps on disk, in <data folder>/campaigns/<id>/, which producers and workers share: the uploaded rows
// and the frozen recipients. Each upload and each preflight makes a file or folder of its own, and counts only once the
// campaign's record names it, so that a crash in the middle leaves nothing half done but garbage.
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type CampaignId, campaignId, parseCampaignId } from '../campaign-id.ts'
import type { RowFormat } from '../file-formats.ts'

/** An upload that is larger than it may be. */
export class TooLargeError extends Error {
  override name = 'TooLargeError'
}

/** The folder of a campaign's files, whether it exists or not. */
export const campaignFolder = (dataDir: string, id: CampaignId): string => join(dataDir, 'campaigns', campaignId(id))

/** Where uploads are written until they are whole, so that nobody takes half a file for a file. */
const INCOMING = 'incoming'

/** Receives rows and returns the name of their file. When the source fails, nothing is left of it. */
export async function saveUpload(
  folder: string,
  format: RowFormat,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<string> {
  await mkdir(join(folder, INCOMING), { recursive: true, mode: 0o700 })
  const name = `rows-${randomUUID()}.${format}`
  const path = join(folder, INCOMING, name)
  const file = await open(path, 'wx', 0o600)
  let size = 0
  try {
    for await (const chunk of source) {
      size += chunk.length
      if (size > maxBytes) throw new TooLargeError(`more than ${maxBytes} bytes`)
      await file.appendFile(chunk)
    }
    await file.sync()
    await rename(path, join(folder, name))
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
  return name
}

/** The format of a file that saveUpload has named. */
export const formatOf = (rowsFile: string): RowFormat => (rowsFile.endsWith('.csv') ? 'csv' : 'ndjson')

/** The bytes of an uploaded file. Fails while it is read when the file is gone. */
export const readRowsFile = (folder: string, rowsFile: string): AsyncIterable<Buffer> =>
  createReadStream(join(folder, rowsFile))

/** Campaigns that have a folder, and when something was last put into it or taken out, epoch ms. */
export async function campaignFolders(dataDir: string): Promise<{ id: CampaignId; changedMs: number }[]> {
  const ids = (await namesIn(join(dataDir, 'campaigns'))).map(parseCampaignId).filter((id) => id !== undefined)
  const times = await Promise.all(ids.map((id) => stat(campaignFolder(dataDir, id)).catch(() => undefined)))
  return ids.map((id, i) => ({ id, changedMs: times[i]?.mtimeMs ?? Number.POSITIVE_INFINITY }))
}

/** Removes files and folders of a campaign by their names; empty names are none. */
export async function removeFiles(folder: string, names: readonly string[]): Promise<void> {
  await Promise.all(names.filter(Boolean).map((name) => rm(join(folder, name), { recursive: true, force: true })))
}

/**
 * Removes what a crash has left in a campaign's folder: everything that was last written before `beforeMs`, uploads that
 * were never finished included, but what is in `kept`. What is being written is younger.
 */
export async function removeLeftovers(folder: string, kept: readonly string[], beforeMs: number): Promise<void> {
  const incoming = join(folder, INCOMING)
  const paths = [
    ...(await namesIn(folder))
      .filter((name) => name !== INCOMING && !kept.includes(name))
      .map((name) => join(folder, name)),
    ...(await namesIn(incoming)).map((name) => join(incoming, name)),
  ]
  for (const path of paths) {
    if ((await writtenAt(path)) < beforeMs) await rm(path, { recursive: true, force: true })
  }
}

const namesIn = (folder: string): Promise<string[]> => readdir(folder).catch(() => [])

/** When a file, or the latest one in a folder, was last written, epoch ms; infinity when it is gone. */
async function writtenAt(path: string): Promise<number> {
  const inside = (await namesIn(path)).map((name) => join(path, name))
  const times = await Promise.all([path, ...inside].map((each) => stat(each).catch(() => undefined)))
  return times[0] === undefined ? Number.POSITIVE_INFINITY : Math.max(...times.map((time) => time?.mtimeMs ?? 0))
}
