// Checks the parameters of one component of a template message, for match-template.ts: their number, kinds and values.
// `at` is always the component's path, `template.components[1]`.
import { z } from 'zod'
import { nonEmptyTextUpTo } from '../../kernel/bounded.ts'
import { counted, type Fault, notOneOf, quoted } from '../../kernel/fault.ts'
import { isVisible } from '../../kernel/visible.ts'
import { faultsOf } from '../../kernel/zod-faults.ts'
import type { TemplateMessageContent } from '../messages/content.ts'
import { LIMITS } from '../messages/limits.ts'
import { mediaSource, oneSource } from '../messages/media-source.ts'
import { richParameters } from './rich-parameters.ts'
import type { TemplateShape, TextShape } from './template.ts'
import type { Component, Parameter } from './template-content.ts'
import { fillIn, valuesOf } from './variables.ts'

/** Two of these stand in text that was copied from web pages. */
const lineBreak = /[\n\r\t\u2028\u2029]/
const tooManySpaces = new RegExp(` {${LIMITS.spacesInARow + 1}}`)

/**
 * WhatsApp refuses these at the send, each with the same unhelpful code; so each gets a message of its own
 * here.
 */
const textSchema = z
  .string()
  .min(1)
  .refine((text) => !lineBreak.test(text), 'expected no line break and no tab')
  .refine((text) => !tooManySpaces.test(text), `at most ${counted(LIMITS.spacesInARow, 'space')} in a row, got more`)
  .refine(
    (text) => text === '' || lineBreak.test(text) || tooManySpaces.test(text) || isVisible(text),
    'expected a text that can be seen',
  )

const fileSchema = z.object(mediaSource).check(oneSource)

/** The content of each kind of parameter. The kind is its `type`, except for the kinds of `action`. */
const schemas = {
  text: z.object({ text: textSchema }),
  image: z.object({ image: fileSchema }),
  video: z.object({ video: fileSchema }),
  document: z.object({
    document: z.object({ ...mediaSource, filename: nonEmptyTextUpTo(LIMITS.filename).optional() }).check(oneSource),
  }),
  coupon_code: z.object({ coupon_code: nonEmptyTextUpTo(LIMITS.couponCode) }),
  payload: z.object({ payload: nonEmptyTextUpTo(LIMITS.quickReplyPayload) }),
  gif: z.object({ gif: fileSchema }),
  currency: z.object({
    currency: z.object({
      fallback_value: textSchema,
      code: z.string().regex(/^[A-Z]{3}$/, 'expected a currency such as EUR'),
      /** As text where a campaign fills it in. */
      amount_1000: z.union([z.int(), z.string().regex(/^-?\d{1,15}$/, 'expected a thousand times the amount')]),
    }),
  }),
  /** WhatsApp also takes parts of the time, and shows the text all the same. */
  date_time: z.object({ date_time: z.object({ fallback_value: textSchema }) }),
  ...richParameters,
}

export type ParameterKind = keyof typeof schemas

const ACTIONS: ReadonlySet<ParameterKind> = new Set(['flow', 'catalog', 'products'])
const typeOf = (kind: ParameterKind): string => (ACTIONS.has(kind) ? 'action' : kind)

/** Exactly `expected` parameters of one kind: the file of a header, the coupon of a button. */
export function parameterFaults(
  parameters: readonly Parameter[],
  kind: ParameterKind,
  expected: number,
  at: string,
): Fault[] {
  return [...countFaults(parameters, expected, at), ...kindFaults(parameters, kind, at)]
}

/** At most one parameter: the payload of a quick reply, the action of a flow, which may be left out. */
export function optionalParameterFaults(parameters: readonly Parameter[], kind: ParameterKind, at: string): Fault[] {
  return parameterFaults(parameters, kind, Math.min(parameters.length, 1), at)
}

/**
 * A text parameter for each variable of the approved text, and the text no longer than `limit` once they are filled in.
 */
export function textFaults(
  parameters: readonly Parameter[],
  approved: TextShape,
  { limit, named, kinds = ['text'] }: { limit: number; named: boolean; kinds?: readonly ParameterKind[] },
  at: string,
): Fault[] {
  const { text, variables } = approved
  const faults = [
    ...(named && variables.length > 0
      ? nameFaults(parameters, variables, at)
      : countFaults(parameters, variables.length, at)),
    ...parameters.flatMap((parameter, position) => {
      const kind = kinds.find((each) => each === parameter.type) ?? 'text'
      return kindFault(parameter, kind, `${at}.parameters[${position}]`)
    }),
  ]
  if (faults.length > 0 || variables.length === 0) return faults
  const { length } = fillIn(text, valuesOf(variables, parameters, named))
  if (length <= limit) return []
  const message = `at most ${counted(limit, 'character')} with the parameters filled in, got ${length}`
  return [{ path: `${at}.parameters`, message }]
}

function countFaults(parameters: readonly Parameter[], expected: number, at: string): Fault[] {
  if (parameters.length === expected) return []
  const wanted = expected === 0 ? 'no parameters' : counted(expected, 'parameter')
  return [{ path: `${at}.parameters`, message: `expected ${wanted}, got ${parameters.length || 'none'}` }]
}

function kindFaults(parameters: readonly Parameter[], kind: ParameterKind, at: string): Fault[] {
  return parameters.flatMap((parameter, position) => kindFault(parameter, kind, `${at}.parameters[${position}]`))
}

function kindFault(parameter: Parameter, kind: ParameterKind, here: string): Fault[] {
  if (parameter.type !== typeOf(kind)) {
    return [{ path: `${here}.type`, message: `expected "${typeOf(kind)}", got ${quoted(parameter.type)}` }]
  }
  const parsed = schemas[kind].safeParse(parameter)
  return parsed.success ? [] : faultsOf(parsed.error, parameter, here)
}

/** Kinds that a variable of a body takes: WhatsApp still accepts amounts and times, and shows their fallback text. */
export const BODY_KINDS: readonly ParameterKind[] = ['text', 'currency', 'date_time']

/** Named parameters may come in any order, so that a wrong number shows as a name too many, twice or missing. */
function nameFaults(parameters: readonly Parameter[], variables: readonly string[], at: string): Fault[] {
  const given = new Set<unknown>()
  const faults: Fault[] = []
  parameters.forEach(({ parameter_name: name }, position) => {
    const path = `${at}.parameters[${position}].parameter_name`
    if (typeof name !== 'string' || !variables.includes(name)) faults.push({ path, message: notOneOf(variables, name) })
    else if (given.has(name)) faults.push({ path, message: `expected each name once, got ${quoted(name)} again` })
    given.add(name)
  })
  for (const name of variables.filter((variable) => !given.has(variable))) {
    faults.push({ path: `${at}.parameters`, message: `expected a parameter named "${name}", got none` })
  }
  return faults
}

/**
 * The content without `parameter_name` where it names nothing: many clients always send it, and WhatsApp refuses some
 * of them.
 */
export function withoutUnusedNames(content: TemplateMessageContent, { named }: TemplateShape): TemplateMessageContent {
  const { components } = content.template
  if (!components?.some((component) => hasUnused(component, named))) return content
  const template = { ...content.template, components: components.map((component) => withoutUnused(component, named)) }
  return { ...content, template }
}

/** Texts of headers and bodies have names, those of buttons never. */
const isUnused = ({ type }: Component, named: boolean): boolean => !named || (type !== 'HEADER' && type !== 'BODY')

const hasUnused = (component: Component, named: boolean): boolean =>
  (isUnused(component, named) && component.parameters?.some((parameter) => 'parameter_name' in parameter)) ||
  component.cards?.some((card) => card.components?.some((part) => hasUnused(part, named))) ||
  false

function withoutUnused(component: Component, named: boolean): Component {
  const { parameters, cards } = component
  return {
    ...component,
    ...(parameters &&
      isUnused(component, named) && { parameters: parameters.map(({ parameter_name: _unused, ...rest }) => rest) }),
    ...(cards && {
      cards: cards.map((card) => ({
        ...card,
        ...(card.components && { components: card.components.map((part) => withoutUnused(part, named)) }),
      })),
    }),
  }
}
