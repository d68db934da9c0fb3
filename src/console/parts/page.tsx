// The frame of a page: its title, its actions, and how old is what it shows.
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { plainText } from '../logic/plain-text.ts'
import type { Loaded } from '../state/load.ts'
import { Problem } from './problem.tsx'
import { Ago } from './text.tsx'

/** A page with its heading; `title` is that of the tab as well. */
export function Page({
  title,
  above,
  badge,
  actions,
  children,
}: {
  title: string
  above?: ComponentChildren
  badge?: ComponentChildren
  actions?: ComponentChildren
  children: ComponentChildren
}) {
  useEffect(() => {
    document.title = `${plainText(title)} · Laneway`
  }, [title])
  return (
    <>
      <header class="page">
        <div>
          {above}
          <h1 tabIndex={-1}>
            <bdi>{plainText(title)}</bdi> {badge}
          </h1>
        </div>
        {actions && <div class="actions">{actions}</div>}
      </header>
      {children}
    </>
  )
}

/** How old a list is, with a button that loads it again. */
export function Age({ loaded }: { loaded: Pick<Loaded<unknown>, 'at' | 'busy' | 'reload'> }) {
  return (
    <p class="age">
      {loaded.at > 0 ? (
        <>
          Loaded <Ago at={loaded.at} />
        </>
      ) : loaded.busy ? (
        'Loading …'
      ) : (
        'Not loaded'
      )}{' '}
      <button type="button" class="plain" onClick={loaded.reload} aria-disabled={loaded.busy}>
        Reload
      </button>
    </p>
  )
}

/** What was loaded, once it is there; before, that it is being loaded; else, why it cannot be. */
export function Shown<T>({ loaded, children }: { loaded: Loaded<T>; children: (value: T) => ComponentChildren }) {
  const { value, refusal } = loaded
  return (
    <>
      <Problem refusal={refusal} onRetry={loaded.reload} />
      {value === undefined ? refusal === undefined && <p class="quiet">Loading …</p> : children(value)}
    </>
  )
}

/** Nothing is here: says what that means and what to do next. */
export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <p class="title">{title}</p>
      {children}
    </div>
  )
}
