// Takes a file of rows for a campaign. It counts once the campaign's record names it; a crash before that leaves a file
// that the workers remove after a day. Of two uploads at once the first to finish wins, and the other is refused.

import { accountLimits } from '../../accounts/accounts.ts'
import { cellOf, EndlessRecordError, MAX_RAW_BYTES, MAX_RECORD_BYTES } from '../../files/csv.ts'
import { UnreadableCsvError } from '../../files/csv-encoding.ts'
import type { CsvOptions, ReadAs, Separator } from '../../files/csv-head.ts'
import { TooLargeError } from '../../files/drafts.ts'
import { normalCsv } from '../../files/normal-csv.ts'
import type { FileStore } from '../../files/store.ts'
import { Refusal, refusedFile } from '../../kernel/refusal.ts'
import type { AccountLimits } from '../../model/accounts/settings.ts'
import { CAMPAIGN_MOVES, type RowFormat } from '../../model/campaigns/campaign.ts'
import { type Campaign, idOf, moveCampaign } from '../../recipients/campaigns.ts'
import { type RowsUpload, removeFiles, saveUpload } from '../../recipients/files.ts'
import type { Redis } from '../../redis/connect.ts'
import { keepRows, readRows } from '../store/quotas.ts'

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
  const moved = await moveCampaign(deps.redis, campaign, 'upload', deps.retentionMs, options)
  if (moved.kind === 'moved') return removeFiles(files, campaign, [campaign.rows_file, campaign.snapshot])
  await removeFiles(files, campaign, [file])
  await count(before)
  if (moved.kind === 'refused' && CAMPAIGN_MOVES.upload.from.includes(moved.state)) {
    const sentence =
      'Other rows were uploaded, or a preflight was begun, while these were; upload them again to replace those.'
    throw new Refusal('overtaken', 'rows_replaced', sentence)
  }
  const state = moved.kind === 'missing' ? 'gone' : moved.state
  throw new Refusal('conflict', 'wrong_state', `Rows can be uploaded before a campaign starts; this one is ${state}.`)
}

/** Bytes that the rows of the campaign may have. */
async function roomLeft(redis: Redis, campaign: Campaign, most: number): Promise<number> {
  const { total, before } = await readRows(redis, campaign.account, idOf(campaign), most)
  return most - total + before
}

const rowsFull = (most: number): Refusal =>
  new Refusal('in_the_way', 'rows_full', `The account would keep more than ${most} bytes of rows: at most so many.`)

// An upload of rows: CSV as normal-csv.ts normalises it, and the number of rows.

/** `upload` is what uploadRecipients takes; the figures are right once it has. */
export function incomingRows(
  format: RowFormat,
  source: AsyncIterable<Uint8Array>,
  said: CsvOptions,
): { upload: RowsUpload; figures: () => { rows: number; read_as?: ReadAs } } {
  if (format === 'ndjson') {
    const { bytes, rows } = countingRows(format, source)
    return { upload: { format, bytes }, figures: () => ({ rows: rows() }) }
  }
  const csv = normalCsv(source, said)
  const { bytes, rows } = countingRows(format, csv.bytes, csv.separator)
  return {
    upload: { format, bytes, separator: csv.separator },
    figures: () => ({ rows: rows(), read_as: csv.readAs() }),
  }
}

// Counts the rows of an upload as it streams through, for the answer, and refuses CSV in which a record does not end, because the start
// of the next one is unknown. It parses only line ends, separators and quotes, with the rules of csv.ts but many times faster: preflight
// checks the content.

const QUOTE = 0x22
const LINE_END = 0x0a
const UNCLOSED = 'opens a quote and never closes it'
const SPACES = new Set(Buffer.from(' \t\r\n'))
/** Blanks that are ignored after the closing quote of a cell. */
const TRAILING = new Set(Buffer.from(' \t'))
/** Blanks that the parser ignores before a cell, each as its UTF-8 bytes. */
const BLANKS = Array.from(
  '\t\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff',
  (blank) => Buffer.from(blank).toString('latin1'),
)
const BEGINS_BLANK = new Set(BLANKS.map((blank) => blank.charCodeAt(0)))
/** The bytes of cells that may turn out empty: blanks, quotes with blanks behind them, and the mark before a tab. */
const MAYBE_EMPTY = new Set(Buffer.from(`${BLANKS.join('')}\n"'`, 'latin1'))

/**
 * `bytes` are those of the source, unchanged; they throw an EndlessRecordError. `rows` is right once they have been read to
 * their end. `separator` of CSV is asked once the first bytes have come.
 */
export function countingRows(
  format: RowFormat,
  source: AsyncIterable<Uint8Array>,
  separator: () => Separator = () => ',',
) {
  const lines = format === 'csv' ? csvLines(separator) : ndjsonLines()

  async function* bytes(): AsyncGenerator<Uint8Array> {
    for await (const chunk of source) {
      lines.look(chunk)
      yield chunk
    }
    lines.end()
  }

  return { bytes: bytes(), rows: lines.rows }
}

function ndjsonLines() {
  let rows = 0
  let hasContent = false
  return {
    look(chunk: Uint8Array): void {
      for (const byte of chunk) {
        if (byte === LINE_END) {
          if (hasContent) rows += 1
          hasContent = false
        } else if (!SPACES.has(byte)) hasContent = true
      }
    },
    end(): void {},
    rows: (): number => rows + (hasContent ? 1 : 0),
  }
}

function csvLines(separator: () => Separator) {
  let records = 0
  let hasContent = false
  let isQuoted = false
  /** A quote within quotes: what follows says whether it closes them. */
  let isQuoteHeld = false
  /** Spaces behind that quote. */
  let trailing = 0
  let cellBytes = 0
  /** The bytes of a cell that may turn out empty, in a record without content so far. */
  let doubtful = ''
  /** The bytes of a blank that have come so far. */
  let blank = ''
  let recordBytes = 0
  let rawBytes = 0
  let [line, beginsOn] = [1, 1]
  let separates: number | undefined

  function append(byte: number): void {
    if (recordBytes + cellBytes > MAX_RECORD_BYTES) throw new EndlessRecordError(beginsOn, UNCLOSED)
    cellBytes += 1
    if (hasContent) return
    hasContent = !MAYBE_EMPTY.has(byte)
    doubtful = hasContent ? '' : doubtful + String.fromCharCode(byte)
  }

  function endCell(): void {
    if (!hasContent && doubtful !== '') {
      const cell = Buffer.from(trailing > 0 ? `"${doubtful}" ` : doubtful, 'latin1').toString()
      hasContent = cellOf(cell).trim() !== ''
    }
    recordBytes += cellBytes + trailing
    doubtful = ''
    cellBytes = 0
    trailing = 0
  }

  function endRecord(): void {
    endCell()
    if (hasContent) records += 1
    hasContent = false
    recordBytes = 0
    rawBytes = 0
    beginsOn = line
  }

  /** Whether the byte is of blanks before a cell, or may be. */
  function isBlank(byte: number): boolean {
    if (cellBytes > 0 || (blank === '' && !BEGINS_BLANK.has(byte))) return false
    blank += String.fromCharCode(byte)
    if (BLANKS.includes(blank)) {
      blank = ''
      return true
    }
    if (BLANKS.some((each) => each.startsWith(blank))) return true
    // Another character that begins as one of them does.
    const before = Buffer.from(blank.slice(0, -1), 'latin1')
    blank = ''
    for (const each of before) append(each)
    return false
  }

  /** A byte outside of quotes. */
  function lookOutside(byte: number): void {
    if (byte !== separates && byte !== LINE_END && isBlank(byte)) return
    if (byte === QUOTE && cellBytes === 0) isQuoted = true
    else if (byte === LINE_END) endRecord()
    else if (byte === separates) endCell()
    else append(byte)
  }

  /** The byte after a quote within quotes. */
  function lookBehindQuote(byte: number): void {
    if (byte !== separates && byte !== LINE_END && TRAILING.has(byte)) {
      trailing += 1
      return
    }
    isQuoteHeld = false
    isQuoted = byte === QUOTE && trailing === 0
    if (isQuoted) {
      append(byte)
      return
    }
    if (byte !== separates && byte !== LINE_END) {
      // The quotes were not meant as such: the cell has both of them.
      hasContent = true
      cellBytes += trailing + 1
      trailing = 0
      append(QUOTE)
    }
    lookOutside(byte)
  }

  return {
    look(chunk: Uint8Array): void {
      separates ??= separator().charCodeAt(0)
      for (const byte of chunk) {
        if (byte === LINE_END) line += 1
        rawBytes += 1
        if (rawBytes > MAX_RAW_BYTES) throw new EndlessRecordError(beginsOn, 'goes on for too long')
        if (isQuoteHeld) lookBehindQuote(byte)
        else if (!isQuoted) lookOutside(byte)
        else if (byte === QUOTE) isQuoteHeld = true
        else append(byte)
      }
    },
    end(): void {
      if (isQuoted && !isQuoteHeld) throw new EndlessRecordError(beginsOn, UNCLOSED)
      endRecord()
    },
    /** Records with anything in them, without the header. */
    rows: (): number => Math.max(0, records - 1),
  }
}
