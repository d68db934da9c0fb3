// What a message says: the part of a request that is stored, sent to the provider and read again from the job.
import { z } from 'zod'
import { textUpTo } from './bounded-text.ts'
import { interactiveSchema } from './interactive.ts'
import { LIMITS } from './limits.ts'
import { linkSchema } from './link.ts'
import { templateContentSchema } from './templates/template-content.ts'

const interactiveContent = z.object({ type: z.literal('interactive'), interactive: interactiveSchema })

const imageContent = z.object({
  type: z.literal('image'),
  image: z.object({ link: linkSchema, caption: textUpTo(LIMITS.caption).optional() }),
})

const audioContent = z.object({ type: z.literal('audio'), audio: z.object({ link: linkSchema }) })

/** The content of a template message. */
export const templateMessageContent = z.object({ type: z.literal('template'), template: templateContentSchema })

/** The contents of service messages: everything that is not a template. */
export const serviceContentSchema = z.discriminatedUnion('type', [interactiveContent, imageContent, audioContent])

/**
 * Any content, by its `type`, with the object of the same name beside it. Fields that are not part of it are dropped:
 * they are neither stored nor forwarded. Parsing a content once more changes nothing, so jobs are read with it too.
 */
export const contentSchema = z.discriminatedUnion('type', [
  interactiveContent,
  imageContent,
  audioContent,
  templateMessageContent,
])

export type Content = z.infer<typeof contentSchema>
export type ServiceContent = z.infer<typeof serviceContentSchema>
export type TemplateMessageContent = z.infer<typeof templateMessageContent>
