// The source of a media object's bytes: a link, an id from WhatsApp, or a file of the gallery.
import { z } from 'zod'
import { type Context, nonEmptyTextUpTo, textUpTo } from '../../kernel/bounded.ts'
import { quoted } from '../../kernel/fault.ts'
import { LIMITS } from './limits.ts'

/**
 * The address of a media file: absolute, http or https, at most 2,048 characters, kept exactly as it was written. Only its form is
 * checked. It is never fetched: a service that fetches addresses from request bodies can be turned against its own network.
 */
export const linkSchema = textUpTo(LIMITS.link)
  .refine((text) => text.length > LIMITS.link || isWebAddress(text), {
    error: (issue) => `expected an absolute http or https address, got ${quoted(issue.input)}`,
  })
  .meta({ format: 'uri', description: 'An absolute http or https address. Laneway never opens it.' })

/**
 * The URL parser alone is too lenient: it drops line breaks and outer spaces, and reads `http:host` and `http:///host` as
 * `http://host`.
 */
function isWebAddress(text: string): boolean {
  return /^https?:\/\/[^\s\p{Cc}/\\][^\s\p{Cc}]*$/iu.test(text) && isUrl(text)
}

/** Not `URL.canParse`: in Node 20.20.2, once V8 has optimised its caller, it refuses every address with an é or ü in it. */
function isUrl(text: string): boolean {
  try {
    return new URL(text) !== undefined
  } catch {
    return false
  }
}

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

const mediaIdSchema = nonEmptyTextUpTo(LIMITS.mediaId)
  .refine((id) => id.length > LIMITS.mediaId || /^[\x21-\x7e]+$/.test(id), {
    error: (issue) => `expected printable characters without spaces, got ${quoted(issue.input)}`,
  })
  .meta({
    description: 'WhatsApp’s id of a file that was uploaded for the sender. Only where its provider is cloud-api.',
  })

/** A media object has exactly one of these fields, besides others of its own. */
export const mediaSource = {
  link: linkSchema.optional(),
  id: mediaIdSchema.optional(),
  gallery: galleryFileSchema.optional(),
}

/** The fields of a media object that name its bytes. */
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
