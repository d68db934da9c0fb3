// Buttons, and the result of a press: a notice, which screen readers read out and which disappears by itself unless it is bad
// news, or a problem, which stays where something was refused.
import { effect, signal } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { plainText } from '../logic/plain-text.ts'
import { isUnavailable, NOTHING_CHANGED, Refused } from '../state/http.ts'
import { snapshotAt } from '../state/live.ts'

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

interface Notice {
  id: number
  text: string
  bad: boolean
}

const notices = signal<readonly Notice[]>([])
let last = 0
const SHOWN_MS = 6_000
/** More than these would cover the page. */
const MOST = 3

const remove = (id: number): void => {
  notices.value = notices.value.filter((each) => each.id !== id)
}

function show(text: string, bad: boolean): number {
  last += 1
  const id = last
  notices.value = [...notices.value, { id, text, bad }].slice(-MOST)
  if (!bad) setTimeout(() => remove(id), SHOWN_MS)
  return id
}

/** Shows a notice that something was done. */
export const notify = (text: string): void => void show(text, false)

/**
 * Shows why something was refused. A notice that Laneway was away goes once it is back. Any other error is a bug of the page
 * and goes to the browser's console as well.
 */
export function notifyRefusal(error: unknown): void {
  if (!(error instanceof Refused)) {
    show(`The page has a fault: ${String(error)}`, true)
    console.error(error)
    return
  }
  const [id, at] = [show(error.message, true), Date.now()]
  if (!isUnavailable(error)) return
  const stop = effect(() => {
    if (snapshotAt.value <= at) return
    setTimeout(() => {
      stop()
      remove(id)
    }, SHOWN_MS)
  })
}

/** The place of the notices on the page. */
export function Notices() {
  return (
    <div class="notices">
      <div role="status" aria-live="polite">
        {notices.value.filter(({ bad }) => !bad).map(view)}
      </div>
      <div role="alert">{notices.value.filter(({ bad }) => bad).map(view)}</div>
    </div>
  )
}

const view = ({ id, text, bad }: Notice) => (
  <div key={id} class={bad ? 'notice bad' : 'notice'}>
    <span>{plainText(text)}</span>
    <button type="button" class="plain" aria-label="Close this notice" onClick={() => remove(id)}>
      ×
    </button>
  </div>
)

/** Live figures that arrive sooner after a refusal may have left the server before it. */
const LATER_MS = 1_500

/** A refusal, if there is one. `at`: when an action was refused; if Laneway was away and is back, that is shown in its place. */
export function Problem({
  refusal,
  at,
  onRetry,
}: {
  refusal?: Refused | undefined
  at?: number
  onRetry?: () => void
}) {
  if (refusal === undefined) return null
  // Live figures come from the same server and its storage, so new ones prove that both are back.
  if (at !== undefined && isUnavailable(refusal) && snapshotAt.value > at + LATER_MS) {
    return (
      <p class="quiet" role="status">
        Laneway can be reached again. {NOTHING_CHANGED} Press again.
      </p>
    )
  }
  const { details } = refusal
  return (
    <div class="problem" role="alert">
      <p>{plainText(refusal.message)}</p>
      {details.length > 1 && (
        <ul>
          {details.map(({ path, message }) => (
            <li key={`${path} ${message}`}>
              <code>{plainText(path)}</code>: {plainText(message)}
            </li>
          ))}
        </ul>
      )}
      {onRetry && (
        <button type="button" onClick={onRetry}>
          Try again
        </button>
      )}
    </div>
  )
}
