// An approved template as WhatsApp describes it, and its shape: the part that a message must match.
import { z } from 'zod'
import { textUpTo } from '../../kernel/bounded.ts'
import { valueAt } from '../../kernel/fault.ts'
import { LIMITS } from '../messages/limits.ts'
import { variablesOf } from './variables.ts'

// Parts that no message of ours could fill are kept by their name alone: such a template is listed with the reason, and
// refused at the send.
/** Kinds of parts outside of cards. */
const PARTS = ['HEADER', 'BODY', 'FOOTER', 'BUTTONS', 'CAROUSEL', 'LIMITED_TIME_OFFER', 'UNKNOWN']
const CARD_PARTS = ['HEADER', 'BODY', 'BUTTONS', 'UNKNOWN']
const MEDIA_FORMATS = ['IMAGE', 'VIDEO', 'DOCUMENT', 'GIF', 'LOCATION', 'PRODUCT'] as const
/** Buttons without anything of their own but a label. An OTP button is how definitions write what WhatsApp lists as a URL. */
const PLAIN_BUTTONS = [
  ...(['QUICK_REPLY', 'COPY_CODE', 'PHONE_NUMBER', 'VOICE_CALL', 'REQUEST_CONTACT_INFO'] as const),
  ...(['FLOW', 'CATALOG', 'MPM', 'SPM'] as const),
] as const
const BUTTONS: readonly string[] = ['URL', 'OTP', 'UNKNOWN', ...PLAIN_BUTTONS]

const WAS_MAX = 80
const unknownSchema = z.object({ type: z.literal('UNKNOWN'), was: textUpTo(WAS_MAX).default('of an unknown kind') })

/** WhatsApp writes these in capitals, people's files do not always. What is none of `known` is kept by its name. */
const inCapitals =
  (known: readonly string[]) =>
  (value: unknown): unknown => {
    if (typeof value !== 'object' || value === null) return value
    const capitals = ['type', 'format', 'otp_type'].flatMap((field) => {
      const text = valueAt(value, [field])
      return typeof text === 'string' ? [[field, text.toUpperCase()]] : []
    })
    const read: Record<string, unknown> = { ...value, ...Object.fromEntries(capitals) }
    const { type, format } = read
    if (typeof type === 'string' && !known.includes(type)) return { ...read, type: 'UNKNOWN', was: wordOf(type) }
    const isOtherHeader = type === 'HEADER' && typeof format === 'string' && format !== 'TEXT'
    if (isOtherHeader && !MEDIA_FORMATS.some((each) => each === format)) {
      return { ...read, type: 'UNKNOWN', was: `HEADER ${wordOf(format)}` }
    }
    // That of a code is WhatsApp's own, in each language; a definition only says whether it warns.
    if (type === 'BODY' && read.text === undefined && 'add_security_recommendation' in read) {
      return { type, text: '*{{1}}* is your verification code.' }
    }
    return read
  }

const wordOf = (text: string): string => text.replace(/[^A-Z0-9_]/g, '').slice(0, WAS_MAX / 2)

const anyCase = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.string().toUpperCase().pipe(z.enum(values))

const headerSchema = z.discriminatedUnion('format', [
  z.object({ type: z.literal('HEADER'), format: z.literal('TEXT'), text: z.string().min(1) }),
  z.object({ type: z.literal('HEADER'), format: z.enum(MEDIA_FORMATS) }),
])

const bodySchema = z.object({ type: z.literal('BODY'), text: z.string().min(1) })

/** Its label is kept for previews alone. */
const labelled = { text: z.string().optional() }

const buttonSchema = z.preprocess(
  inCapitals(BUTTONS),
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('URL'), url: z.string().min(1), ...labelled }),
    z.object({ type: z.literal('OTP'), otp_type: z.string().max(20).optional().catch(undefined), ...labelled }),
    z.object({ type: z.enum(PLAIN_BUTTONS), ...labelled }),
    unknownSchema.extend(labelled),
  ]),
)

const buttonsSchema = z.object({ type: z.literal('BUTTONS'), buttons: z.array(buttonSchema) })

const cardSchema = z.object({
  components: z.array(
    z.preprocess(
      inCapitals(CARD_PARTS),
      z.discriminatedUnion('type', [headerSchema, bodySchema, buttonsSchema, unknownSchema]),
    ),
  ),
})

const offerSchema = z.object({
  type: z.literal('LIMITED_TIME_OFFER'),
  limited_time_offer: z
    .object({ text: z.string().optional(), has_expiration: z.boolean().optional().catch(undefined) })
    .optional(),
})

const componentSchema = z.preprocess(
  inCapitals(PARTS),
  z.discriminatedUnion('type', [
    headerSchema,
    bodySchema,
    z.object({ type: z.literal('FOOTER'), ...labelled }),
    buttonsSchema,
    offerSchema,
    z.object({ type: z.literal('CAROUSEL'), cards: z.array(cardSchema).min(1) }),
    unknownSchema,
  ]),
)

/**
 * A template in WhatsApp's own definition format; fields we make no use of are dropped. Without a `status` the template
 * counts as approved: WhatsApp's own list always has one, a file written by hand for the import often has not. Parsing
 * twice changes nothing.
 */
export const templateSchema = z.object({
  name: textUpTo(LIMITS.templateName).regex(/^[a-z0-9_]+$/, 'expected only lower-case letters, digits and underscores'),
  /** Exactly as approved: `en` and `en_US` are two templates. */
  language: z.string().min(1),
  category: anyCase(['AUTHENTICATION', 'MARKETING', 'UTILITY', 'FREE_SERVICE']),
  /** Only `APPROVED` may be sent. Any word is taken: WhatsApp adds to its list. */
  status: z.string().toUpperCase().default('APPROVED'),
  parameter_format: anyCase(['POSITIONAL', 'NAMED']).default('POSITIONAL'),
  components: z.array(componentSchema),
})

export type Template = z.infer<typeof templateSchema>
export type TemplateCategory = Template['category']

/** A text and its variables in the order their parameters come. */
export type TextShape = { text: string; variables: string[] }
export type HeaderShape =
  | ({ kind: 'text' } & TextShape)
  | { kind: 'image' | 'video' | 'document' | 'gif' | 'location' | 'product' }
/** A button; its place in the list is its `index` in a request. `url` is there when it has a variable. */
export type ButtonShape = { kind: 'URL' | (typeof PLAIN_BUTTONS)[number]; url?: TextShape }

/** The parts of one card, or of a template outside of its cards. */
export type BlockShape = { header?: HeaderShape; body?: TextShape; buttons: ButtonShape[] }

export type TemplateShape = BlockShape & {
  category: TemplateCategory
  /** Parameters of header and body are found by `parameter_name`; otherwise by their order. Buttons never have names. */
  named: boolean
  cards?: BlockShape[]
  /** A limited-time offer, and whether it says when it ends. */
  offer?: { ends: boolean }
  /** Why no message can match it; see whyNotSendable. */
  notSendable?: string
}

/** The shape that a message of this template must match. Computed once per template, used for every message. */
export function shapeOf(template: Template): TemplateShape {
  const carousel = template.components.find((component) => component.type === 'CAROUSEL')
  const offer = template.components.find((component) => component.type === 'LIMITED_TIME_OFFER')
  const notSendable = whyNotSendable(template)
  return {
    ...blockOf(template.components),
    category: template.category,
    named: template.parameter_format === 'NAMED',
    ...(carousel && { cards: carousel.cards.map((card) => blockOf(card.components)) }),
    ...(offer && { offer: { ends: offer.limited_time_offer?.has_expiration === true } }),
    ...(notSendable !== undefined && { notSendable }),
  }
}

/** Why no message of this template can be sent, whatever its status: a part that Laneway does not know. */
export function whyNotSendable({ components }: Pick<Template, 'components'>): string | undefined {
  const parts = [...components, ...components.flatMap((part) => (part.type === 'CAROUSEL' ? part.cards : []))].flatMap(
    (part) => ('components' in part ? part.components : [part]),
  )
  for (const part of parts) {
    if (part.type === 'UNKNOWN') return `It has a part that Laneway cannot fill in: ${part.was}.`
    const button = part.type === 'BUTTONS' && part.buttons.find(({ type }) => type === 'UNKNOWN')
    if (button && button.type === 'UNKNOWN') return `It has a button that Laneway cannot fill in: ${button.was}.`
  }
  return undefined
}

function blockOf(components: Template['components']): BlockShape {
  const block: BlockShape = { buttons: [] }
  for (const component of components) {
    if (component.type === 'BODY') block.body = textShape(component.text)
    if (component.type === 'HEADER') block.header = headerShape(component)
    if (component.type === 'BUTTONS') block.buttons = component.buttons.flatMap(buttonShape)
  }
  return block
}

function headerShape(header: z.infer<typeof headerSchema>): HeaderShape {
  switch (header.format) {
    case 'TEXT':
      return { kind: 'text', ...textShape(header.text) }
    case 'IMAGE':
      return { kind: 'image' }
    case 'VIDEO':
      return { kind: 'video' }
    case 'DOCUMENT':
      return { kind: 'document' }
    case 'GIF':
      return { kind: 'gif' }
    case 'LOCATION':
      return { kind: 'location' }
    case 'PRODUCT':
      return { kind: 'product' }
  }
}

function buttonShape(button: z.infer<typeof buttonSchema>): ButtonShape[] {
  switch (button.type) {
    case 'UNKNOWN':
      return []
    // The definition asked for one of these; WhatsApp made it a URL that takes the code.
    case 'OTP':
      return [{ kind: 'URL', url: textShape('{{1}}') }]
    case 'URL': {
      const url = textShape(button.url)
      return [url.variables.length > 0 ? { kind: 'URL', url } : { kind: 'URL' }]
    }
    default:
      return [{ kind: button.type }]
  }
}

function textShape(text: string): TextShape {
  return { text, variables: variablesOf(text) }
}
