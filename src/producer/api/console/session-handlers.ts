// Signing in to the console and out of it.
import type { IncomingHttpHeaders } from 'node:http'
import { isOperator, permissionsOf } from '../../../accounts/permissions.ts'
import { cachedAccount } from '../../../accounts/store/accounts.ts'
import { findCredential } from '../../../accounts/store/credentials.ts'
import { defaultSender } from '../../../accounts/store/senders.ts'
import { createSession, endSession, SESSION_MS } from '../../../accounts/store/sessions.ts'
import { checkCredential } from '../../../messages/accept/check-key.ts'
import { Refusal } from '../../../messages/accept/refusal.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError } from '../../errors.ts'
import type { Caller } from '../../route.ts'
import { dropCookie, setCookie } from '../../session-cookie.ts'
import { consoleSession, toLook } from './routes.ts'
import { createSignInAttempts } from './sign-in-attempts.ts'

/** Permissions one of which a key needs to sign in with. */
const SIGN_IN = [toLook.permission, ...toLook.also]

/** The routes of a session in routes/console.ts. */
export function consoleSessionRoutes({ redis }: { redis: Redis }): Route[] {
  const attempts = createSignInAttempts()

  /** What the pages may know of whoever is signed in. */
  async function described({ id, name, account, permissions, senders, expires_at, session }: Caller) {
    const operator = isOperator({ permissions })
    const owner = operator ? undefined : await cachedAccount(redis, account)
    const endsAtMs = session?.expiresAtMs ?? expires_at
    return {
      key_name: name || id,
      account: owner === undefined ? null : { id: owner.id, name: owner.name },
      operator,
      permissions: permissionsOf({ permissions, senders }),
      senders: senders.length === 0 ? null : [...senders],
      default_sender: senders.length === 0 || senders.includes((await defaultSender(redis, account))?.id ?? 0),
      expires_at: endsAtMs === 0 ? null : new Date(endsAtMs).toISOString(),
    }
  }

  return bind(consoleSession)(
    {
      async signIn({ body, headers, peer, note }) {
        const client = peer()
        const waitSeconds = attempts.waitSeconds(client)
        if (waitSeconds > 0) throw tooManySignIns(waitSeconds)
        const nowMs = Date.now()
        try {
          const key = checkCredential(redis, await findCredential(redis, body.key), SIGN_IN, nowMs, peer)
          const { id, expiresAtMs } = await createSession(redis, body.key, nowMs)
          note({ actor: { key_id: key.id, key_name: key.name }, account: key.account })
          return {
            headers: setCookie(id, SESSION_MS / 1_000, isEncrypted(headers)),
            body: {
              status: true,
              message: 'signed in',
              data: await described({ ...key, session: { id, expiresAtMs } }),
            },
          }
        } catch (error) {
          if (error instanceof Refusal) attempts.failed(client)
          throw error
        }
      },
      session: async ({ caller }) => ({ body: { status: true, message: 'session', data: await described(caller) } }),
      async signOut({ caller, note }) {
        if (caller.session) await endSession(redis, caller.session.id)
        else note('nothing')
        return { headers: dropCookie(), body: { status: true, message: 'signed out' } }
      },
    },
    { signIn: fromOwnPage },
  )
}

/**
 * Whether the browser's side is encrypted: the page's own address says so, or the proxy before us. To believe the latter
 * from anybody does no harm: whoever lies gets a cookie that it cannot use.
 */
function isEncrypted({ Origin: origin, 'X-Forwarded-Proto': proto }: { [name: string]: string | undefined }): boolean {
  return origin?.startsWith('https://') === true || proto?.split(',')[0]?.trim().toLowerCase() === 'https'
}

/** Another site must not sign a browser in, not even as itself: what is typed there would be read by others. */
function fromOwnPage(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin') return
  throw new ApiError(403, 'forbidden', 'Sign in on the page of the console itself.')
}

const tooManySignIns = (waitSeconds: number): ApiError =>
  new ApiError(429, 'too_many_sign_ins', `Too many wrong keys came from there. Try again in ${waitSeconds} s.`, {
    headers: { 'Retry-After': String(waitSeconds) },
  })
