// Uploads a file to WhatsApp for one number: `POST /{version}/{phone_number_id}/media`, as a form that is streamed, so that a file
// of 100 MB takes no more memory than one of 1 KB. WhatsApp's resumable uploads (`/{app_id}/uploads`) give handles for
// templates and profiles; messages take none of those.
import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { type Agent, request } from 'undici'
import { z } from 'zod'
import type { CallEnd } from '../model/messages/outcome.ts'
import type { ProviderSender, UploadedFile } from '../model/provider.ts'
import { causeOf, readRetryAfter, readText } from '../outbound/answers.ts'
import { createTargetAgent } from '../outbound/target-agent.ts'
import { anywhere } from '../outbound/target-rule.ts'
import { isProviderId, parseJson } from './answer-body.ts'
import { readRefusal } from './cloud-refusal.ts'

/** Uploads that one process makes at a time, at most, of one account half of them; each holds some hundred KB. */
export const UPLOADS_AT_ONCE = 8
/** Longest answer that is read. */
const ANSWER_BYTES = 64 * 1024
/** The answer must begin within `begin` of the last byte, and the whole be over within `whole`. */
const LIMITS_MS = { begin: 60_000, whole: 10 * 60_000 }

const uploaded = z.object({ id: z.union([z.string(), z.int()]).transform(String).refine(isProviderId) })

export type CloudUploads = ReturnType<typeof createCloudUploads>

/** `version`: of the Graph API, as in `v25.0`. */
export function createCloudUploads(version: string, limitsMs = LIMITS_MS) {
  const agent = createTargetAgent(anywhere, UPLOADS_AT_ONCE)
  return {
    /**
     * Uploads the file once and resolves to how that ended; `accepted` has WhatsApp's id of it. Rejects only as reading the file
     * does, or when it has fewer bytes than declared.
     */
    upload: (sender: ProviderSender, file: UploadedFile, stopped: AbortSignal): Promise<CallEnd> =>
      post(agent, `${sender.baseUrl}/${version}/${encodeURIComponent(sender.phoneNumberId)}/media`, {
        ...{ token: sender.token, file, limitsMs, stopped },
      }),
    close: (): Promise<void> => agent.destroy(),
  }
}

async function post(
  agent: Agent,
  url: string,
  {
    token,
    file,
    limitsMs,
    stopped,
  }: { token: string; file: UploadedFile; limitsMs: typeof LIMITS_MS; stopped: AbortSignal },
): Promise<CallEnd> {
  const source: { error?: unknown } = {}
  const { boundary, head, tail } = formAround(file)
  try {
    const answer = await request(url, {
      dispatcher: agent,
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'user-agent': 'laneway',
        'content-type': `multipart/form-data; boundary=${boundary}`,
        'content-length': String(head.length + file.size + tail.length),
      },
      body: Readable.from(inPieces(head, file, tail, source), { objectMode: false }),
      headersTimeout: limitsMs.begin,
      bodyTimeout: limitsMs.begin,
      signal: AbortSignal.any([AbortSignal.timeout(limitsMs.whole), stopped]),
    })
    const retryAfterMs = readRetryAfter(answer.headers['retry-after'], Date.now())
    return readAnswer(answer.statusCode, await readText(answer.body, ANSWER_BYTES), retryAfterMs)
  } catch (error) {
    if (source.error !== undefined) throw source.error
    return { kind: 'unanswered', cause: causeOf(error) }
  }
}

/** The form without the bytes of the file, which stand between the two. */
function formAround({ mimeType, extension }: UploadedFile): { boundary: string; head: Buffer; tail: Buffer } {
  const boundary = `laneway-${randomBytes(18).toString('hex')}`
  const field = (name: string, value: string): string =>
    `--${boundary}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`
  // Its name in the gallery may be somebody's; WhatsApp shows none but that of the message.
  const name = `file.${extension.replace(/[^a-z0-9]/gi, '') || 'bin'}`
  const type = mimeType.replace(/[^\x21-\x7e]/g, '')
  const file = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="${name}"\r\nContent-Type: ${type}\r\n\r\n`
  const head = Buffer.from(`${field('messaging_product', 'whatsapp')}${field('type', type)}${file}`)
  return { boundary, head, tail: Buffer.from(`\r\n--${boundary}--\r\n`) }
}

/** Notes what went wrong with the file, for undici wraps it. */
async function* inPieces(head: Buffer, file: UploadedFile, tail: Buffer, source: { error?: unknown }) {
  yield head
  let bytes = 0
  try {
    for await (const piece of file.content) {
      const chunk = Buffer.from(piece)
      bytes += chunk.length
      if (bytes > file.size) break
      yield chunk
    }
    if (bytes !== file.size) throw new Error('the file has another length than its record says')
  } catch (error) {
    source.error = error
    throw error
  }
  yield tail
}

function readAnswer(status: number, text: string, retryAfterMs: number | undefined): CallEnd {
  const body = parseJson(text)
  const { data } = status >= 200 && status < 300 ? uploaded.safeParse(body) : { data: undefined }
  if (data !== undefined) return { kind: 'accepted', providerId: data.id }
  return readRefusal(status, body, retryAfterMs)
}
