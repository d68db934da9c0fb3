// Buttons, and copying to the clipboard.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { notify, notifyRefusal } from './notices.tsx'

/**
 * A button. While the promise of `press` is pending, further presses do nothing and the button shows `busy`, if given. A
 * refusal becomes a notice. `of` is the name for screen readers.
 */
export function Button({
  press,
  variant = '',
  of,
  busy,
  on,
  disabled = false,
  children,
}: {
  press: () => unknown
  variant?: 'primary' | 'danger' | 'plain' | ''
  of?: string
  busy?: string
  /** Makes it a switch that is on or off. */
  on?: boolean
  disabled?: boolean
  children: ComponentChildren
}) {
  const [isBusy, setBusy] = useState(false)
  const run = async (): Promise<void> => {
    if (isBusy) return
    const begun = press()
    if (!(begun instanceof Promise)) return
    setBusy(true)
    await begun.catch(notifyRefusal)
    setBusy(false)
  }
  return (
    <button
      type="button"
      class={variant}
      {...(on === undefined ? {} : { role: 'switch', 'aria-checked': on })}
      aria-label={of}
      aria-disabled={isBusy}
      disabled={disabled}
      onClick={() => void run()}
    >
      {isBusy && busy !== undefined ? busy : children}
    </button>
  )
}

/** A button that copies `text`; `what` names it. */
export const Copy = ({ what, text }: { what: string; text: string }) => (
  <Button variant="plain" of={`Copy the ${what}`} press={() => copy(text)}>
    Copy
  </Button>
)

async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    if (!copyBySelection(text)) return
  }
  notify('Copied.')
}

/** For browsers without a clipboard API, as on a page without TLS. */
function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  // While a modal dialog is open, nothing outside of it can be selected.
  const holder = document.querySelector('dialog[open]') ?? document.body
  holder.append(field)
  field.select()
  const done = document.execCommand('copy')
  field.remove()
  return done
}
