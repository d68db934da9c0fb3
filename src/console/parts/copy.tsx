// Copying a text. Where the browser has no clipboard (a page without TLS), the text is selected for the keyboard.
import { say } from './notices.tsx'

/** A button that copies; `what` is what the text is. */
export function Copy({ what, text }: { what: string; text: string }) {
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text)
    } catch {
      if (!copyBySelection(text)) return
    }
    say('Copied.')
  }
  return (
    <button type="button" class="plain" aria-label={`Copy the ${what}`} onClick={() => void copy()}>
      Copy
    </button>
  )
}

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
