// The router: the address bar holds all state that outlives a page.
import { signal } from '@preact/signals'

/** The address, as pages read it. */
export interface Place {
  /** Without `/console` and without a slash at the end; '' is the overview. */
  path: string
  query: URLSearchParams
}

const BASE = '/console'

const readPlace = (): Place => ({
  path: decodeURI(location.pathname).slice(BASE.length).replace(/\/+$/, ''),
  query: new URLSearchParams(location.search),
})

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
