// Files that a business has uploaded: `POST /v25.0/{phone-number-id}/media`, a form with `messaging_product` and `file`, gives an id
// that messages of that number may name until it ends. Of a file only its size and hash are kept.
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import busboy from 'busboy'
import { BoundedMap } from './bounded-map.ts'
import { type ChatErrorCode, excerpt, type Refusal } from './chat-errors.ts'

/** As long as WhatsApp keeps one. */
const LASTS_MS = 30 * 24 * 60 * 60 * 1000
const KEPT = 10_000
const MB = 1024 * 1024

/** Largest file of each type; documents are all others. */
const LIMITS: readonly (readonly [RegExp, number])[] = [
  [/^audio\/(aac|amr|mpeg|mp4|ogg|opus)$/, 16 * MB],
  [/^image\/(jpeg|png)$/, 5 * MB],
  [/^image\/webp$/, MB / 2],
  [/^video\/(mp4|3gpp)$/, 16 * MB],
  [
    /^(text\/plain|application\/(pdf|msword|vnd\.(ms-excel|ms-powerpoint|openxmlformats-officedocument\..+)))$/,
    100 * MB,
  ],
]

/** One uploaded file, as `GET /_uploads` shows it. */
interface Upload {
  id: string
  /** Phone number id. */
  sender: string
  at_ms: number
  mime_type: string
  bytes: number
  /** Hex. */
  sha256: string
}

/** Where a message names a file, in the brackets of WhatsApp's answers, and how. */
interface NamedMedium {
  path: string
  id: string | undefined
  link: string | undefined
}

/** The uploads of all numbers, and how they misbehave. */
export class Uploads {
  readonly #uploads = new BoundedMap<Upload & { endsMs: number }>(KEPT)
  readonly #made: Upload[] = []
  /** How long an id is good for. */
  lastsMs = LASTS_MS
  /** What every upload is refused with; null: none is. */
  refusedWith: ChatErrorCode | null = null
  /** Milliseconds before an upload is answered. */
  delayMs = 0
  /** Whether WhatsApp's server is refused by every server that a link names, with 429. */
  linksRefused = false

  /** All ids end now. */
  endAll(): void {
    for (const { id } of this.#made) {
      const upload = this.#uploads.get(id)
      if (upload !== undefined) upload.endsMs = 0
    }
  }

  /** All that were taken, oldest first. */
  list(): readonly Upload[] {
    return this.#made
  }

  /** Takes the file of a form. */
  async take(sender: string, request: IncomingMessage): Promise<{ id: string } | { refusal: Refusal }> {
    const form = await readForm(request)
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs))
    if (this.refusedWith !== null) return { refusal: { code: this.refusedWith } }
    const fault = faultOf(form)
    if (fault !== undefined || form === undefined) return { refusal: { code: 100, details: fault ?? 'No form.' } }
    const id = String(1_000_000_000_000_000 + randomBytes(6).readUIntBE(0, 6))
    const { mimeType: mime_type, bytes, sha256 } = form
    const upload = { id, sender, at_ms: Date.now(), mime_type, bytes, sha256 }
    this.#made.push(upload)
    if (this.#made.length > KEPT) this.#made.shift()
    this.#uploads.set(id, { ...upload, endsMs: Date.now() + this.lastsMs })
    return { id }
  }

  /** The first medium of a message by an id that the number does not have, or no longer; undefined when all are good. */
  unknownIn(media: readonly NamedMedium[], sender: string): Refusal | undefined {
    const unknown = media.find(({ id }) => {
      const upload = id === undefined ? undefined : this.#uploads.get(id)
      return id !== undefined && (upload?.sender !== sender || upload.endsMs <= Date.now())
    })
    if (unknown === undefined) return undefined
    const details = `Param ${unknown.path}['id'] is not a valid whatsapp business account media attachment ID`
    return { code: 100, details }
  }
}

interface Form {
  product: string
  mimeType: string
  bytes: number
  sha256: string
}

/** The form, or undefined when there is none that can be read. Rejects when the connection breaks off. */
function readForm(request: IncomingMessage): Promise<Form | undefined> {
  return new Promise((resolve, reject) => {
    let form: busboy.Busboy
    try {
      form = busboy({ headers: request.headers })
    } catch {
      request
        .resume()
        .on('end', () => resolve(undefined))
        .on('error', reject)
      return
    }
    const read: Form = { product: '', mimeType: '', bytes: 0, sha256: '' }
    form.on('field', (name, value) => {
      if (name === 'messaging_product') read.product = value
    })
    form.on('file', (_name, content, { mimeType }) => {
      const hash = createHash('sha256')
      read.mimeType = mimeType
      content.on('data', (chunk: Buffer) => {
        read.bytes += chunk.length
        hash.update(chunk)
      })
      content.on('end', () => {
        read.sha256 = hash.digest('hex')
      })
    })
    form.on('close', () => resolve(read))
    form.on('error', () => {
      if (request.complete) resolve(undefined)
      else reject(new Error('the form is cut'))
    })
    request.on('error', reject)
    request.on('close', () => {
      if (!request.complete) reject(new Error('the client hung up'))
    })
    request.pipe(form)
  })
}

function faultOf(form: Form | undefined): string | undefined {
  if (form === undefined || form.mimeType === '') return 'The parameter file is required.'
  if (form.product !== 'whatsapp') return 'The parameter messaging_product is required.'
  const [, limit] = LIMITS.find(([type]) => type.test(form.mimeType)) ?? []
  if (limit === undefined)
    return `Param file must be a file with one of the known types - got ${excerpt(form.mimeType)}.`
  return form.bytes > limit ? `Param file is too large: ${form.bytes} bytes, at most ${limit}.` : undefined
}

const MEDIA = new Set(['image', 'video', 'document', 'audio', 'sticker', 'gif'])

/** Every medium that a message names, at any depth. */
export function mediaIn(value: unknown, path = ''): NamedMedium[] {
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, each]): NamedMedium[] => {
    const index = Array.isArray(value) ? `[${key}]` : `['${key}']`
    const here = path === '' ? key : `${path}${index}`
    if (!MEDIA.has(key.toLowerCase()) || typeof each !== 'object' || each === null) return mediaIn(each, here)
    const { id, link }: { id?: unknown; link?: unknown } = each
    return [
      { path: here, id: typeof id === 'string' ? id : undefined, link: typeof link === 'string' ? link : undefined },
    ]
  })
}
