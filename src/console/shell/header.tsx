// What is on every page: the way to all others, for whom one acts, and how old the figures are.
import { useEffect, useState } from 'preact/hooks'
import type { Deed } from '../logic/may.ts'
import { Said } from '../parts/text.tsx'
import { place } from '../state/router.ts'
import { may, session, signOut } from '../state/session.ts'
import { AccountSwitcher } from './account-switcher.tsx'
import { LiveState } from './live-state.tsx'
import { chooseTheme, THEMES, theme } from './theme.ts'

/**
 * Each page that has a link of its own. `deed`: whoever may not do this is not led there. `group`: a new group begins.
 */
const LINKS: readonly { path: string; name: string; deed?: Deed; group?: true }[] = [
  { path: '', name: 'Overview' },
  { path: '/lanes', name: 'Lanes' },
  { path: '/messages', name: 'Messages', deed: 'look' },
  { path: '/campaigns', name: 'Campaigns', deed: 'see' },
  { path: '/start', name: 'Send a message', deed: 'write' },
  { path: '/contacts', name: 'Contacts', deed: 'readContacts', group: true },
  { path: '/opt-outs', name: 'Opt-outs', deed: 'readContacts' },
  { path: '/people', name: 'Data of a person', deed: 'run' },
  { path: '/templates', name: 'Templates', deed: 'readTemplates' },
  { path: '/gallery', name: 'Gallery', deed: 'gallery' },
  { path: '/senders', name: 'Senders', deed: 'run', group: true },
  { path: '/endpoints', name: 'Event endpoints', deed: 'events' },
  { path: '/keys', name: 'Keys', deed: 'run' },
  { path: '/limits', name: 'Limits', deed: 'run' },
  { path: '/activity', name: 'Activity', deed: 'run' },
]

const isHere = (path: string, here: string): boolean =>
  path === '' ? here === '' : here === path || here.startsWith(`${path}/`)

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
            {LINKS.filter(({ deed }) => deed === undefined || known?.operator || may(deed)).map(
              ({ path, name, group }) => (
                <li key={path} class={group && 'group'}>
                  <a href={`/console${path}`} aria-current={isHere(path, here) ? 'page' : undefined}>
                    {name}
                  </a>
                </li>
              ),
            )}
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
