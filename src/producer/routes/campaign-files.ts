// The files of a campaign, streamed in and out.
//
//   POST /campaigns/{id}/rows                          text/csv or application/x-ndjson: a row per recipient
//   GET  /campaigns/{id}/export?format=csv|ndjson      what became of every recipient
//   GET  /campaigns/{id}/refused                       who was left out by the preflight and why, CSV
import { createReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Request, Response } from 'express'
import { z } from 'zod'
import { countingRows } from '../../campaigns/commands/count-rows.ts'
import { EXPORT_FORMATS, exportCampaign } from '../../campaigns/commands/export.ts'
import { takeRows } from '../../campaigns/commands/upload-recipients.ts'
import { idOf } from '../../campaigns/store/campaigns.ts'
import { campaignFolder, type RowFormat, TooLargeError } from '../../campaigns/store/files.ts'
import { refusedFile } from '../../campaigns/store/snapshot.ts'
import { counted } from '../../messages/fault.ts'
import { ApiError, notFound } from '../errors.ts'
import { fieldsOf } from '../fields.ts'
import { flowing } from '../flowing.ts'
import type { Answer, Call, Route } from '../route.ts'
import { type CampaignDeps, mayChange, mayLook, ownCampaign } from './campaigns.ts'

/** Some ten million rows; they go to disk as they come. */
const ROWS_MAX_BYTES = 1024 ** 3

const exportQuery = z.strictObject({ format: z.enum(EXPORT_FORMATS).default('csv') })

export function campaignFileRoutes({ redis, config }: CampaignDeps): Route[] {
  async function upload(call: Call): Promise<Answer> {
    const { request } = call
    const format = formatOf(request)
    try {
      const campaign = await ownCampaign(redis, call)
      const { bytes, rows } = countingRows(format, flowing(request))
      await takeRows({ redis, ...config }, campaign, format, bytes, ROWS_MAX_BYTES)
      return { body: { status: true, message: 'rows uploaded', data: { id: idOf(campaign), rows: rows() } } }
    } catch (error) {
      // What is left of it is read and dropped, so that the client gets to read the answer.
      request.resume()
      if (error instanceof TooLargeError) {
        throw new ApiError(413, 'too_large', `The rows are too large: at most ${counted(ROWS_MAX_BYTES, 'byte')}.`)
      }
      if (request.destroyed && !request.complete)
        throw new ApiError(400, 'invalid_body', 'The body ended before its announced length.')
      throw error
    }
  }

  async function exported(call: Call): Promise<Answer> {
    const { format } = fieldsOf(exportQuery, call.query)
    const campaign = await ownCampaign(redis, call)
    const lines = exportCampaign({ redis, dataDir: config.dataDir }, campaign, format)
    // Before the header is sent, so that what cannot be read is still answered as what it is.
    const first = await lines.next()
    async function* all() {
      if (!first.done) yield first.value
      yield* lines
    }
    const type = format === 'csv' ? 'text/csv; charset=utf-8' : 'application/x-ndjson'
    return { write: (response) => download(response, `${idOf(campaign)}.${format}`, type, Readable.from(all())) }
  }

  async function refused(call: Call): Promise<Answer> {
    const campaign = await ownCampaign(redis, call)
    if (campaign.snapshot === '') throw notFound('A preflight of this campaign')
    const path = refusedFile(campaignFolder(config.dataDir, campaign), campaign.snapshot)
    await (await open(path)).close()
    const name = `${idOf(campaign)}.refused.csv`
    return { write: (response) => download(response, name, 'text/csv; charset=utf-8', createReadStream(path)) }
  }

  return [
    { method: 'post', path: '/campaigns/:id/rows', access: mayChange, body: { as: 'stream' }, handle: upload },
    { method: 'get', path: '/campaigns/:id/export', access: mayLook, body: { as: 'ignored' }, handle: exported },
    { method: 'get', path: '/campaigns/:id/refused', access: mayLook, body: { as: 'ignored' }, handle: refused },
  ]
}

function formatOf(request: Request): RowFormat {
  const type = (request.get('content-type') ?? '').split(';')[0]?.trim().toLowerCase()
  const isPlain = (request.get('content-encoding') ?? 'identity').toLowerCase() === 'identity'
  if (type === 'text/csv' && isPlain) return 'csv'
  if (type === 'application/x-ndjson' && isPlain) return 'ndjson'
  const sentence = 'Send the rows as Content-Type: text/csv or application/x-ndjson, not compressed.'
  throw new ApiError(415, 'unsupported_media_type', sentence)
}

/** Writes as fast as the client reads. When reading fails, the connection is cut: the answer must not look whole. */
async function download(response: Response, name: string, type: string, content: Readable): Promise<void> {
  response.status(200).set({ 'Content-Type': type, 'Content-Disposition': `attachment; filename="${name}"` })
  try {
    await pipeline(content, response)
  } catch (error) {
    // Who hangs up in the middle needs no answer.
    if (!(error instanceof Error && 'code' in error && error.code === 'ERR_STREAM_PREMATURE_CLOSE')) throw error
  }
}
