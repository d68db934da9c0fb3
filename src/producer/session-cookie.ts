// The cookie that a session of the console travels in.
import type { IncomingHttpHeaders } from 'node:http'

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
