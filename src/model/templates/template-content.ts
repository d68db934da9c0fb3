// The `template` object of a template message: the name of the approved template, and the values of its variables. This
// schema checks the shape only. Which components and parameters there must be depends on the approved template, and
// match-template.ts checks that with all faults in one answer. So the schemas below accept some values that it refuses,
// for example a text parameter whose text is a number.

import { z } from 'zod'
import { type Context, listUpTo, nonEmptyTextUpTo, textUpTo } from '../../kernel/bounded.ts'
import { holdsMoreThan } from '../../kernel/json-size.ts'
import { LIMITS } from '../messages/limits.ts'

/** One parameter of a component: its `type` in lower case, its name, and what it holds as it came. */
export interface Parameter {
  type: string
  parameter_name?: string | undefined
  [held: string]: unknown
}

const text = (maxLength: number) => ({ type: 'string', maxLength }) as const
/** A file: exactly one of the first three. */
const describedFile = (more: Record<string, object> = {}) => ({
  type: 'object' as const,
  properties: {
    link: text(LIMITS.link),
    id: text(LIMITS.mediaId),
    gallery: { type: ['string', 'integer'] as const },
    ...more,
  },
})

/** The content of each kind of parameter, for readers of the schema: the approved template decides which are allowed. */
const describedParameter = z.custom<Parameter>().meta({
  id: 'TemplateParameter',
  type: 'object',
  required: ['type'],
  properties: {
    type: {
      type: 'string',
      maxLength: LIMITS.word,
      description:
        'In upper or lower case: `text`, `currency`, `date_time`, `image`, `video`, `document`, `gif`, `location`, `product`, ' +
        '`coupon_code`, `payload`, `limited_time_offer` or `action`, as the approved template wants it.',
    },
    parameter_name: { type: ['string', 'null'], maxLength: LIMITS.parameterName },
    text: { type: 'string' },
    currency: {
      type: 'object',
      description:
        '`fallback_value`, the text that is shown; `code`, such as EUR; `amount_1000`, a thousand times the amount.',
    },
    date_time: { type: 'object', description: '`fallback_value`, the text that is shown.' },
    image: describedFile(),
    video: describedFile(),
    document: describedFile({ filename: { ...text(LIMITS.filename), minLength: 1 } }),
    gif: describedFile(),
    location: { type: 'object', description: '`latitude`, `longitude`, and perhaps `name` and `address`.' },
    product: { type: 'object', description: '`product_retailer_id` and `catalog_id`.' },
    limited_time_offer: { type: 'object', description: '`expiration_time_ms`: when the offer ends, in epoch ms.' },
    action: {
      type: 'object',
      description:
        'Of a FLOW button `flow_token` and `flow_action_data`, of a CATALOG button `thumbnail_product_retailer_id`, ' +
        'of an MPM button that and `sections`, each with `title` and `product_items`.',
    },
    coupon_code: { type: 'string', minLength: 1, maxLength: LIMITS.couponCode },
    payload: { type: 'string', minLength: 1, maxLength: LIMITS.quickReplyPayload },
  },
})

/**
 * Every kind of parameter keeps what it holds in a field named like its `type`; other fields but the name are dropped,
 * unread: a schema of a loose object would copy all 80,000 of them. `type` is compared without regard to case and kept in
 * lower case, as those fields are written.
 */
const parameterSchema = describedParameter.transform((given: unknown, context): Parameter => {
  if (!isObject(given) || Array.isArray(given)) {
    context.issues.push({ code: 'invalid_type', expected: 'object', input: given })
    return z.NEVER
  }
  const type = wordOf(given, 'type', LIMITS.word, context)?.toLowerCase()
  // Null is what some clients write for no name.
  const named = 'parameter_name' in given && given.parameter_name !== undefined && given.parameter_name !== null
  const name = named ? wordOf(given, 'parameter_name', LIMITS.parameterName, context) : undefined
  if (type === undefined) return z.NEVER
  const parameter: Parameter = { type }
  if (name !== undefined) parameter.parameter_name = name
  // Own fields only: a `type` of "constructor" must not find what every object inherits.
  if (Object.hasOwn(given, type)) parameter[type] = heldOf(type, given[type], context)
  return parameter
})

/** A text of the parameter, or a fault. By hand: a schema for each of 200 wrong parameters costs ten times as much. */
function wordOf(given: Record<string, unknown>, field: string, max: number, context: Context): string | undefined {
  const word = given[field]
  if (typeof word !== 'string') {
    context.issues.push({ code: 'invalid_type', expected: 'string', path: [field], input: word })
    return undefined
  }
  if (word.length <= max) return word
  context.issues.push({ code: 'too_big', origin: 'string', maximum: max, inclusive: true, path: [field], input: word })
  return undefined
}

const fileKinds = new Set(['image', 'video', 'document', 'gif'])

/** The content of a parameter, for the matcher; a fault if it is larger than any template allows. */
function heldOf(type: string, held: unknown, context: Context): unknown {
  const kept = fileKinds.has(type) && isObject(held) ? fileOf(held) : held
  const most = type === 'action' ? LIMITS.heldByAction : LIMITS.held
  if (!holdsMoreThan(kept, most)) return kept
  const { values, characters } = most
  const message = `at most ${characters} characters and ${values} values, got more`
  context.issues.push({ code: 'custom', path: [type], message, input: held })
  return z.NEVER
}

/** A file without unknown fields; the id of a gallery file as text, however it was written. */
const fileOf = (media: object): object => ({
  ...('link' in media && { link: media.link }),
  ...('id' in media && { id: media.id }),
  ...('gallery' in media && { gallery: typeof media.gallery === 'number' ? String(media.gallery) : media.gallery }),
  ...('filename' in media && { filename: media.filename }),
})

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null

/** A component of a card, or of a template outside of its cards. `type` and `sub_type` are kept in upper case. */
const partSchema = z.object({
  type: textUpTo(LIMITS.word).toUpperCase(),
  sub_type: textUpTo(LIMITS.word).toUpperCase().optional(),
  index: z
    .union([textUpTo(LIMITS.word), z.number()])
    .transform(String)
    .optional(),
  parameters: listUpTo(LIMITS.parameters, parameterSchema).optional(),
})

const cardSchema = z.object({
  card_index: z.int(),
  components: listUpTo(LIMITS.components, partSchema.meta({ id: 'TemplateCardComponent' })).optional(),
})

const componentSchema = partSchema
  .extend({ cards: listUpTo(LIMITS.cards, cardSchema.meta({ id: 'TemplateCard' })).optional() })
  .meta({ id: 'TemplateComponent' })

/** What `language.policy` may say; it is not kept, because it is what happens without it. */
export const ONLY_POLICY = 'deterministic'

/** The `template` object: parsing it twice gives the same as parsing it once, for it is stored and read again. */
export const templateContentSchema = z.object({
  name: nonEmptyTextUpTo(LIMITS.templateName),
  language: z.object({ code: nonEmptyTextUpTo(LIMITS.languageCode) }),
  components: listUpTo(LIMITS.components, componentSchema, { values: LIMITS.componentValues }).optional(),
})

export type TemplateContent = z.infer<typeof templateContentSchema>
/** One entry of `template.components`, its `type` in upper case. */
export type Component = z.infer<typeof componentSchema>
export type Card = z.infer<typeof cardSchema>
