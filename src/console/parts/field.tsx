// Fields of forms: a label, the control, and what helps to fill it in, tied together.
import type { ComponentChildren } from 'preact'
import { useId } from 'preact/hooks'

interface Shared {
  label: string
  help?: ComponentChildren
  value: string
  onValue: (value: string) => void
  required?: boolean
  disabled?: boolean
}

/** A field of one line. */
export function TextField({
  label,
  help,
  value,
  onValue,
  type = 'text',
  ...more
}: Shared & {
  type?: 'text' | 'password' | 'number' | 'search' | 'datetime-local' | 'email' | 'url'
  placeholder?: string
  autocomplete?: string
  min?: string
  max?: string
  step?: string
  size?: number
}) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <input
        id={id}
        // Attributes are typed by kind of field; those below are fine with each.
        type={type as 'text'}
        value={value}
        aria-describedby={help === undefined ? undefined : `${id}-help`}
        onInput={(event) => onValue(event.currentTarget.value)}
        {...more}
      />
      {help !== undefined && (
        <p id={`${id}-help`} class="help">
          {help}
        </p>
      )}
    </div>
  )
}

/** A field of several lines. */
export function TextArea({ label, help, value, onValue, rows = 6, ...more }: Shared & { rows?: number }) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <textarea
        id={id}
        rows={rows}
        value={value}
        aria-describedby={help === undefined ? undefined : `${id}-help`}
        onInput={(event) => onValue(event.currentTarget.value)}
        {...more}
      />
      {help !== undefined && (
        <p id={`${id}-help`} class="help">
          {help}
        </p>
      )}
    </div>
  )
}

/** One of several, each with its value and what it is called. */
export function Choice({
  label,
  help,
  value,
  onValue,
  options,
  ...more
}: Shared & { options: readonly (readonly [string, string])[] }) {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select
        id={id}
        value={value}
        aria-describedby={help === undefined ? undefined : `${id}-help`}
        onChange={(event) => onValue(event.currentTarget.value)}
        {...more}
      >
        {options.map(([each, name]) => (
          <option key={each} value={each}>
            {name}
          </option>
        ))}
      </select>
      {help !== undefined && (
        <p id={`${id}-help`} class="help">
          {help}
        </p>
      )}
    </div>
  )
}

/** Something that is so or not. */
export const Check = ({
  checked,
  onFlip,
  children,
}: {
  checked: boolean
  onFlip: () => void
  children: ComponentChildren
}) => (
  <label class="check">
    <input type="checkbox" checked={checked} onChange={onFlip} />
    <span>{children}</span>
  </label>
)
