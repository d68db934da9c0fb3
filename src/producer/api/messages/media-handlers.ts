// The file of a received message, as WhatsApp has it. People may have sent anything, so nothing is shown inline:
// every file is saved, whatever its type.
import type { Readable } from 'node:stream'
import { assertForSender } from '../../../accounts/check-key.ts'
import { cachedSender, providerSenderOf } from '../../../accounts/senders.ts'
import type { FileStore } from '../../../files/store.ts'
import { contentPath } from '../../../gallery/content.ts'
import { findFile } from '../../../gallery/files.ts'
import { cutText } from '../../../kernel/cut-text.ts'
import type { Seal } from '../../../kernel/seal.ts'
import { archiveOf, type InboundMessage } from '../../../lanes/archive/archive.ts'
import { type MediaSource, MOST_OPEN } from '../../../providers/cloud-media.ts'
import type { Redis } from '../../../redis/connect.ts'
import { ApiError, overloaded } from '../../errors.ts'
import { accountHolder, createFairShares } from '../../overload/fair-shares.ts'
import type { Handlers, StreamAnswer } from '../../route.ts'
import { found } from '../requests.ts'
import { forMessage } from './message-account.ts'
import type { messages } from './routes.ts'

export interface MediaDeps {
  redis: Redis
  seal: Seal
  media: MediaSource
  files: FileStore
}

/** Types that are harmless to save; any other is served as application/octet-stream. */
const TYPES = [
  /image\/(?:jpeg|png|webp|gif)/,
  /(?:audio|video)\/[\w.+-]+/,
  /text\/plain/,
  /application\/(?:pdf|msword|zip|vnd\.[\w.+-]+)/,
]
const HARMLESS = new RegExp(`^(?:${TYPES.map(({ source }) => source).join('|')})(?:;[ \\w.+=-]*)?$`, 'i')

/** Handler of `/messages/{id}/media`. */
export function mediaHandlers(deps: MediaDeps): Handlers<Pick<typeof messages, 'media'>> {
  const { redis, seal, media } = deps
  const shares = createFairShares(MOST_OPEN)

  return {
    async media({ params, caller }) {
      const { account } = await forMessage(redis, caller, params.id)
      const inbound = found(await archiveOf(redis).find({ account, id: params.id }), 'The received message')
      assertForSender(caller, inbound.lane)
      const file = found(inbound.parts.media, 'A file of this message')
      const kept = await fromGallery(deps, account, inbound)
      if (kept !== undefined) return kept
      const sender = await cachedSender(redis, inbound.lane)
      // The token was removed with the sender.
      if (sender === undefined || sender.removed_at !== undefined)
        throw gone('The sender that received it was removed.')
      const holder = accountHolder(account)
      if (!shares.hasRoomFor(holder)) throw overloaded()
      let isTakenBack = false
      let stream: Readable | undefined
      const share = shares.hold(holder, () => {
        isTakenBack = true
        stream?.destroy()
      })
      share.add(1)
      try {
        const opened = await media.open(providerSenderOf(seal, sender), file.id)
        if (opened.kind === 'found') {
          stream = opened.stream.once('close', share.release)
          if (isTakenBack) stream.destroy()
          return answerOf(opened, { name: file.filename, type: file.mime_type })
        }
        if (opened.kind === 'gone') throw gone('WhatsApp does not keep this file any more.')
        if (opened.kind === 'too_large') throw unavailable('The file that WhatsApp has is too large.')
        const cause = new Error(`WhatsApp: ${opened.cause}`)
        throw unavailable('WhatsApp did not hand the file over; try again later.', cause)
      } catch (error) {
        share.release()
        throw error
      }
    },
  }
}

/** The file, where it was fetched into the gallery before; WhatsApp has it for seven days only. */
async function fromGallery(
  { redis, files }: MediaDeps,
  account: number,
  { gallery_file: id, parts }: InboundMessage,
): Promise<StreamAnswer | undefined> {
  const file = id === undefined ? undefined : await findFile(redis, account, id)
  if (file === undefined) return undefined
  try {
    const stream = await files.read(contentPath(file.hash))
    const named = { name: parts.media?.filename, type: parts.media?.mime_type }
    return answerOf({ kind: 'found', mimeType: file.mime_type, bytes: file.size, stream }, named)
  } catch {
    return undefined
  }
}

const unavailable = (message: string, cause?: Error): ApiError =>
  new ApiError(502, 'media_unavailable', message, { cause })

const gone = (message: string): ApiError => new ApiError(410, 'media_gone', message)

function answerOf(
  { mimeType, bytes, stream }: Extract<Awaited<ReturnType<MediaSource['open']>>, { kind: 'found' }>,
  received: { name: string | undefined; type: string | undefined },
): StreamAnswer {
  const named = mimeType ?? received.type ?? ''
  return {
    headers: {
      'Content-Type': HARMLESS.test(named) ? named : 'application/octet-stream',
      ...(bytes === undefined ? {} : { 'Content-Length': String(bytes) }),
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-store',
    },
    stream,
    // Half of a character has no form in a header.
    saveAs: cutText(received.name?.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '') ?? '', 200) || 'file',
  }
}
