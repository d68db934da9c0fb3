// What is on every page: the way to all others, for whom one acts, and how old the figures are.
import { useEffect, useState } from 'preact/hooks'
import { deedOf } from '../pages/deeds.ts'
import { Said } from '../parts/text.tsx'
import { place } from '../state/router.ts'
import { may, session, signOut } from '../state/session.ts'
import { AccountSwitcher } from './account-switcher.tsx'
import { LiveState } from './live-state.tsx'
import { chooseTheme, THEMES, theme } from './theme.ts'

/** Each page that has a link of its own. `group`: a new group begins. */
const LINKS: readonly { path: string; name: string; group?: true }[] = [
  { path: '', name: 'Overview' },
  { path: '/lanes', name: 'Lanes' },
  { path: '/messages', name: 'Messages' },
  { path: '/campaigns', name: 'Campaigns' },
  { path: '/start', name: 'Send a message' },
  { path: '/contacts', name: 'Contacts', group: true },
  { path: '/opt-outs', name: 'Opt-outs' },
  { path: '/people', name: 'Data of a person' },
  { path: '/templates', name: 'Templates' },
  { path: '/gallery', name: 'Gallery' },
  { path: '/senders', name: 'Senders', group: true },
  { path: '/endpoints', name: 'Event endpoints' },
  { path: '/keys', name: 'Keys' },
  { path: '/limits', name: 'Limits' },
  { path: '/activity', name: 'Activity' },
]

const isHere = (path: string, here: string): boolean =>
  path === '' ? here === '' : here === path || here.startsWith(`${path}/`)

/** Whoever may not do what a page is for is not led there; an operator is, to choose an account there. */
function isSeen(path: string): boolean {
  const deed = deedOf(path)
  return deed === undefined || session.value?.operator === true || may(deed)
}

/** The bar at the side, or at the top of a narrow screen. */
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
            {LINKS.filter(({ path }) => isSeen(path)).map(({ path, name, group }) => (
              <li key={path} class={group && 'group'}>
                <a href={`/console${path}`} aria-current={isHere(path, here) ? 'page' : undefined}>
                  {name}
                </a>
              </li>
            ))}
            {known?.operator && (
              <li>
                <a href="/dashboard">Raw queues</a>
              </li>
            )}
          </ul>
        </nav>
        <div class="who">
          <label>
            Colours{' '}
            <select
              value={theme.value}
              onChange={({ currentTarget }) =>
                chooseTheme(THEMES.find((each) => each === currentTarget.value) ?? 'system')
              }
            >
              {THEMES.map((each) => (
                <option key={each} value={each}>
                  {each}
                </option>
              ))}
            </select>
          </label>
          <p>
            <span class="quiet">{known?.operator ? 'Operator, signed in with' : 'Signed in with'}</span>{' '}
            <Said text={known?.key_name || 'a key without a name'} />
            {known?.senders && <span class="quiet"> (only for sender {known.senders.join(', ')})</span>}
            {!known?.operator && !may('send') && !may('runLanes') && <span class="quiet"> (can only look)</span>}
          </p>
          <button type="button" onClick={() => void signOut()}>
            Sign out
          </button>
        </div>
      </div>
    </header>
  )
}
