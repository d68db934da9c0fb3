// The router: the address bar holds all state that outlives a page.
import { signal } from '@preact/signals'

/** The address, as pages read it. */
export interface Place {
  /** Without `/console` and without a slash at the end; '' is the overview. */
  path: string
  /** Without the account. */
  query: URLSearchParams
  /** The account that the address names for an operator. */
  account: number | undefined
}

const BASE = '/console'

const ACCOUNT = 'account'

function readPlace(): Place {
  const query = new URLSearchParams(location.search)
  const account = Number(query.get(ACCOUNT)) || undefined
  query.delete(ACCOUNT)
  return { path: decodeURI(location.pathname).slice(BASE.length).replace(/\/+$/, ''), query, account }
}

/** An address of the console that names the account, or none. */
export function withAccount(address: string, account: number | undefined): string {
  const url = new URL(address, location.origin)
  if (account === undefined) url.searchParams.delete(ACCOUNT)
  else url.searchParams.set(ACCOUNT, String(account))
  return url.pathname + url.search + url.hash
}

/** The current place. */
export const place = signal<Place>(readPlace())

/** Goes to an address of the console; `replace` adds no step to the history. */
export function go(address: string, { replace = false }: { replace?: boolean } = {}): void {
  if (replace) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  const before = place.peek().path
  place.value = readPlace()
  if (before !== place.peek().path) scrollTo(0, 0)
}

/** Puts the account into the address, so that it can be sent to a colleague. */
export function nameAccount(account: number | undefined): void {
  const named = withAccount(location.href, account)
  if (named !== location.pathname + location.search + location.hash) history.replaceState(null, '', named)
}

/** Follows links within the console without a page load, and the buttons back and forward. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    place.value = readPlace()
  })
  document.addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return
    const link = event.target instanceof Element ? event.target.closest('a') : null
    if (link === null || link.target !== '' || link.hasAttribute('download') || link.origin !== location.origin) return
    if (link.pathname !== BASE && !link.pathname.startsWith(`${BASE}/`)) return
    if (link.hash !== '' && link.pathname === location.pathname) return
    event.preventDefault()
    go(link.pathname + link.search)
  })
}
