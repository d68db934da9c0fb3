// The fields of forms, as data and on the page: texts, choices, boxes to tick, files.
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'
import { instantOf, localOf } from '../logic/message-filters.ts'

interface Common {
  label: string
  help?: ComponentChildren
  required?: boolean
  disabled?: boolean
  /** The field is shown only while this is true of the values of the form. */
  when?: (values: Readonly<Record<string, unknown>>) => boolean
  /** Fields with the same title are folded away under it. */
  fold?: string
  /** Half as wide, if there is room, so that two fit side by side. */
  half?: true
}

/** A text field, or with `options` a choice. `time` holds an ISO time and shows it in the reader's zone. */
interface TextSpec extends Common {
  kind?: 'text' | 'password' | 'number' | 'search' | 'email' | 'url' | 'time' | 'lines'
  options?: readonly (readonly [value: string, name: string])[]
  value?: string
  placeholder?: string
  autocomplete?: string
  min?: string
  max?: string
  step?: string
}

/** A checkbox. */
interface CheckSpec extends Common {
  kind: 'check'
  value?: boolean
}
interface ChecksSpec extends Common {
  kind: 'checks'
  options: readonly (readonly [value: string, name: ComponentChildren])[]
  value?: readonly string[]
}
interface FileSpec extends Common {
  kind: 'file'
  accept?: string
  /** The name of a field that receives the text of the file. */
  into?: string
}

export type Spec = TextSpec | CheckSpec | ChecksSpec | FileSpec
export type Value = string | boolean | readonly string[] | File | undefined
/** The fields of a form, by name. */
export type Fields = Readonly<Record<string, Spec>>
/** The values of the fields, by name. */
export type Values<F extends Fields> = {
  [Name in keyof F]: F[Name] extends { kind: 'check' }
    ? boolean
    : F[Name] extends { kind: 'checks' }
      ? readonly string[]
      : F[Name] extends { kind: 'file' }
        ? File | undefined
        : string
}

/** Trims the texts and leaves out empty ones. */
export const nonEmpty = (texts: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(texts).flatMap(([name, text]) => (text.trim() === '' ? [] : [[name, text.trim()] as const])),
  )

/** The comma-separated parts of a text. */
export const partsOf = (text: string): string[] =>
  text
    .split(',')
    .map((each) => each.trim())
    .filter((each) => each !== '')

/** A text field or a choice, with its label. */
export function Field({ onValue, ...spec }: TextSpec & { value: string; onValue: (value: string) => void }) {
  const { label, help, kind = 'text', options, value, when: _when, fold: _fold, half, ...more } = spec
  const id = useId()
  const shared = { id, 'aria-describedby': help === undefined ? undefined : `${id}-help`, ...more }
  const isTime = kind === 'time'
  return (
    <div class={half ? 'field half' : 'field'}>
      <label for={id}>{label}</label>
      {options !== undefined ? (
        <select {...shared} value={value} onChange={({ currentTarget }) => onValue(currentTarget.value)}>
          {options.map(([each, name]) => (
            <option key={each} value={each}>
              {name}
            </option>
          ))}
        </select>
      ) : kind === 'lines' ? (
        <textarea {...shared} rows={9} value={value} onInput={({ currentTarget }) => onValue(currentTarget.value)} />
      ) : (
        <input
          {...shared}
          // The types require one kind of input; these attributes suit every kind.
          type={(isTime ? 'datetime-local' : kind) as 'text'}
          value={isTime ? localOf(value) : value}
          onInput={({ currentTarget: { value: typed } }) => onValue(isTime ? instantOf(typed) : typed)}
        />
      )}
      {help !== undefined && (
        <p id={`${id}-help`} class="help">
          {help}
        </p>
      )}
    </div>
  )
}

/** A box to tick. */
const Check = ({
  checked,
  disabled = false,
  onFlip,
  children,
}: {
  checked: boolean
  disabled?: boolean
  onFlip: () => void
  children: ComponentChildren
}) => (
  <label class="check">
    <input type="checkbox" checked={checked} disabled={disabled} onChange={onFlip} />
    <span>{children}</span>
  </label>
)

/** Adds a value to a list, or removes it. */
export const toggled = <T,>(list: readonly T[], one: T): T[] =>
  list.includes(one) ? list.filter((each) => each !== one) : [...list, one]

/** Checkboxes under one legend, each with a value. */
export const Checks = ({
  label,
  options,
  chosen,
  onChosen,
}: Pick<ChecksSpec, 'label' | 'options'> & {
  chosen: readonly string[]
  onChosen: (chosen: readonly string[]) => void
}) => (
  <fieldset>
    <legend>{label}</legend>
    <div class="checks">
      {options.map(([each, name]) => (
        <Check key={each} checked={chosen.includes(each)} onFlip={() => onChosen(toggled(chosen, each))}>
          {name}
        </Check>
      ))}
    </div>
  </fieldset>
)

/** The field of any description. */
export function AnyField({ spec, value, onValue }: { spec: Spec; value: Value; onValue: (value: Value) => void }) {
  if (spec.kind === 'check') {
    return (
      <Check checked={value === true} disabled={spec.disabled === true} onFlip={() => onValue(value !== true)}>
        {spec.label}
      </Check>
    )
  }
  if (spec.kind === 'checks') {
    return <Checks {...spec} chosen={Array.isArray(value) ? value : []} onChosen={onValue} />
  }
  if (spec.kind === 'file') {
    return (
      <label class="field">
        <span>{spec.label}</span>
        <input type="file" accept={spec.accept} onChange={({ currentTarget }) => onValue(currentTarget.files?.[0])} />
      </label>
    )
  }
  return <Field {...spec} value={typeof value === 'string' ? value : ''} onValue={onValue} />
}

/** The value of a field before anybody has changed it. */
export function startOf(spec: Spec): Value {
  if (spec.kind === 'file') return undefined
  if (spec.kind === 'check') return spec.value ?? false
  return spec.value ?? (spec.kind === 'checks' ? [] : '')
}
