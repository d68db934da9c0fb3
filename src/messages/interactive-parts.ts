// What interactive messages have in common: header, body and footer.
import { z } from 'zod'
import { filledTextUpTo, linkSchema } from './bounded.ts'
import { LIMITS } from './limits.ts'

/** A header shows one line of text or one file, and a document is shown by its name. */
export const headerSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: filledTextUpTo(LIMITS.headerText) }).meta({ id: 'TextHeader' }),
  z.object({ type: z.literal('image'), image: z.object({ link: linkSchema }) }).meta({ id: 'ImageHeader' }),
  z.object({ type: z.literal('video'), video: z.object({ link: linkSchema }) }).meta({ id: 'VideoHeader' }),
  z
    .object({
      type: z.literal('document'),
      document: z.object({ link: linkSchema, filename: filledTextUpTo(LIMITS.filename) }),
    })
    .meta({ id: 'DocumentHeader' }),
])

/** `body`, which every interactive message has. */
export const bodySchema = z.object({ text: filledTextUpTo(LIMITS.bodyText) })
/** `footer`, where there is one. */
export const footerSchema = z.object({ text: filledTextUpTo(LIMITS.footerText) })
