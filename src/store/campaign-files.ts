// What a campaign keeps on disk, in <data folder>/campaigns/<id>/, which producers and workers share: the uploaded rows
// and the frozen recipients. Each upload and each preflight makes a file or folder of its own, and counts only once the
// campaign's record names it, so that a crash in the middle leaves nothing half done but garbage.
import { randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type CampaignId, campaignId, parseCampaignId } from '../messages/campaign-id.ts'

export const ROW_FORMATS = ['csv', 'ndjson'] as const
export type RowFormat = (typeof ROW_FORMATS)[number]

/** An upload that is larger than it may be. */
export class TooLargeError extends Error {
  override name = 'TooLargeError'
}

export const campaignFolder = (dataDir: string, id: CampaignId): string => join(dataDir, 'campaigns', campaignId(id))

/** Receives rows and returns the name of their file. When the source fails, nothing is left of it. */
export async function receiveRows(
  folder: string,
  format: RowFormat,
  source: AsyncIterable<Uint8Array>,
  maxBytes: number,
): Promise<string> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const name = `rows-${randomUUID()}.${format}`
  const path = join(folder, name)
  const file = await open(path, 'wx', 0o600)
  let size = 0
  try {
    for await (const chunk of source) {
      size += chunk.length
      if (size > maxBytes) throw new TooLargeError(`more than ${maxBytes} bytes`)
      await file.appendFile(chunk)
    }
    await file.sync()
  } catch (error) {
    await rm(path, { force: true })
    throw error
  } finally {
    await file.close()
  }
  return name
}

/** The format of a file that receiveRows has named. */
export const formatOf = (rowsFile: string): RowFormat => (rowsFile.endsWith('.csv') ? 'csv' : 'ndjson')

export const readRowsFile = (folder: string, rowsFile: string): AsyncIterable<Buffer> =>
  createReadStream(join(folder, rowsFile))

/** Names of the campaigns that have a folder which nobody has written into since `beforeMs`. */
export async function oldFolders(dataDir: string, beforeMs: number): Promise<CampaignId[]> {
  const root = join(dataDir, 'campaigns')
  const ids = (await readdir(root).catch(() => [])).map(parseCampaignId).filter((id) => id !== undefined)
  const times = await Promise.all(ids.map((id) => stat(campaignFolder(dataDir, id)).catch(() => undefined)))
  return ids.filter((_id, i) => (times[i]?.mtimeMs ?? Number.POSITIVE_INFINITY) < beforeMs)
}

/** Removes what the record does not name. Only for who has just changed what it names. */
export async function removeAllBut(folder: string, kept: readonly string[]): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  const left = names.filter((name) => !kept.includes(name))
  await Promise.all(left.map((name) => rm(join(folder, name), { recursive: true, force: true })))
}
