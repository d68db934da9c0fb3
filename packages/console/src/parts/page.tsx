// The building blocks of pages: heading, cards, facts, figures, and loaded data or the reason why there is none.
import type { ComponentChildren } from 'preact'
import { useEffect, useId } from 'preact/hooks'
import type { Snapshot } from '../../../../src/telemetry/snapshot.ts'
import { plainText } from '../logic/plain-text.ts'
import type { Loaded } from '../state/hooks.ts'
import { snapshot } from '../state/live.ts'
import { go } from '../state/router.ts'
import { Form } from './form.tsx'
import { Button, Problem } from './press.tsx'
import { Ago } from './text.tsx'

/** A page with its heading. `title` names the tab, too; `main` is the name and the action of the main button. */
export function Page({
  title,
  above,
  badge,
  main,
  actions,
  children,
}: {
  title: string
  above?: ComponentChildren
  badge?: ComponentChildren
  main?: readonly [name: string, press: () => void] | false
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
        {(main || actions) && (
          <div class="actions">
            {actions}
            {main && (
              <Button variant="primary" press={main[1]}>
                {main[0]}
              </Button>
            )}
          </div>
        )}
      </header>
      {children}
    </>
  )
}

/** A titled part of a page. */
export function Card({
  title,
  variant = '',
  id,
  children,
}: {
  title: ComponentChildren
  variant?: string
  id?: string
  children: ComponentChildren
}) {
  const name = useId()
  return (
    <section class={`card ${variant}`} id={id} aria-labelledby={name}>
      <h2 id={name}>{title}</h2>
      {children}
    </section>
  )
}

/** Facts by name; those without a value are left out. */
export const Facts = ({ of }: { of: Readonly<Record<string, ComponentChildren>> }) => (
  <dl class="facts">
    {Object.entries(of).map(([name, value]) =>
      value === null || value === undefined || value === false ? null : (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ),
    )}
  </dl>
)

/** Figures in a row; `bad` ones are marked. */
export const Figures = ({ of }: { of: readonly { name: string; value: ComponentChildren; bad?: boolean }[] }) => (
  <dl class="figures">
    {of.map(({ name, value, bad = false }) => (
      <div key={name} class={bad ? 'bad' : ''}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)

/** The age of a value, with a button that reloads it. */
const Age = ({ loaded: { at, busy, reload } }: { loaded: Loaded<unknown> }) => (
  <p class="age">
    {at > 0 ? (
      <>
        Loaded <Ago at={at} />
      </>
    ) : busy ? (
      'Loading …'
    ) : (
      'Not loaded'
    )}{' '}
    <Button variant="plain" press={reload}>
      Reload
    </Button>
  </p>
)

/** Shows loaded data; before that `Loading …`, or the refusal. `age` adds the age of the data. */
export function WhenLoaded<T>({
  loaded,
  age = false,
  children,
}: {
  loaded: Loaded<T>
  age?: boolean
  children: (value: T) => ComponentChildren
}) {
  const { value, refusal, reload } = loaded
  return (
    <>
      {age && <Age loaded={loaded} />}
      <Problem refusal={refusal} onRetry={reload} />
      {value === undefined ? refusal === undefined && <p class="quiet">Loading …</p> : children(value)}
    </>
  )
}

/** Shows live figures, once the first have arrived. */
export const Live = ({ children }: { children: (figures: Snapshot) => ComponentChildren }) =>
  snapshot.value === undefined ? <p class="quiet">Waiting for the first figures …</p> : children(snapshot.value)

/** In place of an empty list: what that means and what to do next. */
export const Empty = ({ title, children }: { title: string; children?: ComponentChildren }) => (
  <div class="empty">
    <p class="title">{title}</p>
    {children && <p>{children}</p>}
  </div>
)

/** A search field that leads to an address, so that the search can be kept and shared. */
export const Search = ({
  label,
  verb = 'Find',
  value = '',
  required = false,
  to,
}: {
  label: string
  verb?: string
  value?: string
  required?: boolean
  to: (text: string) => string
}) => (
  <search>
    <Form
      key={value}
      variant="filters"
      isMinor
      verb={verb}
      fields={{ text: { label, kind: 'search', value, required } }}
      act={async ({ text }) => {
        go(to(text.trim()))
      }}
    />
  </search>
)
