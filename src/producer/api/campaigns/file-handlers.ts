// The files of a campaign, streamed in and out: rows, what became of every recipient, who was left out and why.
import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import { exportCampaign } from '../../../campaigns/commands/export.ts'
import { incomingRows } from '../../../campaigns/commands/incoming-rows.ts'
import { uploadRecipients } from '../../../campaigns/commands/upload-recipients.ts'
import type { RowFormat } from '../../../campaigns/file-formats.ts'
import { type Campaign, findOwnCampaign, idOf } from '../../../campaigns/store/campaigns.ts'
import { readRefused } from '../../../campaigns/store/snapshot.ts'
import type { Config } from '../../../config.ts'
import type { CsvSaid } from '../../../files/csv-head.ts'
import { TooLargeError } from '../../../files/drafts.ts'
import type { FileStore } from '../../../files/store.ts'
import { counted } from '../../../messages/fault.ts'
import type { Redis } from '../../../redis/connect.ts'
import { ApiError, invalid, notFound } from '../../errors.ts'
import { flowingWhile } from '../../flowing.ts'
import type { CallOf, Handlers, StreamAnswer } from '../../route.ts'
import { type campaigns, ROWS_MAX_BYTES } from './routes.ts'

type FileRoutes = Pick<typeof campaigns, 'rows' | 'export' | 'refused'>

/** Handlers of what is uploaded for a campaign and downloaded of it. */
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
      const format = formatOf(incoming.headers)
      try {
        // What announces its size need not be written down first.
        refuseForNdjson(format, query)
        if (Number(incoming.headers['content-length'] ?? 0) > ROWS_MAX_BYTES) throw new TooLargeError('announced')
        const campaign = await ownCampaign(redis, call)
        const { upload, figures } = incomingRows(format, flowingWhile(call.mayStill, incoming), query)
        await uploadRecipients({ redis, ...config }, campaign, upload, ROWS_MAX_BYTES)
        return { body: { status: true, message: 'rows uploaded', data: { id: idOf(campaign), ...figures() } } }
      } catch (error) {
        // What is left of it is read and dropped, so that the client gets to read the answer.
        incoming.resume()
        if (error instanceof TooLargeError) {
          throw new ApiError(413, 'too_large', `The rows are too large: at most ${counted(ROWS_MAX_BYTES, 'byte')}.`)
        }
        if (incoming.destroyed && !incoming.complete)
          throw new ApiError(400, 'invalid_body', 'The body ended before its announced length.')
        throw error
      }
    },

    async export(call) {
      const { format } = call.query
      const campaign = await ownCampaign(redis, call)
      const lines = call.inPieces(exportCampaign({ redis, files: config.files }, campaign, format))
      // Before the header is sent, so that what cannot be read is still answered as what it is.
      const first = await lines.next()
      async function* all() {
        if (!first.done) yield first.value
        yield* lines
      }
      const type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson'
      return download(`${idOf(campaign)}.${format}`, type, Readable.from(all()))
    },

    async refused(call) {
      const campaign = await ownCampaign(redis, call)
      if (campaign.snapshot === '') throw notFound('A preflight of this campaign')
      // What cannot be read is told before the header is sent.
      const list = await readRefused(config.files, campaign, campaign.snapshot)
      return download(`${idOf(campaign)}.refused.csv`, 'text/csv; charset=utf-8', list)
    },
  }
}

/** The campaign of the path, when it is the caller's. */
export async function ownCampaign(
  redis: Redis,
  { params, caller }: Pick<CallOf<(typeof campaigns)['show']>, 'params' | 'caller'>,
): Promise<Campaign> {
  const campaign = await findOwnCampaign(redis, caller.account, params.id)
  if (!campaign) throw notFound('The campaign')
  return campaign
}

function formatOf(headers: IncomingHttpHeaders): RowFormat {
  const type = (headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase()
  const isPlain = (headers['content-encoding'] ?? 'identity').toLowerCase() === 'identity'
  if (type === 'text/csv' && isPlain) return 'csv'
  if (type === 'application/x-ndjson' && isPlain) return 'ndjson'
  const sentence = 'Send the rows as Content-Type: text/csv or application/x-ndjson, not compressed.'
  throw new ApiError(415, 'unsupported_media_type', sentence)
}

/** What was said must not be left out without a word. */
function refuseForNdjson(format: RowFormat, said: CsvSaid): void {
  if (format === 'csv') return
  const faults = Object.keys(said).map((path) => ({ path, message: 'only for CSV, NDJSON is UTF-8' }))
  if (faults.length > 0) throw invalid(faults)
}

const download = (name: string, type: string, stream: Readable): StreamAnswer => ({
  headers: { 'Content-Type': type, 'Content-Disposition': `attachment; filename="${name}"` },
  stream,
})
