// Takes a file of rows for a campaign. It counts once the campaign's record names it; a crash before that leaves a file
// that the workers remove after a day. Of two uploads at once the first to finish wins, and the other is refused.

import { accountLimits } from '../../accounts/accounts.ts'
import { EndlessRecordError } from '../../files/csv.ts'
import { UnreadableCsvError } from '../../files/csv-encoding.ts'
import { TooLargeError } from '../../files/drafts.ts'
import { type FileStore, isFilesAway } from '../../files/store.ts'
import { Refusal, refusedFile } from '../../kernel/refusal.ts'
import type { AccountLimits } from '../../model/accounts/limits.ts'
import { CAMPAIGN_MOVES } from '../../model/campaigns/lifecycle.ts'
import { type Campaign, findCampaign, idOf, moveCampaign } from '../../recipients/campaigns.ts'
import { type RowsUpload, removeFiles, saveUpload, sizeOfRows } from '../../recipients/files.ts'
import type { Redis } from '../../redis/connect.ts'
import { keepRows, readRows } from '../store/rows-quota.ts'

/**
 * Throws a TooLargeError, or a Refusal: `invalid_request` for a file that cannot be read; `no_rows_expected`;
 * `rows_full` when the account keeps too much; `wrong_state` when the campaign takes no rows (any more);
 * `rows_replaced` when another upload or a preflight came in between.
 */
export async function uploadRecipients(
  deps: { redis: Redis; files: FileStore; retentionMs: number; limits?: AccountLimits | undefined },
  campaign: Campaign,
  rows: RowsUpload,
  maxBytes: number,
): Promise<void> {
  if (!('rows' in campaign.definition.recipients)) {
    throw new Refusal('invalid', 'no_rows_expected', 'The recipients of this campaign are contacts, not uploaded rows.')
  }
  const { files, redis, limits } = deps
  const { account } = campaign
  const most = limits === undefined ? 0 : (await accountLimits(redis, account, limits)).rowsBytes
  const count = (bytes: number) => keepRows(redis, account, { id: idOf(campaign), bytes, most })
  // The quota is counted once the size is known; an upload that certainly exceeds it is refused before.
  const room = most === 0 ? maxBytes : await roomLeft(redis, campaign, most)
  if (room <= 0) throw rowsFull(most)
  const { name: file, bytes } = await saveUpload(files, campaign, rows, Math.min(maxBytes, room)).catch(
    (error: unknown) => {
      if (error instanceof UnreadableCsvError) throw refusedFile(error.message)
      if (error instanceof EndlessRecordError) throw refusedFile(`${error.message}; mend it and upload it again.`)
      throw error instanceof TooLargeError && room < maxBytes ? rowsFull(most) : error
    },
  )
  const { isCounted, before } = await count(bytes)
  if (!isCounted) {
    await removeFiles(files, campaign, [file])
    throw rowsFull(most)
  }
  const fields = { rows_file: file, snapshot: '', total: 0, next: 0 }
  // An upload and a preflight each begin a new epoch: in the same epoch, the record still names the rows that were read.
  const options = { epoch: campaign.epoch, begins: true, fields }
  const moved = await moveCampaign(deps.redis, campaign, 'upload', deps.retentionMs, options).catch(
    async (error: unknown) => {
      // It may have been taken all the same; then this counts it again.
      await countNamedFile(deps, campaign, { refused: bytes, before }).catch(() => {})
      throw error
    },
  )
  if (moved.kind === 'moved') return removeFiles(files, campaign, [campaign.rows_file, campaign.snapshot])
  await countNamedFile(deps, campaign, { refused: bytes, before })
  await removeFiles(files, campaign, [file])
  if (moved.kind === 'refused' && CAMPAIGN_MOVES.upload.from.includes(moved.state)) {
    const sentence =
      'Other rows were uploaded, or a preflight was begun, while these were; upload them again to replace those.'
    throw new Refusal('overtaken', 'rows_replaced', sentence)
  }
  const state = moved.kind === 'missing' ? 'gone' : moved.state
  throw new Refusal('conflict', 'wrong_state', `Rows can be uploaded before a campaign starts; this one is ${state}.`)
}

/**
 * Counts the file that the campaign's record names in place of one of `refused` bytes; while the store is away, the bytes `before`
 * that one. Changes nothing where another upload has counted its own since: that one is refused too, or named. Dying before this leaves the
 * wrong count until the next upload, or until the campaign is gone.
 */
async function countNamedFile(
  { redis, files }: { redis: Redis; files: FileStore },
  campaign: Campaign,
  { refused, before }: { refused: number; before: number },
): Promise<void> {
  const named = (await findCampaign(redis, campaign))?.rows_file ?? ''
  const sizeOrBefore = (): Promise<number> =>
    sizeOfRows(files, campaign, named).catch((error: unknown) => {
      if (isFilesAway(error)) return before
      throw error
    })
  const bytes = named === '' ? 0 : await sizeOrBefore()
  await keepRows(redis, campaign.account, { id: idOf(campaign), bytes, most: 0, insteadOf: refused })
}

/** Bytes that the rows of the campaign may have. */
async function roomLeft(redis: Redis, campaign: Campaign, most: number): Promise<number> {
  const { total, before } = await readRows(redis, campaign.account, idOf(campaign), most)
  return most - total + before
}

const rowsFull = (most: number): Refusal =>
  new Refusal('in_the_way', 'rows_full', `The account would keep more than ${most} bytes of rows: at most so many.`)
