// An approved template as WhatsApp describes it, and its shape: the part that a message must match.
import { z } from 'zod'
import { textUpTo } from '../bounded.ts'
import { valueAt } from '../fault.ts'
import { LIMITS } from '../limits.ts'
import { variablesOf } from './variables.ts'

/** WhatsApp writes these in capitals, people's files do not always. */
function inCapitals(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  const capitals = ['type', 'format'].flatMap((field) => {
    const text = valueAt(value, [field])
    return typeof text === 'string' ? [[field, text.toUpperCase()]] : []
  })
  return { ...value, ...Object.fromEntries(capitals) }
}

const anyCase = <const T extends readonly [string, ...string[]]>(values: T) =>
  z.string().toUpperCase().pipe(z.enum(values))

const headerSchema = z.discriminatedUnion('format', [
  z.object({ type: z.literal('HEADER'), format: z.literal('TEXT'), text: z.string().min(1) }),
  z.object({ type: z.literal('HEADER'), format: z.enum(['IMAGE', 'VIDEO', 'DOCUMENT']) }),
])

const bodySchema = z.object({ type: z.literal('BODY'), text: z.string().min(1) })

/** Its label is kept for previews alone. */
const labelled = { text: z.string().optional() }

const buttonSchema = z.preprocess(
  inCapitals,
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('URL'), url: z.string().min(1), ...labelled }),
    z.object({
      type: z.enum(['QUICK_REPLY', 'COPY_CODE', 'PHONE_NUMBER', 'VOICE_CALL', 'REQUEST_CONTACT_INFO']),
      ...labelled,
    }),
  ]),
)

const buttonsSchema = z.object({ type: z.literal('BUTTONS'), buttons: z.array(buttonSchema) })

const cardSchema = z.object({
  components: z.array(
    z.preprocess(inCapitals, z.discriminatedUnion('type', [headerSchema, bodySchema, buttonsSchema])),
  ),
})

const componentSchema = z.preprocess(
  inCapitals,
  z.discriminatedUnion('type', [
    headerSchema,
    bodySchema,
    z.object({ type: z.literal('FOOTER'), ...labelled }),
    buttonsSchema,
    z.object({ type: z.literal('CAROUSEL'), cards: z.array(cardSchema).min(1) }),
  ]),
)

/**
 * A template in WhatsApp's own definition format; fields we make no use of are dropped. Parts that no request
 * of the interface could fill (location headers, flow and catalogue buttons, limited-time offers) are refused by name
 * here, once, instead of by the provider at every send. Without a `status` the template counts as approved: the chat
 * product's own export always has one, a file written by hand for the import often has not. Parsing twice changes nothing.
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
export type HeaderShape = ({ kind: 'text' } & TextShape) | { kind: 'image' | 'video' | 'document' }
/** A button; its place in the list is its `index` in a request. `url` is there when it has a variable. */
export type ButtonShape = { kind: z.infer<typeof buttonSchema>['type']; url?: TextShape }

/** What one card holds, and a template outside of its cards. */
export type BlockShape = { header?: HeaderShape; body?: TextShape; buttons: ButtonShape[] }

export type TemplateShape = BlockShape & {
  category: TemplateCategory
  /** Parameters of header and body are found by `parameter_name`; otherwise by their order. Buttons never have names. */
  named: boolean
  cards?: BlockShape[]
}

/** What a message of this template has to match. Worked out once per template, used for every message. */
export function shapeOf(template: Template): TemplateShape {
  const carousel = template.components.find((component) => component.type === 'CAROUSEL')
  return {
    ...blockOf(template.components),
    category: template.category,
    named: template.parameter_format === 'NAMED',
    ...(carousel && { cards: carousel.cards.map((card) => blockOf(card.components)) }),
  }
}

function blockOf(components: Template['components']): BlockShape {
  const block: BlockShape = { buttons: [] }
  for (const component of components) {
    if (component.type === 'BODY') block.body = textShape(component.text)
    if (component.type === 'HEADER') block.header = headerShape(component)
    if (component.type === 'BUTTONS') block.buttons = component.buttons.map(buttonShape)
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
  }
}

function buttonShape(button: z.infer<typeof buttonSchema>): ButtonShape {
  if (button.type !== 'URL') return { kind: button.type }
  const url = textShape(button.url)
  return url.variables.length > 0 ? { kind: 'URL', url } : { kind: 'URL' }
}

function textShape(text: string): TextShape {
  return { text, variables: variablesOf(text) }
}
