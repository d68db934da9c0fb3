// The file of a received message, as the chat product has it. Whoever wrote may have sent anything, so nothing is shown
// inline: it is saved, whatever it calls itself.
import type { Readable } from 'node:stream'
import type { Seal } from '../../../accounts/seal.ts'
import { cachedSender, tokenPlaceOf } from '../../../accounts/store/senders.ts'
import { assertForSender } from '../../../messages/accept/check-key.ts'
import { findInbound } from '../../../messages/store/inbound.ts'
import { type MediaSource, MOST_OPEN } from '../../../providers/cloud-media.ts'
import type { Redis } from '../../../redis/connect.ts'
import { ApiError, notFound, overloaded } from '../../errors.ts'
import type { CallOf, Handlers, StreamAnswer } from '../../route.ts'
import { accountHolder, createShares } from '../../shares.ts'
import type { messages } from './routes.ts'

interface MessageMediaDeps {
  redis: Redis
  seal: Seal
  media: MediaSource
}

/** What a browser does with them when it has to save them: nothing. All else goes by no name. */
const TYPES =
  /^(?:image\/(?:jpeg|png|webp|gif)|audio\/[\w.+-]+|video\/[\w.+-]+|text\/plain|application\/(?:pdf|msword|zip|vnd\.[\w.+-]+))(?:;[ \w.+=-]*)?$/i

/** Handler of `/messages/{id}/media`. */
export function messageMediaHandlers(deps: MessageMediaDeps): Handlers<Pick<typeof messages, 'media'>> {
  const { redis, seal, media } = deps
  const shares = createShares(MOST_OPEN)

  return {
    async media({ params, caller }: CallOf<typeof messages.media>) {
      const inbound = await findInbound(redis, caller.account, params.id)
      if (inbound === undefined) throw notFound('The received message')
      assertForSender(caller, inbound.lane)
      const file = inbound.parts.media
      if (file === undefined) throw notFound('A file of this message')
      const sender = await cachedSender(redis, inbound.lane)
      // Its token went with it.
      if (sender === undefined || sender.removed_at !== undefined)
        throw gone('The sender that received it was removed.')
      const holder = accountHolder(caller.account)
      if (!shares.hasRoomFor(holder)) throw overloaded()
      let isTakenBack = false
      let stream: Readable | undefined
      const share = shares.hold(holder, () => {
        isTakenBack = true
        stream?.destroy()
      })
      share.add(1)
      try {
        const token = seal.decrypt(sender.token, tokenPlaceOf(sender))
        const { number, base_url: baseUrl, phone_number_id: phoneNumberId } = sender
        const found = await media.open({ number, baseUrl, token, phoneNumberId }, file.id)
        if (found.kind === 'found') {
          stream = found.stream.once('close', share.release)
          if (isTakenBack) stream.destroy()
          return answerOf(found, { name: file.filename, type: file.mime_type })
        }
        if (found.kind === 'gone') throw gone('WhatsApp does not keep this file any more.')
        if (found.kind === 'too_large') {
          throw new ApiError(502, 'media_unavailable', 'WhatsApp has a file there that is larger than it may be.')
        }
        throw new ApiError(502, 'media_unavailable', 'WhatsApp did not hand the file over; try again later.', {
          cause: new Error(`WhatsApp: ${found.cause}`),
        })
      } catch (error) {
        share.release()
        throw error
      }
    },
  }
}

const gone = (message: string): ApiError => new ApiError(410, 'media_gone', message)

function answerOf(
  { mimeType, bytes, stream }: Extract<Awaited<ReturnType<MediaSource['open']>>, { kind: 'found' }>,
  received: { name: string | undefined; type: string | undefined },
): StreamAnswer {
  const named = mimeType ?? received.type ?? ''
  return {
    headers: {
      'Content-Type': TYPES.test(named) ? named : 'application/octet-stream',
      ...(bytes === undefined ? {} : { 'Content-Length': String(bytes) }),
      'Content-Security-Policy': "default-src 'none'; sandbox",
      'X-Content-Type-Options': 'nosniff',
      'Cache-Control': 'private, no-store',
    },
    stream,
    saveAs: received.name?.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, '').slice(0, 200) || 'file',
  }
}
