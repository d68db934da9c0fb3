// Forms as data, on a page or in a dialog: a page describes fields and an action. Labels, hints, the busy state, refusals and
// the button are the same everywhere. Every action asks first: `ask` opens a form that shows what the action touches.
import { signal } from '@preact/signals'
import { type ComponentChildren, Fragment } from 'preact'
import { useEffect, useId, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { somethingChanged } from '../state/hooks.ts'
import { type Refused, randomHex, refusedBy } from '../state/http.ts'
import { place } from '../state/router.ts'
import { AnyField, type Fields, type Spec, startOf, type Value, type Values } from './fields.tsx'
import { Button, Copy, notify, Problem } from './press.tsx'

/** Waits for a request, then returns the sentence for its notice. */
export async function thenNotify(request: Promise<unknown>, sentence: string): Promise<string> {
  await request
  return sentence
}

type FromValues<F extends Fields, T> = T | ((values: Values<F>) => T)

/** A form, as data. */
interface FormSpec<F extends Fields> {
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
  act: (values: Values<F>, once: Readonly<Record<string, string>>) => Promise<unknown>
}

/**
 * A form. `also` is shown beside its button. `onDone` is called when `act` has returned a sentence, `onValues` when a value
 * changes. `about` is what the Idempotency-Key is bound to, if that is more than the values.
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
  const [busy, setBusy] = useState(false)
  const [refused, setRefused] = useState<{ refusal: Refused; at: number }>()
  // After a lost answer nobody knows whether the work was done: the key stays the same until there is an answer, or until
  // something else is requested.
  const once = useRef<{ asked: string; key: string }>(undefined)
  const run = async (): Promise<void> => {
    if (busy) return
    setBusy(true)
    setRefused(undefined)
    const asked = JSON.stringify(about ?? values)
    if (once.current?.asked !== asked) once.current = { asked, key: `console-${randomHex(16)}` }
    try {
      const result = await act(values, { 'Idempotency-Key': once.current.key })
      once.current = undefined
      if (typeof result === 'string') {
        notify(result)
        onDone?.()
        somethingChanged()
      }
    } catch (error) {
      setRefused({ refusal: refusedBy(error), at: Date.now() })
    }
    setBusy(false)
  }
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
      <Problem {...refused} />
      <div class="actions">
        <button type="submit" class={danger ? 'danger' : isMinor ? '' : 'primary'} disabled={busy || !ready(values)}>
          {fromValues(verb)}
        </button>
        {also}
      </div>
    </form>
  )
}

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

type Action<F extends Fields> = Omit<FormSpec<F>, 'verb'> & {
  title: string
  verb?: FormSpec<F>['verb']
  onValues?: (values: Values<F>) => void
}

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
