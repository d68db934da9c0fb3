// The content of a message (what is stored, sent and read again from the job), and its class.
import { z } from 'zod'
import type { TemplateCategory } from '../templates/template.ts'
import { templateContentSchema } from '../templates/template-content.ts'
import { interactiveSchema } from './interactive.ts'
import {
  answering,
  audioContent,
  contactsContent,
  documentContent,
  imageContent,
  locationContent,
  reactionContent,
  stickerContent,
  textContent,
  videoContent,
} from './service-contents.ts'

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
 * Any content, by its `type`, with the object of the same name beside it. Other fields are dropped: they are neither stored nor
 * forwarded. Parsing is idempotent, so jobs are read with it too.
 */
export const contentSchema = z.discriminatedUnion('type', [...serviceContents, templateMessageContent])

/** The kinds of messages, as requests and lookups name them. */
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

/** `transactional` goes first and is repeated when in doubt; `campaign` comes after it and is never repeated without proof. */
export type MessageClass = z.infer<typeof messageClassSchema>

export const messageClassSchema = z.enum(['transactional', 'campaign'])

/**
 * The class of a message sent by itself; messages of a campaign are `campaign` whatever they carry.
 * `category` is that of the approved template. A template nobody registered (an account may turn the check off) counts
 * as `campaign`: it can then neither overtake what is known to be urgent nor reach a person twice.
 */
export function classOf(content: Content, category?: TemplateCategory): MessageClass {
  if (content.type !== 'template') return 'transactional'
  return category === undefined || category === 'MARKETING' ? 'campaign' : 'transactional'
}

/**
 * Whether WhatsApp treats a message as marketing, in a campaign or not. `category` is the template's current one; a message whose
 * template is unknown counts by its class.
 */
export const isMarketing = (of: MessageClass, category: TemplateCategory | undefined): boolean =>
  category === undefined ? of === 'campaign' : category === 'MARKETING'
