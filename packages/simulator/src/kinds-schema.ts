// The kinds of messages that are neither interactive nor a template, as each wire takes them.

import { z } from 'zod'
import { link, oneSource, source, text, type Wire } from './schema-parts.ts'

/** The message that is answered. A reaction takes none: it names its message itself. */
export const context = z.strictObject({ message_id: z.string().min(1) }).optional()

const caption = z.string().max(1024).optional()
const filename = z.string().min(1).optional()
const line = z.string().optional()

const card = z.strictObject({
  name: z.strictObject({
    formatted_name: z.string().min(1),
    first_name: line,
    last_name: line,
    middle_name: line,
    suffix: line,
    prefix: line,
  }),
  birthday: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/)
    .optional(),
  phones: z.array(z.strictObject({ phone: line, type: line, wa_id: line })).optional(),
  emails: z.array(z.strictObject({ email: line, type: line })).optional(),
  urls: z.array(z.strictObject({ url: link.optional(), type: line })).optional(),
  addresses: z
    .array(
      z.strictObject({
        ...{ street: line, city: line, state: line, zip: line },
        ...{ country: line, country_code: line, type: line },
      }),
    )
    .optional(),
  org: z.strictObject({ company: line, department: line, title: line }).optional(),
})

/** Every such kind, each with the fields of the envelope beside it. */
export function plainKinds<Envelope extends z.core.$ZodLooseShape>(wire: Wire, envelope: Envelope) {
  const captioned = z.strictObject({ ...source, caption }).refine(...oneSource(wire))
  const bare = z.strictObject(source).refine(...oneSource(wire))
  const audio = wire === 'cloud' ? z.strictObject({ ...source, voice: z.boolean().optional() }) : z.strictObject(source)
  return [
    z.strictObject({
      ...envelope,
      type: z.literal('text'),
      text: z.strictObject({ body: text(4096), preview_url: z.boolean().optional() }),
      context,
    }),
    z.strictObject({ ...envelope, type: z.literal('image'), image: captioned, context }),
    z.strictObject({ ...envelope, type: z.literal('video'), video: captioned, context }),
    z.strictObject({ ...envelope, type: z.literal('audio'), audio: audio.refine(...oneSource(wire)), context }),
    z.strictObject({
      ...envelope,
      type: z.literal('document'),
      document: z.strictObject({ ...source, caption, filename }).refine(...oneSource(wire)),
      context,
    }),
    z.strictObject({ ...envelope, type: z.literal('sticker'), sticker: bare, context }),
    z.strictObject({
      ...envelope,
      type: z.literal('location'),
      location: z.strictObject({
        latitude: z.number().min(-90).max(90),
        longitude: z.number().min(-180).max(180),
        name: line,
        address: line,
      }),
      context,
    }),
    z.strictObject({ ...envelope, type: z.literal('contacts'), contacts: z.array(card).min(1).max(5), context }),
    z.strictObject({
      ...envelope,
      type: z.literal('reaction'),
      reaction: z.strictObject({ message_id: z.string().min(1), emoji: z.string().max(40) }),
    }),
  ] as const
}
