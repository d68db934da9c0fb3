// Sessions of the console as they travel: the cookie, and whether a request that shows it comes from a page of our own. A
// browser sends the cookie with whatever another page makes it ask for; SameSite=Strict should keep it from that, and the
// look at the origin does so where a site has several hosts.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

const NAME = 'laneway_session'
const VALUE = new RegExp(`(?:^|; *)${NAME}=([^;]+)`)

/** The id of the session that a request shows. */
export const sessionIdOf = ({ cookie }: Pick<IncomingHttpHeaders, 'cookie'>): string | undefined =>
  cookie === undefined ? undefined : VALUE.exec(cookie)?.[1]

const ALWAYS = 'Path=/; HttpOnly; SameSite=Strict'

/** The header that gives the browser a session for so long. `isTls`: it came encrypted, and the cookie must never go otherwise. */
export const setCookie = (id: string, seconds: number, isTls: boolean): Record<string, string> => ({
  'Set-Cookie': `${NAME}=${id}; Max-Age=${seconds}; ${ALWAYS}${isTls ? '; Secure' : ''}`,
})

/** The header that takes it away again. */
export const dropCookie = (): Record<string, string> => ({ 'Set-Cookie': `${NAME}=; Max-Age=0; ${ALWAYS}` })

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
