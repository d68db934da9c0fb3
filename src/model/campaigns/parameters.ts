// The components of a campaign: those of a template message, where any string may be replaced by
// `{"from": "contact.name"}`. Compiled once per campaign, filled in for each recipient.
import { z } from 'zod'
import { type Fault, quoted } from '../../kernel/fault.ts'
import { fieldNamesOf } from '../../kernel/field-names.ts'
import { refusedFields, type UnknownField, unknownFault, unknownFields } from '../../kernel/unknown-fields.ts'
import { faultsOf } from '../../kernel/zod-faults.ts'
import { placeholder, placeholderIn } from '../messages/placeholders.ts'
import { mapFiles } from '../templates/component-files.ts'
import { matchTemplate } from '../templates/match-template.ts'
import type { TemplateShape } from '../templates/template.ts'
import { type Component, type Parameter, templateContentSchema } from '../templates/template-content.ts'

/** Where a value comes from: a field of the contact, or `row.` and the name of a column. */
export type ValueSource = `contact.${'name' | 'phone' | 'email'}` | `row.${string}`

/** Components whose placeholders are resolved to positions in a list of values. */
export interface CompiledComponents {
  /** The fields taken from each recipient, each once, in the order of a recipient's values. */
  sources: ValueSource[]
  /** The components with these values, in the order of `sources`. */
  fill(values: readonly string[]): Component[]
  /** The components with placeholders for these values, see model/messages/placeholders.ts. */
  withPlaceholders: readonly Component[]
}

const componentsSchema = templateContentSchema.shape.components
const NAMES = fieldNamesOf(z.object({ template: templateContentSchema }))
const PLACEHOLDER_NAMES = fieldNamesOf(z.object({ from: z.string() }))
/** What a flow is given is the account's own: `{ "from": "row.city", "to": "Paris" }` is a journey there, no placeholder. */
const OWN = /\.flow_action_data(\.|\[|$)/

const SOURCE = /^(contact\.(name|phone|email)|row\..{1,255})$/s
const isSource = (text: unknown): text is ValueSource => typeof text === 'string' && SOURCE.test(text)

/** The fields of a campaign's recipients: contacts have fields, rows of an uploaded file have columns. */
export type ValueSourceKind = 'contact' | 'row'

/** Parsed components. `stored` returns them with their placeholders, `unknown` lists unknown fields. */
export interface ReadComponents {
  ok: true
  compiled: CompiledComponents
  stored: () => unknown[]
  unknown: readonly UnknownField[]
}

/** Reads components with placeholders, or returns every fault in them. */
export function compileComponents(
  components: unknown,
  offer: ValueSourceKind,
): ReadComponents | { ok: false; faults: Fault[] } {
  const faults: Fault[] = []
  const sources: ValueSource[] = []
  const replaced = replaceSources(components, 'template.components', ({ from, ...beside }, path) => {
    for (const field of unknownFields(beside, {}, PLACEHOLDER_NAMES)) {
      const fault = unknownFault(field)
      faults.push({ ...fault, path: `${path}.${fault.path}` })
    }
    const known = isSource(from) ? sources.indexOf(from) : -1
    if (known !== -1) return placeholder(known)
    if (isSource(from) && from.startsWith(`${offer}.`)) return placeholder(sources.push(from) - 1)
    faults.push({ path: `${path}.from`, message: `expected ${EXPECTED[offer]}, got ${quoted(from)}` })
    return ''
  })
  const parsed = componentsSchema.safeParse(replaced)
  if (!parsed.success) {
    return { ok: false, faults: [...faults, ...faultsOf(parsed.error, replaced, 'template.components')] }
  }
  const read = parsed.data ?? []
  if (JSON.stringify(fillAll(read, [])).includes('\\u0000')) {
    faults.push({ path: 'template.components', message: 'a value can be filled in only where a parameter holds one' })
  }
  faults.push(...galleryFaults(read))
  if (faults.length > 0) return { ok: false, faults }
  const unknown = refusedFields({ template: { components: replaced } }, { template: { components: read } }, NAMES)
  const compiled = { sources, fill: (values: readonly string[]) => fillAll(read, values), withPlaceholders: read }
  return { ok: true, compiled, stored: () => withSources(read, sources), unknown }
}

/** A file of the gallery is uploaded before the campaign starts, so it must be the same for everybody. */
function galleryFaults(components: readonly Component[]): Fault[] {
  const faults: Fault[] = []
  mapFiles(components, 'template.components', (file, { path }) => {
    if (file.gallery !== undefined && placeholderIn(file.gallery) !== undefined) {
      faults.push({ path: `${path}.gallery`, message: 'expected one file for all recipients' })
    }
    return file
  })
  return faults
}

/** A copy with the placeholders put back. */
function withSources(components: readonly Component[], sources: readonly ValueSource[]): unknown[] {
  const text = JSON.stringify(components)
  return JSON.parse(text, (_name, value: unknown) => {
    const n = typeof value === 'string' ? placeholderIn(value) : undefined
    return n === undefined ? value : { from: sources[n] }
  })
}

const EXPECTED: Readonly<Record<ValueSourceKind, string>> = {
  contact: 'contact.name, contact.phone or contact.email, as the recipients are contacts',
  row: 'row.<column>, as the recipients are rows of a file',
}

/**
 * Faults that every recipient would have, whatever is filled in. The values themselves are checked against the template for each
 * recipient, by matchTemplate.
 */
export function structuralFaults(shape: TemplateShape, { sources, fill }: CompiledComponents): Fault[] {
  // A sample that is a valid text is no valid link or time, and vice versa: a fault that one of the samples does not have is not
  // structural.
  const [asText = [], ...others] = ['1', 'https://example.com/1', '1800000000000'].map((sample) =>
    matchTemplate(shape, fill(sources.map(() => sample))),
  )
  const isIn = (faults: readonly Fault[], fault: Fault) =>
    faults.some(({ path, message }) => path === fault.path && message === fault.message)
  return asText.filter((fault) => others.every((faults) => isIn(faults, fault)))
}

/** A value to fill in, with whatever was written beside its `from`. */
type Placeholder = { from: unknown }

/** What names a column or a field beside other names is one as well, so that the others are refused by their names. */
const isPlaceholder = (value: object, path: string): value is Placeholder =>
  'from' in value && (Object.keys(value).length === 1 || (isSource(value.from) && !OWN.test(path)))

/** A copy of the value in which `replace` has replaced every placeholder. */
function replaceSources(value: unknown, path: string, replace: (held: Placeholder, path: string) => string): unknown {
  if (Array.isArray(value)) return value.map((each, i) => replaceSources(each, `${path}[${i}]`, replace))
  if (typeof value === 'string') return value.replaceAll('\u0000', '')
  if (typeof value !== 'object' || value === null) return value
  if (isPlaceholder(value, path)) return replace(value, path)
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [key, replaceSources(each, `${path}.${key}`, replace)]),
  )
}

function fillAll(components: readonly Component[], values: readonly string[]): Component[] {
  return components.map((component) => ({
    ...component,
    ...(component.parameters && { parameters: fillParameters(component.parameters, values) }),
    ...(component.cards && {
      cards: component.cards.map((card) => ({
        ...card,
        ...(card.components && {
          components: card.components.map((part) => ({
            ...part,
            ...(part.parameters && { parameters: fillParameters(part.parameters, values) }),
          })),
        }),
      })),
    }),
  }))
}

const fillParameters = (parameters: readonly Parameter[], values: readonly string[]): Parameter[] =>
  parameters.map((parameter) => ({ ...parameter, [parameter.type]: fillHeld(parameter[parameter.type], values) }))

/** What a parameter holds: a text, or an object of texts such as a link and a file name, or lists of these. */
function fillHeld(held: unknown, values: readonly string[]): unknown {
  if (typeof held === 'string') {
    const n = placeholderIn(held)
    return n === undefined ? held : (values[n] ?? '')
  }
  if (typeof held !== 'object' || held === null) return held
  if (Array.isArray(held)) return held.map((each) => fillHeld(each, values))
  return Object.fromEntries(Object.entries(held).map(([key, each]) => [key, fillHeld(each, values)]))
}
