// A dialog: the focus stays in it, Escape closes it, and the focus goes back to where it was.
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { useAct } from '../state/act.ts'
import { Problem } from './problem.tsx'

/** A modal dialog, open for as long as it is there. */
export function Dialog({
  title,
  onClose,
  children,
}: {
  title: string
  onClose: () => void
  children: ComponentChildren
}) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const before = document.activeElement
    const dialog = box.current
    dialog?.showModal()
    // What is typed replaces what stands there: put behind it, a 0 would make a rate of 80 one of 800.
    const first = document.activeElement
    if (first instanceof HTMLInputElement && dialog?.contains(first)) first.select()
    return () => {
      dialog?.close()
      // The browser gives the focus back only while the dialog is on the page, and here it has just gone.
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={box}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        onClose()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

/**
 * Asks before something is done that cannot be undone or that touches others' messages. `children` say what it touches;
 * `act` does it, and its refusal is shown in place.
 */
export function Confirm({
  title,
  verb,
  danger = false,
  ready = true,
  act,
  onClose,
  children,
}: {
  title: string
  verb: string
  danger?: boolean
  ready?: boolean
  act: () => Promise<void>
  onClose: () => void
  children: ComponentChildren
}) {
  const { busy, refusal, isBack, run } = useAct(act)
  const submit = (event: Event): void => {
    event.preventDefault()
    if (ready) void run()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <form onSubmit={submit} aria-busy={busy}>
        {children}
        <Problem refusal={refusal} isBack={isBack} />
        <div class="actions">
          <button type="submit" class={danger ? 'danger' : 'primary'} disabled={busy || !ready}>
            {verb}
          </button>
          <button type="button" onClick={onClose}>
            Do nothing
          </button>
        </div>
      </form>
    </Dialog>
  )
}
