// The frame around every page: the menu, the account, the theme, and the age of the figures.
import { signal } from '@preact/signals'
import { useEffect, useState } from 'preact/hooks'
import type { Right } from './logic/may.ts'
import { spanText } from './logic/numbers.ts'
import { PAGES } from './pages.tsx'
import { Field } from './parts/fields.tsx'
import { Button } from './parts/press.tsx'
import { Text } from './parts/text.tsx'
import { useLoad } from './state/hooks.ts'
import { actingFor } from './state/http.ts'
import { loadAccounts } from './state/library.ts'
import { type Link, link, now, snapshotAt } from './state/live.ts'
import { place } from './state/router.ts'
import { actFor, may, session, signOut } from './state/session.ts'

const isHere = (path: string, here: string): boolean =>
  path === '' ? here === '' : here === path || here.startsWith(`${path}/`)

/** Leaves out pages that the key does not permit. An operator sees all: it chooses an account there. */
const isSeen = (right: Right | undefined): boolean =>
  right === undefined || session.value?.operator === true || may(right)

/** The bar at the side of the screen, or at the top of a narrow one. */
export function Header() {
  const here = place.value.path
  const [open, setOpen] = useState(false)
  useEffect(() => setOpen(false), [here])
  const known = session.value
  return (
    <header class="bar">
      <div class="top">
        <a class="brand" href="/console">
          Laneway
        </a>
        <LiveState />
        <button type="button" class="menu" aria-expanded={open} aria-controls="menu" onClick={() => setOpen(!open)}>
          Menu
        </button>
      </div>
      <div id="menu" class={open ? 'folded open' : 'folded'}>
        <AccountSwitcher />
        <nav aria-label="Pages">
          <ul>
            {PAGES.map((group) =>
              group
                .flatMap(([path, right, , name]) =>
                  typeof path === 'string' && name && isSeen(right) ? { path, name } : [],
                )
                .map(({ path, name }, i) => (
                  <li key={path} class={i === 0 && path !== '' ? 'group' : ''}>
                    <a href={`/console${path}`} aria-current={isHere(path, here) ? 'page' : undefined}>
                      {name}
                    </a>
                  </li>
                )),
            )}
            {known?.operator && (
              <li>
                <a href="/dashboard">Raw queues</a>
              </li>
            )}
          </ul>
        </nav>
        <div class="who">
          <ThemeChoice />
          <p>
            <span class="quiet">{known?.operator ? 'Operator, signed in with' : 'Signed in with'}</span>{' '}
            <Text text={known?.key_name || 'a key without a name'} />
            {known?.senders && <span class="quiet"> (only for sender {known.senders.join(', ')})</span>}
            {!known?.operator && !may('send') && !may('controlLanes') && <span class="quiet"> (can only look)</span>}
          </p>
          <Button press={signOut}>Sign out</Button>
        </div>
      </div>
    </header>
  )
}

/** The name of the account; an operator chooses one. */
function AccountSwitcher() {
  const known = session.value
  const operator = known?.operator === true
  const list = useLoad(operator ? 'accounts' : undefined, loadAccounts).value ?? []
  const only = list.length === 1 ? list[0]?.id : undefined
  useEffect(() => {
    // With a single account there is nothing to choose.
    if (only !== undefined && actingFor.peek() === undefined) actFor(only)
  }, [only])
  if (!operator) {
    return (
      <p class="account">
        <span class="quiet">Account</span> <Text text={known?.account?.name ?? ''} />
      </p>
    )
  }
  return (
    <Field
      label="Account"
      value={String(actingFor.value ?? '')}
      onValue={(value) => actFor(Number(value) || undefined)}
      options={[['', 'All accounts'], ...list.map(({ id, name }) => [String(id), `${id} ${name}`] as const)]}
    />
  )
}

const LINK_WORDS: Readonly<Record<Link, string>> = {
  connecting: 'Connecting',
  stream: 'Live',
  polling: 'Polling',
  hidden: 'Paused',
  lost: 'No connection',
}
/** Figures come every second. From this age on the page marks them as old. */
const OLD_S = 5

/** How the figures arrive and how old they are: an old number that looks new is worse than none. */
function LiveState() {
  const at = snapshotAt.value
  const seconds = Math.max(0, (now.value - at) / 1_000)
  const isOld = at > 0 && seconds > OLD_S
  const tone = link.value === 'lost' || isOld ? 'bad' : link.value === 'stream' ? 'good' : 'quiet'
  return (
    <p class={`live ${tone}`}>
      <span aria-hidden="true">{tone === 'bad' ? '! ' : tone === 'good' ? '● ' : '○ '}</span>
      {LINK_WORDS[link.value]}
      {at > 0 && (
        <span class="age">
          {' '}
          · {isOld ? 'figures are ' : ''}
          {seconds < 2 ? '1 s old' : `${spanText(seconds)} old`}
        </span>
      )}
    </p>
  )
}

const THEMES = ['system', 'light', 'dark'] as const
const THEME = 'laneway.theme'
const kept = localStorage.getItem(THEME)
const theme = signal(THEMES.find((each) => each === kept) ?? 'system')

/** Makes the page light, dark, or the same as the system. */
export function applyTheme(): void {
  // Without an inline value the style sheet offers both schemes, and the system chooses.
  document.documentElement.style.colorScheme = theme.value === 'system' ? '' : theme.value
}

const ThemeChoice = () => (
  <Field
    label="Colours"
    value={theme.value}
    onValue={(value) => {
      theme.value = THEMES.find((each) => each === value) ?? 'system'
      localStorage.setItem(THEME, theme.value)
      applyTheme()
    }}
    options={THEMES.map((each) => [each, each] as const)}
  />
)
