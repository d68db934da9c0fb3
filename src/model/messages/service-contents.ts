// The contents of service messages: text, reaction, media files, location, contact cards.
import { z } from 'zod'
import { listUpTo, nonEmptyTextUpTo, textUpTo } from '../../kernel/bounded.ts'
import { quoted } from '../../kernel/fault.ts'
import { LIMITS } from './limits.ts'
import { mediaSource, oneSource } from './media-source.ts'

/** The id of another message: WhatsApp's, or ours of a message that was sent from the same sender. */
const otherMessageSchema = nonEmptyTextUpTo(LIMITS.messageId).meta({
  description: 'Id of a received message, or of one that was sent from the same sender.',
})

/** Accompanies every kind but a reaction, which names its message itself. */
export const answering = { context: z.object({ message_id: otherMessageSchema }).optional() }

/** `preview_url`: the first address in the text is shown with a preview. */
export const textContent = z.object({
  type: z.literal('text'),
  text: z.object({ body: nonEmptyTextUpTo(LIMITS.text), preview_url: z.boolean().optional() }),
  ...answering,
})

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
/** Pictures, flags and keycaps; not the digits, which Unicode counts as emoji too. */
const picture = /\p{Extended_Pictographic}|\p{Regional_Indicator}|\u20e3/u

const isOneEmoji = (text: string): boolean =>
  text === '' || (picture.test(text) && [...graphemes.segment(text)].length === 1)

const emojiSchema = textUpTo(LIMITS.emoji)
  .refine((text) => text.length > LIMITS.emoji || isOneEmoji(text), {
    error: (issue) => `expected one emoji, or an empty text to take the reaction back, got ${quoted(issue.input)}`,
  })
  .meta({ description: 'One emoji; empty takes the reaction back.' })

/** A reaction to a message; it cannot answer another one, so it takes no `context`. */
export const reactionContent = z.object({
  type: z.literal('reaction'),
  reaction: z.object({ message_id: otherMessageSchema, emoji: emojiSchema }),
})

const caption = textUpTo(LIMITS.caption).optional()

export const imageContent = z.object({
  type: z.literal('image'),
  image: z.object({ ...mediaSource, caption }).check(oneSource),
  ...answering,
})

export const audioContent = z.object({
  type: z.literal('audio'),
  audio: z.object(mediaSource).check(oneSource),
  ...answering,
})

export const videoContent = z.object({
  type: z.literal('video'),
  video: z.object({ ...mediaSource, caption }).check(oneSource),
  ...answering,
})

/** `filename`: what the person sees the file called; its ending chooses the icon. */
export const documentContent = z.object({
  type: z.literal('document'),
  document: z
    .object({ ...mediaSource, caption, filename: nonEmptyTextUpTo(LIMITS.filename).optional() })
    .check(oneSource),
  ...answering,
})

export const stickerContent = z.object({
  type: z.literal('sticker'),
  sticker: z.object(mediaSource).check(oneSource),
  ...answering,
})

const degrees = (most: number) => z.number().min(-most).max(most)

/** Degrees of WGS 84; name and address are shown below the map. */
export const locationContent = z.object({
  type: z.literal('location'),
  location: z.object({
    latitude: degrees(90),
    longitude: degrees(180),
    name: textUpTo(LIMITS.location).optional(),
    address: textUpTo(LIMITS.location).optional(),
  }),
  ...answering,
})

const line = textUpTo(LIMITS.contactLine).optional()
const several = <S extends z.ZodType>(item: S) => listUpTo(LIMITS.contactEntries, item).optional()

const cardSchema = z
  .object({
    name: z.object({
      formatted_name: nonEmptyTextUpTo(LIMITS.contactLine),
      first_name: line,
      last_name: line,
      middle_name: line,
      suffix: line,
      prefix: line,
    }),
    birthday: z.iso
      .date({ error: 'expected a date such as 1990-01-31' })
      .meta({ description: 'Year, month and day.' })
      .optional(),
    phones: several(z.object({ phone: line, type: line, wa_id: line })),
    emails: several(z.object({ email: line, type: line })),
    urls: several(z.object({ url: textUpTo(LIMITS.link).optional(), type: line })),
    addresses: several(
      z.object({ street: line, city: line, state: line, zip: line, country: line, country_code: line, type: line }),
    ),
    org: z.object({ company: line, department: line, title: line }).optional(),
  })
  .meta({ id: 'ContactCard' })

/** One to five cards. */
export const contactsContent = z.object({
  type: z.literal('contacts'),
  contacts: listUpTo(LIMITS.contacts, cardSchema, { min: 1 }),
  ...answering,
})
