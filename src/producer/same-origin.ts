// Whether a request comes from a page of our own. A browser sends the console's cookie with whatever another page makes
// it ask for; SameSite=Strict should keep it from that, and this does so where a site has several hosts.
import type { IncomingMessage } from 'node:http'

/**
 * By what the browser says of the page that asks. One that says nothing, as over plain HTTP to another machine, names the
 * page's origin at least when it asks for more than a look: our host, or `publicUrl` where a proxy before us asks by
 * another name.
 */
export function isSameOrigin(
  { method, headers }: Pick<IncomingMessage, 'method' | 'headers'>,
  publicUrl?: string,
): boolean {
  const isLook = method === 'GET' || method === 'HEAD'
  const site = headers['sec-fetch-site']
  // `none`: typed into the address bar.
  if (site !== undefined) return site === 'same-origin' || (isLook && site === 'none')
  const { origin, host } = headers
  if (origin === undefined) return isLook
  if (!URL.canParse(origin)) return false
  return new URL(origin).host === host || (publicUrl !== undefined && new URL(publicUrl).origin === origin)
}
