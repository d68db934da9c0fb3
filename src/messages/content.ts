// What a message says: the part of a request that is stored, sent to the provider and read again from the job.
import { z } from 'zod'
import { interactiveSchema } from './interactive.ts'
import { contactsContent } from './kinds/contact-cards.ts'
import { answering } from './kinds/context.ts'
import { audioContent, documentContent, imageContent, stickerContent, videoContent } from './kinds/media.ts'
import { locationContent } from './kinds/place.ts'
import { reactionContent, textContent } from './kinds/text.ts'
import { templateContentSchema } from './templates/template-content.ts'

const interactiveContent = z.object({ type: z.literal('interactive'), interactive: interactiveSchema, ...answering })

/** The content of a template message. */
export const templateMessageContent = z.object({ type: z.literal('template'), template: templateContentSchema })

const serviceContents = [
  textContent,
  interactiveContent,
  imageContent,
  audioContent,
  videoContent,
  documentContent,
  stickerContent,
  locationContent,
  contactsContent,
  reactionContent,
] as const

/** The contents of service messages: everything that is not a template. */
export const serviceContentSchema = z.discriminatedUnion('type', serviceContents)

/**
 * Any content, by its `type`, with the object of the same name beside it. Fields that are not part of it are dropped:
 * they are neither stored nor forwarded. Parsing a content once more changes nothing, so jobs are read with it too.
 */
export const contentSchema = z.discriminatedUnion('type', [...serviceContents, templateMessageContent])

/** The words for what a message is, as requests and lookups have them. */
export const CONTENT_TYPES = [
  'text',
  'interactive',
  'image',
  'audio',
  'video',
  'document',
  'sticker',
  'location',
  'contacts',
  'reaction',
  'template',
] as const satisfies readonly Content['type'][]

export type Content = z.infer<typeof contentSchema>
export type ServiceContent = z.infer<typeof serviceContentSchema>
export type TemplateMessageContent = z.infer<typeof templateMessageContent>
