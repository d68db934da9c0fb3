// Where the bytes of a picture, a video or another file of a message come from: a link that WhatsApp fetches, WhatsApp's own id
// of an upload, or a file of the account's gallery, which Laneway uploads before it sends.
import { z } from 'zod'
import { type Context, filledTextUpTo, linkSchema } from './bounded.ts'
import { quoted } from './fault.ts'
import { LIMITS } from './limits.ts'

const FILE_ID = /^[1-9]\d{0,15}$/

/** The id of a file of the gallery as text, however it was written. */
const galleryFileSchema = z
  .union([z.string(), z.number()])
  .transform((given, context): string => {
    if (FILE_ID.test(String(given))) return String(given)
    const message = `expected the id of a file of the gallery, got ${quoted(given)}`
    context.issues.push({ code: 'custom', message, input: given })
    return z.NEVER
  })
  .meta({
    type: ['string', 'integer'],
    description:
      'Id of a file of the gallery. Laneway uploads it to WhatsApp once for each sender, and again before WhatsApp forgets it; ' +
      'a sender whose provider takes no uploads is given the public address of the file.',
  })

const mediaIdSchema = filledTextUpTo(LIMITS.mediaId)
  .refine((id) => id.length > LIMITS.mediaId || /^[\x21-\x7e]+$/.test(id), {
    error: (issue) => `expected printable characters without spaces, got ${quoted(issue.input)}`,
  })
  .meta({
    description: 'WhatsApp’s id of a file that was uploaded for the sender. Only where its provider is cloud-api.',
  })

/** The fields of which a media object has exactly one; other fields of the object stand beside them. */
export const mediaSource = {
  link: linkSchema.optional(),
  id: mediaIdSchema.optional(),
  gallery: galleryFileSchema.optional(),
}

/** A media object of a message as far as its bytes go. */
export interface MediaSource {
  link?: string | undefined
  id?: string | undefined
  gallery?: string | undefined
}

const SOURCES = ['link', 'id', 'gallery'] as const

/** A check of media objects: exactly one of link, id and gallery. Without any, the link is what is missing. */
export function oneSource({ value, issues }: { value: MediaSource } & Context): void {
  const given = SOURCES.filter((field) => value[field] !== undefined)
  if (given.length === 1) return
  if (given.length === 0) issues.push({ code: 'invalid_type', expected: 'string', path: ['link'], input: undefined })
  else
    issues.push({
      code: 'custom',
      message: `expected one of link, id and gallery, got ${given.join(' and ')}`,
      input: value,
    })
}

/** What stands for a file where there is nothing else to read: its link, or which file it is. */
export const sourceText = ({ link, id, gallery }: MediaSource): string =>
  link ?? (id === undefined ? `file ${gallery ?? ''} of the gallery` : `file ${id} of WhatsApp`)
