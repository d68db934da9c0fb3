// The cookie of a session of the console, and which requests it is good for: those of our own pages. SameSite=Strict should keep a
// browser from sending it for other pages, and the check of the origin does so where a site has several hosts.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'

const NAME = 'laneway_session'
const VALUE = new RegExp(`(?:^|; *)${NAME}=([^;]+)`)

/** The id of the session in a request's cookie. */
export const sessionIdOf = ({ cookie }: Pick<IncomingHttpHeaders, 'cookie'>): string | undefined =>
  cookie === undefined ? undefined : VALUE.exec(cookie)?.[1]

const ALWAYS = 'Path=/; HttpOnly; SameSite=Strict'

/** The header that gives the browser a session for so long. `isTls`: the cookie must only travel encrypted, as the request did. */
export const setCookie = (id: string, seconds: number, isTls: boolean): Record<string, string> => ({
  'Set-Cookie': `${NAME}=${id}; Max-Age=${seconds}; ${ALWAYS}${isTls ? '; Secure' : ''}`,
})

/** The header that ends it. */
export const dropCookie = (): Record<string, string> => ({ 'Set-Cookie': `${NAME}=; Max-Age=0; ${ALWAYS}` })

/**
 * Whether a page of ours sent the request, by the browser's own Sec-Fetch-Site. A browser that does not send it, as over plain HTTP to
 * another machine, sends at least the origin of its page with all but GET and HEAD: this must be our host, or `publicUrl` where a proxy
 * before us uses another name.
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
