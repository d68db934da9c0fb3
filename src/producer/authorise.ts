// Who is calling and may they: 401 for a credential that is missing, unknown, expired or revoked, 403 for one that
// lacks the permission.
import type { IncomingMessage } from 'node:http'
import { checkKey, KeyRefusal, unauthorized } from '../accept/check-key.ts'
import { Refusal } from '../accept/refusal.ts'
import { NO_ACCOUNT } from '../accounts/permissions.ts'
import { actingFor } from './acting-for.ts'
import { showedKey } from './connections.ts'
import { ApiError, refused } from './errors.ts'
import type { Gate } from './gate.ts'
import type { Access, Caller } from './route.ts'

const BEARER = /^Bearer +(\S+) *$/i

/** Who calls an `open` route. */
const NOBODY: Caller = Object.freeze({
  ...{ id: '', name: '', account: NO_ACCOUNT, permissions: [], expires_at: 0, created_at: 0, revoked: false },
})

/** The caller of a request, or an ApiError. `body` is the parsed body, where `api_key` travels. */
export async function authorise(
  gate: Gate,
  access: Access,
  request: IncomingMessage,
  body: Record<string, unknown>,
  requestId: string,
): Promise<Caller> {
  if (access.in === 'open') return NOBODY
  const secret = access.in === 'bearer' ? BEARER.exec(request.headers.authorization ?? '')?.[1] : body.api_key
  if (access.in === 'api_key' && access.missing === 400 && (secret === undefined || secret === null)) {
    throw new ApiError(400, 'invalid_request', 'api_key: required.', {
      details: [{ path: 'api_key', message: 'required' }],
    })
  }
  const where = access.in === 'bearer' ? 'the header Authorization: Bearer <token>' : 'the field api_key of the body'
  try {
    if (typeof secret !== 'string' || secret === '') throw unauthorized(`Send your key in ${where}.`)
    const key = await checkKey(gate.redis, secret, access.permission, Date.now())
    showedKey(request.socket)
    return await actingFor(gate.redis, key, access, request)
  } catch (error) {
    if (error instanceof KeyRefusal) tell(gate, error, request, requestId)
    throw error instanceof Refusal ? refused(error) : error
  }
}

function tell({ security, addressOf }: Gate, refusal: KeyRefusal, request: IncomingMessage, requestId: string): void {
  const what = { key: refusal.key, why: refusal.why, requestId, address: addressOf(request) }
  if (refusal.kind === 'unauthorized') security.keyRefused(what)
  else security.forbidden(what)
}
