// Dialogs, one at a time. An action asks before it does anything: `ask` takes the form that says what it touches.
import { signal } from '@preact/signals'
import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef } from 'preact/hooks'
import { somethingChanged } from '../state/hooks.ts'
import { place } from '../state/router.ts'
import { Button, Copy } from './button.tsx'
import { type Fields, Form, type FormSpec } from './form.tsx'

const open = signal<{ content: ComponentChildren; key: number }>({ content: null, key: 0 })

/** Opens a dialog, in place of one that is open. */
export const openDialog = (content: ComponentChildren): void => {
  open.value = { content, key: open.peek().key + 1 }
}
/** Closes the dialog that is open. */
export const closeDialog = (): void => openDialog(null)

/** Where dialogs appear. One that is open closes when the page changes. */
export function DialogPlace() {
  const { path } = place.value
  useEffect(() => closeDialog, [path])
  return <Fragment key={open.value.key}>{open.value.content}</Fragment>
}

/** A modal dialog: the focus stays in it, Escape closes it. `close` is the name of a button that only closes it. */
export function Dialog({ title, close, children }: { title: string; close?: string; children: ComponentChildren }) {
  const box = useRef<HTMLDialogElement>(null)
  const id = useId()
  useLayoutEffect(() => {
    const before = document.activeElement
    const dialog = box.current
    dialog?.showModal()
    // What is typed replaces the value: appended, a 0 would make a rate of 80 one of 800.
    const first = document.activeElement
    if (first instanceof HTMLInputElement && dialog?.contains(first)) first.select()
    return () => {
      dialog?.close()
      // The browser gives the focus back only while the dialog is on the page, and it has just been removed.
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

/** A dialog with a form that does something, or is left with nothing done. Its button is named as the dialog, unless said. */
export const Confirm = <const F extends Fields>({ title, verb = title, ...form }: Action<F>) => (
  <Dialog title={title}>
    <Form {...form} verb={verb} also={<Button press={closeDialog}>Do nothing</Button>} onDone={closeDialog} />
  </Dialog>
)

/** Opens such a dialog. */
export const ask = <const F extends Fields>(action: Action<F>): void => openDialog(<Confirm {...action} />)

/** Shows a new secret, the only time that it is seen. It is null when the answer to the first request was lost. */
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
