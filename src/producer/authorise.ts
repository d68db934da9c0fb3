// Who is calling and may they: 401 for a credential that is missing, unknown, expired or revoked, 403 for one that
// lacks the permission. A session of the console counts as its key, from our own pages.
import type { IncomingMessage } from 'node:http'
import { checkCredential, KeyRefusal, unauthorized } from '../accounts/check-key.ts'
import { type Credential, cachedCredential } from '../accounts/credentials.ts'
import { findSession } from '../accounts/sessions.ts'
import { Refusal } from '../kernel/refusal.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { actingFor, namedAccount } from './acting-account.ts'
import { ApiError, refused } from './errors.ts'
import type { Gate } from './gate.ts'
import { showedKey, showedNoKey } from './overload/connections.ts'
import type { Access, Caller } from './route.ts'
import { reportRefusal } from './security-log.ts'
import { isSameOrigin, sessionIdOf } from './session-cookie.ts'

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
    return await actingFor(redis, key, access, namedAccount(request))
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
