// What has just been done, or why not: read out by screen readers, gone by itself unless it is bad news that lasts.
import { effect, signal } from '@preact/signals'
import { plainText } from '../logic/plain-text.ts'
import { isAway, Refused } from '../state/http.ts'
import { snapshotAt } from '../state/live.ts'

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

/** Says that something was done. */
export const say = (text: string): void => void show(text, false)

/**
 * Says why something could not be done; that Laneway was away, until it is back. What is no refusal is a fault of the page
 * and goes on to the console.
 */
export function sayRefusal(error: unknown): void {
  if (!(error instanceof Refused)) {
    show(`The page has a fault: ${String(error)}`, true)
    console.error(error)
    return
  }
  const [id, at] = [show(error.message, true), Date.now()]
  if (!isAway(error)) return
  const stop = effect(() => {
    if (snapshotAt.value <= at) return
    setTimeout(() => {
      stop()
      remove(id)
    }, SHOWN_MS)
  })
}

/** Where notices appear. */
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
    <span>
      <span aria-hidden="true">{bad ? '! ' : '✓ '}</span>
      {plainText(text)}
    </span>
    <button type="button" class="plain" aria-label="Close this notice" onClick={() => remove(id)}>
      ×
    </button>
  </div>
)
