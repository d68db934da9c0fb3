// Buttons, and copying a text.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { notify, notifyRefusal } from './notices.tsx'

/**
 * A button. While what `press` began is not over it does nothing more, and shows `busy` where given; a refusal is shown as
 * a notice. `of` says to screen readers what it acts on.
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
  /** Makes it a switch, and says how that stands. */
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

/** A button that copies `text`; `what` says what the text is. */
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

/** For browsers that offer no clipboard, as on a page without TLS. */
function copyBySelection(text: string): boolean {
  const field = document.createElement('textarea')
  field.value = text
  // In a modal dialog, only what is in it can be selected.
  const holder = document.querySelector('dialog[open]') ?? document.body
  holder.append(field)
  field.select()
  const done = document.execCommand('copy')
  field.remove()
  return done
}
