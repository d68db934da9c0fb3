// The files of a campaign, streamed in and out: rows, the outcome of every recipient, refused recipients with reasons.
import { exportCampaign } from '../../../campaigns/commands/export.ts'
import { incomingRows } from '../../../campaigns/commands/incoming-rows.ts'
import { uploadRecipients } from '../../../campaigns/commands/upload-rows.ts'
import type { CsvOptions } from '../../../files/csv-head.ts'
import { TooLargeError } from '../../../files/drafts.ts'
import type { FileStore } from '../../../files/store.ts'
import type { Config } from '../../../kernel/config.ts'
import type { RowFormat } from '../../../model/campaigns/file-formats.ts'
import { type Campaign, findOwnCampaign, idOf } from '../../../recipients/campaigns.ts'
import { readRefused } from '../../../recipients/snapshot.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../acting-account.ts'
import { ApiError, fileTooLarge, invalid, notFound } from '../../errors.ts'
import { flowingWhile } from '../../overload/slow-uploads.ts'
import type { ContextOf, Handlers, StreamedBody } from '../../route.ts'
import { shows } from '../answers.ts'
import { assertAnnounced, plainTypeOf, untilEnd } from '../csv-upload.ts'
import { IMPORT_MAX_BYTES } from '../fields.ts'
import { download, found, streamed } from '../requests.ts'
import type { campaigns } from './routes.ts'

type FileRoutes = Pick<typeof campaigns, 'rows' | 'export' | 'refused'>

/** Handlers of uploads and downloads of a campaign. */
export function campaignFileHandlers({
  redis,
  config,
}: {
  redis: Redis
  config: Pick<Config, 'retentionMs' | 'limits'> & { files: FileStore }
}): Handlers<FileRoutes> {
  return {
    async rows(call) {
      const { incoming, query } = call
      const format = formatOf(incoming)
      return untilEnd(incoming, async () => {
        refuseForNdjson(format, query)
        assertAnnounced(incoming)
        const campaign = await ownCampaign(redis, call)
        const { upload, figures } = incomingRows(format, flowingWhile(call.assertStillAllowed, incoming), query)
        await uploadRecipients({ redis, ...config }, campaign, upload, IMPORT_MAX_BYTES).catch((error: unknown) => {
          throw error instanceof TooLargeError ? fileTooLarge(IMPORT_MAX_BYTES) : error
        })
        return shows('rows uploaded', { id: idOf(campaign), ...figures() })
      })
    },

    async export(call) {
      const { format } = call.query
      const campaign = await ownCampaign(redis, call)
      const type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson'
      const lines = exportCampaign({ redis, files: config.files }, campaign, format)
      return streamed(call, lines, download(`${idOf(campaign)}.${format}`, type))
    },

    async refused(call) {
      const campaign = await ownCampaign(redis, call)
      if (campaign.snapshot === '') throw notFound('A preflight of this campaign')
      // Opened before the header is sent, so that a failure is still answered with its own status.
      const stream = await readRefused(config.files, campaign, campaign.snapshot)
      return { headers: download(`${idOf(campaign)}.refused.csv`, 'text/csv; charset=utf-8'), stream }
    },
  }
}

/** The campaign of the path, if it is the caller's. Acts on it go to the audit log of its account. */
export async function ownCampaign(
  redis: Redis,
  { params, caller, audit }: Pick<ContextOf<(typeof campaigns)['show']>, 'params' | 'caller' | 'audit'>,
): Promise<Campaign> {
  const campaign = found(await findOwnCampaign(redis, accountOf(caller), params.id), 'The campaign')
  audit({ account: campaign.account })
  return campaign
}

function formatOf(incoming: StreamedBody): RowFormat {
  const type = plainTypeOf(incoming)
  if (type === 'text/csv') return 'csv'
  if (type === 'application/x-ndjson') return 'ndjson'
  const sentence = 'Send the rows as Content-Type: text/csv or application/x-ndjson, not compressed.'
  throw new ApiError(415, 'unsupported_media_type', sentence)
}

/** Settings for CSV must not be ignored silently. */
function refuseForNdjson(format: RowFormat, options: CsvOptions): void {
  if (format === 'csv') return
  const faults = Object.keys(options).map((path) => ({ path, message: 'only for CSV, NDJSON is UTF-8' }))
  if (faults.length > 0) throw invalid(faults)
}
