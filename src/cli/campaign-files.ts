// campaigns: upload, export, refused. Files in and out of a campaign.
import { resolve } from 'node:path'
import { exportCampaign } from '../campaigns/commands/export.ts'
import { incomingRows } from '../campaigns/commands/incoming-rows.ts'
import { uploadRecipients } from '../campaigns/commands/upload-rows.ts'
import { readAsSentence } from '../files/csv-head.ts'
import { counted } from '../kernel/fault.ts'
import type { ExportFormat } from '../model/campaigns/file-formats.ts'
import { idOf } from '../recipients/campaigns.ts'
import { readRefused } from '../recipients/snapshot.ts'
import { campaignArgument, existing, shown } from './campaign-summary.ts'
import { CliFailure } from './failure.ts'
import { bytesOf, csvValues, filePath, SAVE_AS_CSV, writePrivate } from './files.ts'
import { parser } from './values.ts'
import { type Verb, verb } from './verb.ts'

/** Paths whose extension gives the format: spreadsheets save CSV with tabs as .tsv or .txt. */
const rowsPath = parser(`a file that ends in .csv, .tsv, .txt or .ndjson (${SAVE_AS_CSV})`, (text) =>
  /\.(csv|tsv|txt|ndjson)$/i.test(text) ? resolve(text) : undefined,
)
const exportPath = parser('a file that ends in .csv or .ndjson', (text) =>
  /\.(csv|ndjson)$/i.test(text) ? resolve(text) : undefined,
)
const formatOf = (path: string): ExportFormat => (/\.ndjson$/i.test(path) ? 'ndjson' : 'csv')

export const fileVerbs: readonly Verb[] = [
  verb({
    usage: 'upload <id> <file>',
    summary: 'upload the recipients: CSV with a header, or NDJSON, one row per recipient',
    act: 'campaign.upload_rows',
    example: 'cmp_1_7 people.csv',
    values: { id: campaignArgument, file: rowsPath, ...csvValues },
    async run({ id, file, ...said }, context) {
      const { redis, config } = context
      const format = formatOf(file)
      if (format === 'ndjson' && Object.keys(said).length > 0) {
        throw new CliFailure('--encoding, --separator: only for CSV, NDJSON is UTF-8.', 2)
      }
      const { upload, figures } = incomingRows(format, bytesOf(file), said)
      const deps = { redis, files: config.files, retentionMs: config.retentionMs }
      await uploadRecipients(deps, await existing(redis, id), upload, Number.POSITIVE_INFINITY)
      const campaign = await shown(redis, id)
      const counts = figures()
      return {
        json: { ...campaign.json, ...counts },
        text: [
          `Uploaded ${counted(counts.rows, 'row')} to ${idOf(id)}. Next: \`campaigns preflight ${idOf(id)}\`.`,
          ...(counts.read_as === undefined ? [] : [readAsSentence(counts.read_as)]),
        ].join('\n'),
        acted: campaign.acted,
      }
    },
  }),
  verb({
    usage: 'export <id> <file>',
    summary: 'export the result for every recipient, as CSV or NDJSON depending on the file name',
    example: 'cmp_1_7 outcome.csv',
    values: { id: campaignArgument, file: exportPath },
    async run({ id, file }, { redis, config }) {
      const campaign = await existing(redis, id)
      const lines = exportCampaign({ redis, files: config.files }, campaign, formatOf(file))
      await writePrivate(file, lines)
      return { json: { file, recipients: campaign.total }, text: `${campaign.total} recipients are in ${file}.` }
    },
  }),
  verb({
    usage: 'refused <id> <file>',
    summary: 'export the recipients that the preflight refused and why, as CSV',
    example: 'cmp_1_7 refused.csv',
    values: { id: campaignArgument, file: filePath },
    async run({ id, file }, { redis, config }) {
      const campaign = await existing(redis, id)
      if (campaign.snapshot === '')
        throw new CliFailure('The campaign has not been checked yet; run `campaigns preflight`.')
      await writePrivate(file, await readRefused(config.files, campaign, campaign.snapshot))
      return { json: { file }, text: `Wrote the refused recipients to ${file}.` }
    },
  }),
]
