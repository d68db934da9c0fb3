// The fields of a form that sends a body of the interface, and the body of what was typed: kinds, limits and help come from the table of
// routes (state/forms.ts), and a page adds only what it says in other words.
import { FORMS } from '../state/forms.ts'
import type { Fields, Spec } from './fields.tsx'

/** What the table says of a field. */
export interface FormField {
  kind: 'text' | 'number' | 'time' | 'check' | 'list'
  label: string
  help?: string
  required?: true
  mayBeNull?: true
  /** A list of numbers. */
  ofNumbers?: true
  min?: string
  max?: string
  step?: string
  options?: readonly string[]
}

type Operation = keyof typeof FORMS
type Typed = Readonly<Record<string, unknown>>

const formOf = (operation: Operation): Readonly<Record<string, FormField>> => FORMS[operation]

/** The fields of the body of an operation, with the values of what is changed. `own`: what the page says of a field itself. */
export function fieldsOf(
  operation: Operation,
  now: object = {},
  own: Readonly<Record<string, Partial<Spec>>> = {},
): Fields {
  return Object.fromEntries(
    Object.entries(formOf(operation)).map(([name, field]) => {
      const value: unknown = Reflect.get(now, name)
      const { kind, mayBeNull: _null, ofNumbers: _numbers, options, ...shown } = field
      const spec =
        kind === 'check'
          ? { ...shown, kind, value: value === true }
          : {
              ...shown,
              kind: kind === 'list' ? ('text' as const) : kind,
              ...(options && { options: options.map((each) => [each, each] as const) }),
              value: Array.isArray(value)
                ? value.join(', ')
                : value === null || value === undefined
                  ? ''
                  : String(value),
            }
      // Safe: what a page adds is of the kind of the field.
      return [name, { ...spec, ...own[name] } as Spec]
    }),
  )
}

/**
 * The body of what was typed. An empty field is null where it may be, else it is left out, and the server takes the usual value or
 * leaves it as it is.
 */
export function bodyOf(operation: Operation, typed: Typed): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(formOf(operation)).flatMap(([name, field]) => {
      const value = valueFor(field, typed[name])
      return value === undefined ? [] : [[name, value]]
    }),
  )
}

function valueFor({ kind, mayBeNull, ofNumbers }: FormField, typed: unknown): unknown {
  if (kind === 'check') return typed === true
  const text = String(typed ?? '').trim()
  if (kind === 'list') {
    const words = text.split(',').flatMap((word) => word.trim() || [])
    return ofNumbers ? words.map(Number) : words
  }
  if (text === '') return mayBeNull ? null : undefined
  return kind === 'number' ? Number(text) : text
}
