// Plain text, and the reaction to a message.
import { z } from 'zod'
import { filledTextUpTo, textUpTo } from '../bounded.ts'
import { quoted } from '../fault.ts'
import { LIMITS } from '../limits.ts'
import { answering, otherMessageSchema } from './context.ts'

/** `preview_url`: the first address in the text is shown with a preview. */
export const textContent = z.object({
  type: z.literal('text'),
  text: z.object({ body: filledTextUpTo(LIMITS.text), preview_url: z.boolean().optional() }),
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
