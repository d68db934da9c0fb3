// Files that came with received messages, fetched from WhatsApp: its API says where the bytes are and they are read from there.
// That address comes from outside, so the request goes only to the API's own host, or by https to a public address, and the
// sender's token only to the API's own host and those of WhatsApp.
import { pipeline, type Readable, Transform } from 'node:stream'
import { type Agent, request } from 'undici'
import { z } from 'zod'
import { TooLargeError } from '../files/drafts.ts'
import type { ProviderSender } from '../model/provider.ts'
import { causeOf, readText } from '../outbound/answers.ts'
import { createTargetAgent } from '../outbound/target-agent.ts'
import { anywhere, createTargetRule } from '../outbound/target-rule.ts'
import { parseJson } from './answer-body.ts'

/** The largest file that WhatsApp takes from a person. */
export const MEDIA_MAX_BYTES = 100 * 1024 * 1024
/** Files that one process has open at a time. */
export const MOST_OPEN = 32
/** Longest answer to the question where a file is. */
const LOOK_UP_BYTES = 64 * 1024
/**
 * The answer to where a file is must come within `lookUp`; the file itself must begin within `begin`, never pause for
 * longer than `pause`, and be there as a whole within `whole`.
 */
const LIMITS_MS = { lookUp: 10_000, begin: 15_000, pause: 30_000, whole: 10 * 60_000 }

/** `gone`: WhatsApp keeps it no longer. `unavailable`: it could not be had now; `cause` is a word for the log. */
export type MediaEnd =
  | { kind: 'found'; mimeType: string | undefined; bytes: number | undefined; stream: Readable }
  | { kind: 'gone' }
  | { kind: 'too_large' }
  | { kind: 'unavailable'; cause: string }

const whereSchema = z.object({
  url: z.url({ protocol: /^https?$/ }),
  mime_type: z.string().max(200).optional().catch(undefined),
  /** A number, or one as text. */
  file_size: z.coerce.number().int().nonnegative().optional().catch(undefined),
})
const errorSchema = z.object({
  error: z.object({ code: z.number(), error_subcode: z.number().optional().catch(undefined) }),
})

export type MediaSource = ReturnType<typeof createMediaSource>

/** `version`: of the Graph API, as in `v25.0`. */
export function createMediaSource(version: string, limitsMs = LIMITS_MS) {
  // An address that the API answers must be public.
  const own = createTargetAgent(anywhere, MOST_OPEN)
  const elsewhere = createTargetAgent(createTargetRule([]), MOST_OPEN)

  return {
    /**
     * Opens a file of WhatsApp's by its id. Never rejects. The stream fails when the file ends too early, is too
     * large, or takes too long; destroying it ends the request.
     */
    async open(sender: ProviderSender, id: string): Promise<MediaEnd> {
      const where = await lookUp(own, sender, id, { version, limitMs: limitsMs.lookUp })
      if (where.kind !== 'where') return where
      if (where.file_size !== undefined && where.file_size > MEDIA_MAX_BYTES) return { kind: 'too_large' }
      const url = new URL(where.url)
      const isOwn = url.origin === new URL(sender.baseUrl).origin
      const token = isOwn || isWhatsApps(url) ? sender.token : undefined
      return read(isOwn ? own : elsewhere, url, { token, where, limitsMs })
    },

    close: async (): Promise<void> => {
      await Promise.all([own.destroy(), elsewhere.destroy()])
    },
  }
}

/** The domains that WhatsApp's API names for files. */
const WHATSAPPS = /(?:^|\.)(?:fbsbx\.com|fbcdn\.net|facebook\.com|whatsapp\.net|whatsapp\.com)$/

/** Whether an address is one of WhatsApp's own, which may see a sender's token. */
export const isWhatsApps = ({ protocol, hostname }: URL): boolean => protocol === 'https:' && WHATSAPPS.test(hostname)

const headersOf = (token: string | undefined) => ({
  ...(token !== undefined && { authorization: `Bearer ${token}` }),
  'user-agent': 'laneway',
  'accept-encoding': 'identity',
})

type Where = { kind: 'where' } & z.infer<typeof whereSchema>

async function lookUp(
  agent: Agent,
  { baseUrl, token, phoneNumberId }: ProviderSender,
  id: string,
  { version, limitMs }: { version: string; limitMs: number },
): Promise<Where | Exclude<MediaEnd, { kind: 'found' }>> {
  const query = phoneNumberId === '' ? '' : `?phone_number_id=${encodeURIComponent(phoneNumberId)}`
  try {
    const signal = AbortSignal.timeout(limitMs)
    const url = `${baseUrl}/${version}/${encodeURIComponent(id)}${query}`
    const { statusCode, body } = await request(url, { dispatcher: agent, headers: headersOf(token), signal })
    const answer = parseJson(await readText(body, LOOK_UP_BYTES))
    if (statusCode === 200) {
      const where = whereSchema.safeParse(answer)
      return where.success ? { kind: 'where', ...where.data } : { kind: 'unavailable', cause: 'unreadable_answer' }
    }
    if (statusCode === 404 || isGone(answer)) return { kind: 'gone' }
    return { kind: 'unavailable', cause: `http_${statusCode}` }
  } catch (error) {
    return { kind: 'unavailable', cause: causeOf(error) }
  }
}

/** A missing object, or one of another number. */
function isGone(answer: unknown): boolean {
  const { data } = errorSchema.safeParse(answer)
  return data?.error.code === 100 && data.error.error_subcode === 33
}

async function read(
  agent: Agent,
  url: URL,
  { token, where, limitsMs }: { token: string | undefined; where: Where; limitsMs: typeof LIMITS_MS },
): Promise<MediaEnd> {
  try {
    const { statusCode, headers, body } = await request(url, {
      dispatcher: agent,
      headers: headersOf(token),
      headersTimeout: limitsMs.begin,
      bodyTimeout: limitsMs.pause,
      signal: AbortSignal.timeout(limitsMs.whole),
    })
    if (statusCode !== 200) {
      // The body of an error is not for the client; how its connection ends is ignored.
      body.on('error', () => {}).destroy()
      // A redirect is no file: it could lead anywhere, with the token.
      return statusCode === 404 || statusCode === 410
        ? { kind: 'gone' }
        : { kind: 'unavailable', cause: `http_${statusCode}` }
    }
    const length = Number(headers['content-length'] ?? Number.NaN)
    const bytes = Number.isSafeInteger(length) ? length : undefined
    if ((headers['content-encoding'] ?? 'identity') !== 'identity') {
      body.on('error', () => {}).destroy()
      return { kind: 'unavailable', cause: 'compressed' }
    }
    if (bytes !== undefined && bytes > MEDIA_MAX_BYTES) {
      body.on('error', () => {}).destroy()
      return { kind: 'too_large' }
    }
    const type = headers['content-type']
    const mimeType = where.mime_type ?? (typeof type === 'string' ? type : undefined)
    return { kind: 'found', mimeType, bytes, stream: bounded(body) }
  } catch (error) {
    return { kind: 'unavailable', cause: causeOf(error) }
  }
}

/** Fails beyond the limit, so that an answer that is cut does not look whole. */
function bounded(body: Readable): Readable {
  let read = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      read += chunk.length
      if (read > MEDIA_MAX_BYTES) next(new TooLargeError('the file is larger than WhatsApp allows'))
      else next(null, chunk)
    },
  })
  // Either end takes the other with it.
  pipeline(body, counted, () => {})
  return counted
}
