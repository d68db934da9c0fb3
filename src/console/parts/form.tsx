// Forms as data: a page describes its fields and an action. Labels, hints, the busy state, refusals and the button are the
// same everywhere.
import type { ComponentChildren } from 'preact'
import { useId, useState } from 'preact/hooks'
import { instantOf, localOf } from '../logic/message-filters.ts'
import { type IdempotencyHeaders, somethingChanged, useAction, useIdempotencyKey } from '../state/hooks.ts'
import { notify, Problem } from './notices.tsx'

interface Common {
  label: string
  help?: ComponentChildren
  required?: boolean
  disabled?: boolean
  /** The field is shown only while this is true of the values of the form. */
  when?: (values: Readonly<Record<string, unknown>>) => boolean
  /** Fields with the same title are folded away under it. */
  fold?: string
  /** Half as wide, if there is room, so that two stand side by side. */
  half?: true
}

/** A text field, or with `options` a choice. `time` holds an ISO time and shows it in the reader's zone. */
export interface TextSpec extends Common {
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

type Spec = TextSpec | CheckSpec | ChecksSpec | FileSpec
type Value = string | boolean | readonly string[] | File | undefined
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

/** Waits for a request, then returns the sentence for its notice. */
export async function thenNotify(request: Promise<unknown>, sentence: string): Promise<string> {
  await request
  return sentence
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
          // The types want to know the kind of input; these attributes suit every kind.
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

function AnyField({ spec, value, onValue }: { spec: Spec; value: Value; onValue: (value: Value) => void }) {
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

const startOf = (spec: Spec): Value =>
  spec.kind === 'check'
    ? (spec.value ?? false)
    : spec.kind === 'checks'
      ? (spec.value ?? [])
      : spec.kind === 'file'
        ? undefined
        : (spec.value ?? '')

type FromValues<F extends Fields, T> = T | ((values: Values<F>) => T)

/** A form, as data. */
export interface FormSpec<F extends Fields> {
  fields?: F
  /** Shown above and below the fields. A string becomes a paragraph. */
  text?: FromValues<F, ComponentChildren>
  note?: FromValues<F, ComponentChildren>
  /** The text of the button. */
  verb: FromValues<F, string>
  danger?: boolean
  /** Whether the form can be sent yet. */
  ready?: (values: Values<F>) => boolean
  /**
   * The action. If it returns a sentence, that becomes a notice, the form is done, and the page loads again. `once` holds an
   * Idempotency-Key for the request, so that repeating it does the work once.
   */
  act: (values: Values<F>, once: IdempotencyHeaders) => Promise<unknown>
}

/**
 * A form. `also` stands beside its button. `onDone` is called when `act` has returned a sentence, `onValues` when a value
 * changes. `about` is what the Idempotency-Key stands for, if that is more than the values.
 */
export function Form<const F extends Fields>({
  fields,
  text,
  note,
  verb,
  danger = false,
  ready = () => true,
  act,
  variant = '',
  isMinor = false,
  also,
  onDone,
  onValues,
  about,
}: FormSpec<F> & {
  variant?: string
  /** There is a more important button on the page. */
  isMinor?: boolean
  also?: ComponentChildren
  onDone?: () => void
  onValues?: (values: Values<F>) => void
  about?: unknown
}) {
  const specs: Fields = fields ?? {}
  const [changed, setChanged] = useState<Readonly<Record<string, Value>>>({})
  // Safe: each value comes from the description or the control of its own field.
  const values = {
    ...Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, startOf(spec)])),
    ...changed,
  } as Values<F>
  const { headersFor, renew } = useIdempotencyKey()
  const { busy, refusal, isBack, run } = useAction(async () => {
    const sentence = await act(values, headersFor(about ?? values))
    renew()
    if (typeof sentence !== 'string') return
    notify(sentence)
    onDone?.()
    somethingChanged()
  })
  const fromValues = <T,>(what: FromValues<F, T>): T =>
    typeof what === 'function' ? (what as (values: Values<F>) => T)(values) : what
  const paragraph = (words: ComponentChildren) => (typeof words === 'string' ? <p>{words}</p> : words)
  const shown = Object.entries(specs).filter(([, { when }]) => when?.(values) ?? true)
  const set = (name: string, value: Value): void => {
    setChanged((old) => ({ ...old, [name]: value }))
    onValues?.({ ...values, [name]: value })
  }
  const take = async (name: string, spec: Spec, value: Value): Promise<void> => {
    set(name, value)
    if (spec.kind === 'file' && spec.into !== undefined && value instanceof File) set(spec.into, await value.text())
  }
  const field = ([name, spec]: readonly [string, Spec]) => (
    <AnyField key={name} spec={spec} value={values[name]} onValue={(value) => void take(name, spec, value)} />
  )
  const grid = variant.startsWith('filters') ? 'filters' : 'fields'
  const folds = [...new Set(shown.flatMap(([, { fold }]) => (fold === undefined ? [] : [fold])))]
  return (
    <form
      class={`${grid} ${variant}`}
      aria-busy={busy}
      onSubmit={(event) => {
        event.preventDefault()
        if (ready(values)) void run()
      }}
    >
      {paragraph(fromValues(text))}
      {shown.filter(([, { fold }]) => fold === undefined).map(field)}
      {folds.map((title) => {
        const folded = shown.filter(([, { fold }]) => fold === title)
        return (
          <details key={title} open={folded.some(([, spec]) => startOf(spec) !== '')}>
            <summary>{title}</summary>
            <div class={grid}>{folded.map(field)}</div>
          </details>
        )
      })}
      {paragraph(fromValues(note))}
      <Problem refusal={refusal} isBack={isBack} />
      <div class="actions">
        <button type="submit" class={danger ? 'danger' : isMinor ? '' : 'primary'} disabled={busy || !ready(values)}>
          {fromValues(verb)}
        </button>
        {also}
      </div>
    </form>
  )
}
