// Files that people have sent: `GET /v25.0/{id}` returns the address of one, and `GET /_media/{id}` its bytes, both for any token
// that the simulator accepts.
import { createHash, randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { BoundedMap } from './bounded-map.ts'

/** A file as it was sent. */
export interface MediaFile {
  bytes: Buffer
  mimeType: string
}

const KEPT = 1_000
/** As WhatsApp writes a hash. */
export const sha256Of = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('base64')

/** The latest files, by their ids. */
export class MediaFiles {
  readonly #files = new BoundedMap<MediaFile>(KEPT)

  /** Takes a file in and gives it an id. */
  add(file: MediaFile): string {
    const id = String(1_000_000_000_000_000 + randomBytes(6).readUIntBE(0, 6))
    this.#files.set(id, file)
    return id
  }

  get(id: string): MediaFile | undefined {
    return this.#files.get(id)
  }

  /** The API's description of a file; undefined when there is none. */
  described(id: string, request: IncomingMessage): Record<string, unknown> | undefined {
    const file = this.get(id)
    if (file === undefined) return undefined
    return {
      messaging_product: 'whatsapp',
      url: `http://${request.headers.host ?? ''}/_media/${id}`,
      mime_type: file.mimeType,
      sha256: createHash('sha256').update(file.bytes).digest('hex'),
      file_size: String(file.bytes.length),
      id,
    }
  }
}
