// campaigns: upload, export, refused. Files in and out of a campaign.
import { createReadStream, createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { z } from 'zod'
import { countingRows } from '../../campaigns/commands/count-rows.ts'
import { exportCampaign } from '../../campaigns/commands/export.ts'
import { uploadRecipients } from '../../campaigns/commands/upload-recipients.ts'
import type { ExportFormat, RowFormat } from '../../campaigns/file-formats.ts'
import { idOf } from '../../campaigns/store/campaigns.ts'
import { readRefused } from '../../campaigns/store/snapshot.ts'
import { counted } from '../../messages/fault.ts'
import { CliFailure, fileFailure } from '../failure.ts'
import { filePath } from '../typed-file.ts'
import { parser } from '../values.ts'
import { type Verb, verb } from '../verb.ts'
import { campaignArgument, existing, shown, withLifecycle } from './campaign-context.ts'

/** A path whose extension says the format. */
const rowsPath = parser('a file that ends in .csv or .ndjson', (text) =>
  /\.(csv|ndjson)$/i.test(text) ? resolve(text) : undefined,
)
const formatOf = (path: string): RowFormat & ExportFormat => (/\.csv$/i.test(path) ? 'csv' : 'ndjson')

export const fileVerbs: readonly Verb[] = [
  verb({
    usage: 'upload <id> <file>',
    summary: 'upload the recipients: CSV with a header, or NDJSON, one row per recipient',
    act: 'campaign.upload_rows',
    example: 'cmp_1_7 people.csv',
    options: {},
    values: z.strictObject({ id: campaignArgument, file: rowsPath }),
    run: async ({ id, file }, context) => {
      const { redis, config } = context
      const { size } = await stat(file).catch((error: unknown) => {
        throw fileFailure(file, error)
      })
      const { bytes, rows } = countingRows(formatOf(file), createReadStream(file))
      await withLifecycle(context, async () => {
        const deps = { redis, files: config.files, retentionMs: config.retentionMs }
        await uploadRecipients(deps, await existing(redis, id), formatOf(file), bytes, size)
      })
      const campaign = await shown(redis, id)
      return {
        json: { ...campaign.json, rows: rows() },
        text: `Uploaded ${counted(rows(), 'row')} to ${idOf(id)}. Next: \`campaigns preflight ${idOf(id)}\`.`,
        acted: campaign.acted,
      }
    },
  }),
  verb({
    usage: 'export <id> <file>',
    summary: 'export the result for every recipient, as CSV or NDJSON depending on the file name',
    example: 'cmp_1_7 outcome.csv',
    options: {},
    values: z.strictObject({ id: campaignArgument, file: rowsPath }),
    run: async ({ id, file }, { redis, config }) => {
      const campaign = await existing(redis, id)
      const lines = exportCampaign({ redis, files: config.files }, campaign, formatOf(file))
      // Phone numbers of people: for nobody's eyes but the one's who asks.
      await pipeline(Readable.from(lines), createWriteStream(file, { mode: 0o600 })).catch((error: unknown) => {
        throw error instanceof Error && 'syscall' in error ? fileFailure(file, error) : error
      })
      return { json: { file, recipients: campaign.total }, text: `${campaign.total} recipients are in ${file}.` }
    },
  }),
  verb({
    usage: 'refused <id> <file>',
    summary: 'export the recipients that the preflight refused and why, as CSV',
    example: 'cmp_1_7 refused.csv',
    options: {},
    values: z.strictObject({ id: campaignArgument, file: filePath }),
    run: async ({ id, file }, { redis, config }) => {
      const campaign = await existing(redis, id)
      if (campaign.snapshot === '')
        throw new CliFailure('The campaign has not been checked yet; run `campaigns preflight`.')
      const list = await readRefused(config.files, campaign, campaign.snapshot)
      await pipeline(list, createWriteStream(file, { mode: 0o600 })).catch((error: unknown) => {
        throw fileFailure(file, error)
      })
      return { json: { file }, text: `Wrote the refused recipients to ${file}.` }
    },
  }),
]
