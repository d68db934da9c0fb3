// Who is calling and may they: 401 for a credential that is missing, unknown, expired or revoked, 403 for one that
// lacks the permission.
import type { Request } from 'express'
import { findCredential } from '../store/credentials.ts'
import type { Redis } from '../store/redis.ts'
import { ApiError } from './errors.ts'
import type { Access, Call } from './route.ts'

const BEARER = /^Bearer +(\S+) *$/i

/** The caller of a request, or an ApiError. `body` is the parsed body, where `api_key` travels. */
export async function authorise(
  redis: Redis,
  access: Access,
  request: Request,
  body: Record<string, unknown>,
  nowMs: number,
): Promise<Call['caller']> {
  if (access.in === 'open') return { account: 0, permissions: [] }
  const secret = access.in === 'bearer' ? BEARER.exec(request.get('authorization') ?? '')?.[1] : body.api_key
  if (access.in === 'api_key' && access.missing === 400 && (secret === undefined || secret === null)) {
    throw new ApiError(400, 'invalid_request', 'api_key: required.', {
      details: [{ path: 'api_key', message: 'required' }],
    })
  }
  const where = access.in === 'bearer' ? 'the header Authorization: Bearer <token>' : 'the field api_key of the body'
  if (typeof secret !== 'string' || secret === '') throw unauthorised(`Send your key in ${where}.`)
  const credential = await findCredential(redis, secret)
  if (credential === undefined) throw unauthorised('The key is not known.')
  if (credential.revoked) throw unauthorised('The key was revoked.')
  if (credential.expires_at !== 0 && credential.expires_at <= nowMs) throw unauthorised('The key has expired.')
  if (!credential.permissions.includes(access.permission)) {
    throw new ApiError(403, 'forbidden', `The key lacks the permission ${access.permission}.`)
  }
  return credential
}

const unauthorised = (message: string): ApiError =>
  new ApiError(401, 'unauthorized', message, { headers: { 'WWW-Authenticate': 'Bearer' } })
