// The parts that several kinds of interactive messages have.
import { z } from 'zod'
import { nonEmptyTextUpTo } from '../../kernel/bounded.ts'
import { LIMITS } from './limits.ts'
import { mediaSource, oneSource } from './media-source.ts'

/** A header shows one line of text or one file, and a document is shown by its name. */
export const headerSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: nonEmptyTextUpTo(LIMITS.headerText) }).meta({ id: 'TextHeader' }),
  z.object({ type: z.literal('image'), image: z.object(mediaSource).check(oneSource) }).meta({ id: 'ImageHeader' }),
  z.object({ type: z.literal('video'), video: z.object(mediaSource).check(oneSource) }).meta({ id: 'VideoHeader' }),
  z
    .object({
      type: z.literal('document'),
      document: z.object({ ...mediaSource, filename: nonEmptyTextUpTo(LIMITS.filename) }).check(oneSource),
    })
    .meta({ id: 'DocumentHeader' }),
])

/** `body`, which every interactive message has. */
export const bodySchema = z.object({ text: nonEmptyTextUpTo(LIMITS.bodyText) })
/** `footer`, where there is one. */
export const footerSchema = z.object({ text: nonEmptyTextUpTo(LIMITS.footerText) })
