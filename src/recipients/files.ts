// The files of a campaign, below campaigns/<id>/ in the file store: the uploaded rows and the frozen recipients. Each upload and each
// preflight creates new files, which count only once the campaign's record names them, so that a crash leaves nothing but garbage.
import { randomUUID } from 'node:crypto'
import type { Readable } from 'node:stream'
import { SEPARATORS, type Separator } from '../files/csv-head.ts'
import { receive } from '../files/drafts.ts'
import { FileMissingError, type FileStore, removeAll } from '../files/store.ts'
import { type CampaignId, campaignId, parseCampaignId } from '../model/campaigns/campaign-id.ts'
import type { RowFormat } from '../model/campaigns/file-formats.ts'

const CAMPAIGNS = 'campaigns/'

/** The prefix of all files of a campaign. */
export const campaignFolder = (id: CampaignId): string => `${CAMPAIGNS}${campaignId(id)}/`

/** The separator of cells in the name of a file. */
const SEPARATOR_NAMES: Readonly<Record<Separator, string>> = { ',': 'comma', ';': 'semicolon', '\t': 'tab', '|': 'bar' }

/** Uploaded rows, and the separator of cells in CSV, which is known once they have been read. */
export interface RowsUpload {
  format: RowFormat
  bytes: AsyncIterable<Uint8Array>
  separator?: () => Separator
}

/**
 * Receives rows and returns the name of their file and their bytes. When the source fails, or brings more than `maxBytes` (a
 * TooLargeError), nothing is left of it.
 */
export async function saveUpload(
  files: FileStore,
  id: CampaignId,
  { format, bytes, separator = () => ',' }: RowsUpload,
  maxBytes: number,
): Promise<{ name: string; bytes: number }> {
  const draft = await receive(files, bytes, maxBytes)
  const name = `rows-${randomUUID()}.${SEPARATOR_NAMES[separator()]}.${format}`
  try {
    await files.take(draft.path, `${campaignFolder(id)}${name}`)
  } finally {
    await draft.discard()
  }
  return { name, bytes: draft.size }
}

/** The format of a file that saveUpload has named. */
export const formatOf = (rowsFile: string): RowFormat => (rowsFile.endsWith('.csv') ? 'csv' : 'ndjson')

/** What separates the cells of such a file; commas, where its name gives none. */
export const separatorOf = (rowsFile: string): Separator =>
  SEPARATORS.find((each) => rowsFile.includes(`.${SEPARATOR_NAMES[each]}.`)) ?? ','

/** The bytes of an uploaded file. Rejects with a FileMissingError. */
export const readRowsFile = (files: FileStore, id: CampaignId, rowsFile: string): Promise<Readable> =>
  files.read(`${campaignFolder(id)}${rowsFile}`)

/** Bytes of an uploaded file; 0 where it is gone. Rejects with a FilesAwayError. */
export const sizeOfRows = (files: FileStore, id: CampaignId, rowsFile: string): Promise<number> =>
  files.sizeOf(`${campaignFolder(id)}${rowsFile}`).catch((error: unknown) => {
    if (error instanceof FileMissingError) return 0
    throw error
  })

/** A file or a frozen list of a campaign, and when it was last written, epoch ms. */
export interface CampaignFiles {
  id: CampaignId
  /** Its name: the file of rows, or the prefix of a list's three files. */
  written: Map<string, number>
}

/** All campaigns that have files. */
export async function campaignsWithFiles(files: FileStore): Promise<CampaignFiles[]> {
  const found = new Map<string, CampaignFiles>()
  for await (const { name, writtenMs } of files.list(CAMPAIGNS)) {
    const [folder = '', part = ''] = name.slice(CAMPAIGNS.length).split('/')
    const id = parseCampaignId(folder)
    if (id === undefined || part === '') continue
    const { written } = found.get(folder) ?? { written: new Map<string, number>() }
    written.set(part, Math.max(written.get(part) ?? 0, writtenMs))
    found.set(folder, { id, written })
  }
  return [...found.values()]
}

/** Removes files and lists of a campaign by their names; empty names are none. */
export async function removeFiles(files: FileStore, id: CampaignId, names: readonly string[]): Promise<void> {
  for (const name of names.filter(Boolean)) {
    const path = `${campaignFolder(id)}${name}`
    if (/\.\w+$/.test(name)) await files.remove(path)
    else await removeAll(files, `${path}/`)
  }
}
