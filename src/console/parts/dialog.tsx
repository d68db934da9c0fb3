// Dialogs, one at a time. Every action asks first: `ask` opens a form that says what the action touches.
import { signal } from '@preact/signals'
import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import { somethingChanged } from '../state/hooks.ts'
import { place } from '../state/router.ts'
import { Button, Copy } from './button.tsx'
import { type Fields, Form, type FormSpec } from './form.tsx'

const open = signal<{ content: ComponentChildren; key: number }>({ content: null, key: 0 })

/** Opens a dialog; it replaces an open one. */
export const openDialog = (content: ComponentChildren): void => {
  open.value = { content, key: open.peek().key + 1 }
}
/** Closes the open dialog. */
export const closeDialog = (): void => openDialog(null)

/** The place of the dialog on the page. A change of page closes it. */
export function DialogPlace() {
  const { path } = place.value
  useEffect(() => closeDialog, [path])
  return <Fragment key={open.value.key}>{open.value.content}</Fragment>
}

/** A modal dialog: it keeps the focus, and Escape closes it. `close` is the text of a button that closes it. */
export function Dialog({ title, close, children }: { title: string; close?: string; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const before = document.activeElement
    const dialog = box.current
    dialog?.showModal()
    // Select the value, so that typing replaces it: a 0 after a rate of 80 would make it 800.
    const first = document.activeElement
    if (first instanceof HTMLInputElement && dialog?.contains(first)) first.select()
    return () => {
      dialog?.close()
      // The browser returns the focus only if the dialog is still on the page, and it has just been removed.
      if (before instanceof HTMLElement && before.isConnected) before.focus()
    }
  }, [])
  return (
    <dialog
      ref={box}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault()
        closeDialog()
      }}
    >
      <h2 id={id}>{title}</h2>
      {children}
      {close !== undefined && (
        <div class="actions">
          <Button press={closeDialog}>{close}</Button>
        </div>
      )}
    </dialog>
  )
}

type Action<F extends Fields> = Omit<FormSpec<F>, 'verb'> & { title: string; verb?: FormSpec<F>['verb'] }

/** A dialog with a form, and a button that leaves it with nothing done. Its `verb` is by default its title. */
export const Confirm = <const F extends Fields>({ title, verb = title, ...form }: Action<F>) => (
  <Dialog title={title}>
    <Form {...form} verb={verb} also={<Button press={closeDialog}>Do nothing</Button>} onDone={closeDialog} />
  </Dialog>
)

/** Opens a dialog that asks before it acts. */
export const ask = <const F extends Fields>(action: Action<F>): void => openDialog(<Confirm {...action} />)

/** Shows a new secret, once. It is null if the answer to the first request was lost. */
export function showOnce(what: 'key' | 'secret', secret: string | null, hint?: string): void {
  somethingChanged()
  openDialog(
    <Dialog title={`The new ${what}`} close="I have kept it">
      {secret === null ? (
        <p role="status">It was made before and its answer was lost: nobody can see it any more. Revoke it.</p>
      ) : (
        <>
          <p role="status">Keep it now: it is not shown again.</p>
          <p class="secret">
            <code>{secret}</code> <Copy what={what} text={secret} />
          </p>
          {hint !== undefined && <p class="help">{hint}</p>}
        </>
      )}
    </Dialog>,
  )
}
