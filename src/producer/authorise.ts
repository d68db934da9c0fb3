// Who is calling and may they: 401 for a credential that is missing, unknown, expired or revoked, 403 for one that
// lacks the permission. A session of the console counts as its key, from our own pages: SameSite=Strict should keep
// a browser from sending the cookie for other pages, and the check of the origin does so where a site has several hosts.
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { cachedAccount, findKeptAccount } from '../accounts/accounts.ts'
import { checkCredential, KeyRefusal, unauthorized } from '../accounts/check-key.ts'
import { type Credential, cachedCredential } from '../accounts/credentials.ts'
import { findSession } from '../accounts/sessions.ts'
import { Refusal } from '../kernel/refusal.ts'
import { isOperator, NO_ACCOUNT } from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { ApiError, notFound, refused } from './errors.ts'
import type { Gate } from './gate.ts'
import { showedKey, showedNoKey } from './overload/connections.ts'
import type { Access, Caller } from './route.ts'
import { reportRefusal } from './security-log.ts'

const BEARER = /^Bearer +(\S+) *$/i

/**
 * The caller of a request, or an ApiError. `body` is the parsed body, where `api_key` travels. `late` is called before a
 * refusal is held back.
 */
export async function authorise(
  gate: Gate,
  access: Access,
  request: IncomingMessage,
  body: Record<string, unknown>,
  requestId: string,
  late = (): void => {},
): Promise<Caller> {
  if (access.in === 'open') return NOBODY
  const { redis } = gate
  const { headers } = request
  const isMissing = access.in === 'bearer' ? headers.authorization === undefined : isNothing(body.api_key)
  const sessionId = isMissing ? sessionIdOf(headers) : undefined
  if (access.in === 'api_key' && access.missing === 400 && isMissing && sessionId === undefined) {
    throw new ApiError(400, 'invalid_request', 'api_key: required.', {
      details: [{ path: 'api_key', message: 'required' }],
    })
  }
  const secret = access.in === 'bearer' ? BEARER.exec(headers.authorization ?? '')?.[1] : body.api_key
  const permissions = 'also' in access ? [access.permission, ...(access.also ?? [])] : [access.permission]
  const nowMs = Date.now()
  const from = gate.addressLater(request)
  try {
    const key =
      sessionId === undefined
        ? checkCredential(redis, await withKey(redis, access, secret), permissions, nowMs, from)
        : await ofSession(sessionId)
    showedKey(request.socket, key.account)
    return await actingFor(redis, key, access, request)
  } catch (error) {
    if (error instanceof Refusal && error.kind === 'unauthorized') showedNoKey(request.socket, from())
    if (error instanceof KeyRefusal) {
      reportRefusal(gate, error, { request, requestId })
      if (error.kind === 'unauthorized') {
        late()
        await gate.wrongKeys.wait(from())
      }
    }
    throw error instanceof Refusal ? refused(error) : error
  }

  async function ofSession(id: string): Promise<Caller> {
    if (!isSameOrigin(request, gate.publicUrl)) {
      throw new Refusal('forbidden', 'forbidden', 'A session is good for the pages of the console only: send a key.')
    }
    const session = await findSession(redis, id)
    if (session === undefined) throw unauthorized('The session is over: sign in again.')
    const credential = checkCredential(redis, session.credential, permissions, nowMs, from)
    return { ...credential, session: { id, expiresAtMs: session.expiresAtMs } }
  }
}

async function withKey(redis: Redis, access: Access, secret: unknown): Promise<Credential | undefined> {
  const where = access.in === 'bearer' ? 'the header Authorization: Bearer <token>' : 'the field api_key of the body'
  if (typeof secret !== 'string' || secret === '') throw unauthorized(`Send your key in ${where}.`)
  return cachedCredential(redis, secret)
}

/** Who calls an `open` route. */
const NOBODY: Caller = Object.freeze({
  ...{ id: '', name: '', account: NO_ACCOUNT, permissions: [], expires_at: 0, created_at: 0, revoked: false },
  ...{ senders: [], addresses: [] },
})

const isNothing = (value: unknown): boolean => value === undefined || value === null

/** Names the account that an operator acts for; `?account=` does the same for links, which have no headers. */
export const ACCOUNT_HEADER = 'x-laneway-account'
export const ACCOUNT_QUERY = 'account'

/**
 * The key with the account that it acts for. Throws 400 `account_required` when an operator names none where one is
 * needed, and 404 for an account that does not exist or is not the key's.
 */
export async function actingFor(
  redis: Redis,
  key: Caller,
  access: Exclude<Access, { in: 'open' }>,
  request: IncomingMessage,
): Promise<Caller> {
  const named = namedAccount(request)
  if (!isOperator(key)) {
    if (named !== undefined && named !== String(key.account)) throw notFound('The account')
    return key
  }
  if (named === undefined) {
    if ('withoutAccount' in access) return key
    throw accountMissing()
  }
  if (!/^[1-9]\d{0,15}$/.test(named)) throw missing(`${ACCOUNT_HEADER}: expected the number of an account.`)
  const account = Number(named)
  const find = 'removedToo' in access ? findKeptAccount : cachedAccount
  if ((await find(redis, account)) === undefined) throw notFound('The account')
  return { ...key, account }
}

/** The account that a request is about; undefined for all of them, where an operator names none. */
export const accountOf = ({ account }: Caller): number | undefined => (account === NO_ACCOUNT ? undefined : account)

function namedAccount({ headers, url = '' }: IncomingMessage): string | undefined {
  const inHeader = headers[ACCOUNT_HEADER]
  if (inHeader !== undefined) return String(inHeader)
  const at = url.indexOf('?')
  return at === -1 ? undefined : (new URLSearchParams(url.slice(at)).get(ACCOUNT_QUERY) ?? undefined)
}

/** 400 for an operator that names no account where one is needed. */
export const accountMissing = (): ApiError =>
  missing(`Name the account that you act for in the header ${ACCOUNT_HEADER}: this key is of no account.`)

const missing = (message: string): ApiError =>
  new ApiError(400, 'account_required', message, { details: [{ path: ACCOUNT_HEADER, message: 'required' }] })

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
 * By the browser's own Sec-Fetch-Site. A browser that does not send it, as over plain HTTP to another machine, sends at least
 * the origin of its page with all but GET and HEAD: this must be our host, or `publicUrl` where a proxy before us uses
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
