// Who is calling and may they: 401 for a credential that is missing, unknown, expired or revoked, 403 for one that
// lacks the permission.
import type { IncomingMessage } from 'node:http'
import { checkKey, unauthorized } from '../accept/check-key.ts'
import { Refusal } from '../accept/refusal.ts'
import type { Redis } from '../redis/connect.ts'
import { showedKey } from './connections.ts'
import { ApiError, refused } from './errors.ts'
import type { Access, Caller } from './route.ts'

const BEARER = /^Bearer +(\S+) *$/i

/** The caller of a request, or an ApiError. `body` is the parsed body, where `api_key` travels. */
export async function authorise(
  redis: Redis,
  access: Access,
  request: IncomingMessage,
  body: Record<string, unknown>,
  nowMs: number,
): Promise<Caller> {
  if (access.in === 'open') return { account: 0, permissions: [] }
  const secret = access.in === 'bearer' ? BEARER.exec(request.headers.authorization ?? '')?.[1] : body.api_key
  if (access.in === 'api_key' && access.missing === 400 && (secret === undefined || secret === null)) {
    throw new ApiError(400, 'invalid_request', 'api_key: required.', {
      details: [{ path: 'api_key', message: 'required' }],
    })
  }
  const where = access.in === 'bearer' ? 'the header Authorization: Bearer <token>' : 'the field api_key of the body'
  try {
    if (typeof secret !== 'string' || secret === '') throw unauthorized(`Send your key in ${where}.`)
    const caller = await checkKey(redis, secret, access.permission, nowMs)
    showedKey(request.socket)
    return caller
  } catch (error) {
    throw error instanceof Refusal ? refused(error) : error
  }
}
