// Routes of the console alone: signing in and out, live figures, and the switch of demo traffic. Figures are of the
// account of the key, or of the one that an operator names; nothing of another account is ever read for them.
import type { IncomingHttpHeaders } from 'node:http'
import { LRUCache } from 'lru-cache'
import { cachedAccount } from '../../../accounts/accounts.ts'
import { assertForSender, checkCredential } from '../../../accounts/check-key.ts'
import { findCredential } from '../../../accounts/credentials.ts'
import { findNamedSender } from '../../../accounts/named-senders.ts'
import { defaultSender, listSenders } from '../../../accounts/senders.ts'
import { createSession, endSession, SESSION_MS } from '../../../accounts/sessions.ts'
import { iso } from '../../../kernel/instant.ts'
import { mostEntries } from '../../../kernel/most-entries.ts'
import { clientOf } from '../../../kernel/networks.ts'
import { Refusal } from '../../../kernel/refusal.ts'
import { isOperator, permissionsOf } from '../../../model/accounts/permissions.ts'
import type { Redis } from '../../../redis/connect.ts'
import { createSeriesReader } from '../../../telemetry/live/series.ts'
import { isInScope, type Scope, scopeKey } from '../../../telemetry/snapshot.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { Caller } from '../../route.ts'
import { dropCookie, setCookie } from '../../session-cookie.ts'
import { says, shows } from '../answers.ts'
import { found } from '../requests.ts'
import { consoleDemo, consoleLive, consoleSession, toLook } from './routes.ts'
import type { SnapshotStreams } from './snapshot-streams.ts'

/** A key needs one of these permissions to sign in. */
const SIGN_IN = [toLook.permission, ...toLook.also]

export function consoleSessionRoutes({ redis }: { redis: Redis }): Route[] {
  const attempts = createSignInAttempts()

  /** What the pages may know about the session. */
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
      expires_at: endsAtMs === 0 ? null : iso(endsAtMs),
    }
  }

  return bind(consoleSession)(
    {
      async signIn({ body, headers, peer, audit }) {
        const client = peer()
        const waitSeconds = attempts.waitSeconds(client)
        if (waitSeconds > 0) throw tooManySignIns(waitSeconds)
        const nowMs = Date.now()
        try {
          const key = checkCredential(redis, await findCredential(redis, body.key), SIGN_IN, nowMs, peer)
          const { id, expiresAtMs } = await createSession(redis, body.key, nowMs)
          audit({ actor: { key_id: key.id, key_name: key.name }, account: key.account })
          return {
            headers: setCookie(id, SESSION_MS / 1_000, isEncrypted(headers)),
            ...shows('signed in', await described({ ...key, session: { id, expiresAtMs } })),
          }
        } catch (error) {
          if (error instanceof Refusal) attempts.failed(client)
          throw error
        }
      },
      session: async ({ caller }) => shows('session', await described(caller)),
      async signOut({ caller, audit }) {
        if (caller.session) await endSession(redis, caller.session.id)
        else audit('nothing')
        return { headers: dropCookie(), ...says('signed out') }
      },
    },
    { signIn: fromOwnPage },
  )
}

/**
 * Whether the browser's connection is encrypted, by the page's own address or the proxy before us. Trusting both does no
 * harm: a client that lies gets a cookie that it cannot use.
 */
function isEncrypted({ Origin: origin, 'X-Forwarded-Proto': proto }: { [name: string]: string | undefined }): boolean {
  return origin?.startsWith('https://') === true || proto?.split(',')[0]?.trim().toLowerCase() === 'https'
}

/** Another site must not sign a browser in, even as itself: it would read what is typed there. */
function fromOwnPage(headers: IncomingHttpHeaders): void {
  const site = headers['sec-fetch-site']
  if (site === undefined || site === 'same-origin') return
  throw new ApiError(403, 'forbidden', 'Sign in on the page of the console itself.')
}

const tooManySignIns = (waitSeconds: number): ApiError =>
  new ApiError(429, 'too_many_sign_ins', `Too many wrong keys came from there. Try again in ${waitSeconds} s.`, {
    headers: { 'Retry-After': String(waitSeconds) },
  })

/** Wrong keys of one address per window. Behind a proxy all clients share one, so the right key must not wait long. */
const WRONG_KEYS_MAX = 10
const WINDOW_MS = 60_000
/** Addresses that are remembered. */
const ADDRESSES_MAX = 10_000

/**
 * Limits sign-ins with a wrong key, in this process. A key of 190 bits is never guessed: the limit protects the log from
 * being flooded, and keys that somebody knows a part of. `perf` is the clock.
 */
export function createSignInAttempts(perf: { now: () => number } = performance) {
  const wrong = new LRUCache<string, { count: number; untilMs: number }>({ ...mostEntries(ADDRESSES_MAX) })

  return {
    /** Seconds that the address has to wait; 0 if it may try. */
    waitSeconds(address: string): number {
      const known = wrong.get(clientOf(address))
      if (known === undefined || known.count < WRONG_KEYS_MAX) return 0
      return Math.max(0, Math.ceil((known.untilMs - perf.now()) / 1_000))
    },

    /** Counts a wrong key. The window begins with the first. */
    failed(address: string): void {
      const client = clientOf(address)
      const known = wrong.get(client)
      if (known !== undefined && known.untilMs > perf.now()) known.count += 1
      else wrong.set(client, { count: 1, untilMs: perf.now() + WINDOW_MS })
    },
  }
}

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // A proxy must pass on each event as it comes.
  'X-Accel-Buffering': 'no',
}

export function consoleLiveRoutes({ redis, streams }: { redis: Redis; streams: SnapshotStreams }): Route[] {
  const readSeries = createSeriesReader(redis)

  return bind(consoleLive)({
    snapshot: async (call) => ({ body: { status: true, data: await streams.once(scopeOf(call.caller)) } }),
    async stream({ caller, assertStillAllowed, query }) {
      const scope = scopeOf(caller)
      if (!streams.hasRoomFor(scope)) throw tooManyStreams()
      const stream = await streams.open({ scope, limit: query.limit, inChanges: query.changes, assertStillAllowed })
      return { headers: STREAM_HEADERS, stream }
    },
    async history(call) {
      const scope = scopeOf(call.caller)
      const { account } = scope
      const { sender, span } = call.query
      if (sender !== undefined) {
        const { id } = found(await findNamedSender(redis, String(sender), { account }), 'The sender')
        assertForSender(call.caller, id)
        const lanes = async () => [id]
        return { body: { status: true, data: await readSeries({ name: `lane ${id}`, lanes }, span) } }
      }
      const lanes = async () =>
        account === undefined
          ? ('all' as const)
          : (await listSenders(redis, account)).map(({ id }) => id).filter((id) => isInScope(scope, id))
      return { body: { status: true, data: await readSeries({ name: `of ${scopeKey(scope)}`, lanes }, span) } }
    },
  })
}

const scopeOf = (caller: Caller): Scope => ({ account: accountOf(caller), senders: caller.senders })

const tooManyStreams = (): ApiError =>
  new ApiError(503, 'overloaded', 'Too many pages are already following this producer live.', {
    headers: { 'Retry-After': '10' },
  })

/** Starts and stops demo traffic; there only where there is a demo. */
export interface DemoSwitch {
  isAvailable: () => boolean
  isRunning: () => boolean
  start: () => void
  stop: () => void
}

export function consoleDemoRoutes({ demo }: { demo: DemoSwitch | undefined }): Route[] {
  const state = () => ({ available: demo?.isAvailable() ?? false, running: demo?.isRunning() ?? false })

  return bind(consoleDemo)({
    show: async () => ({ body: { status: true, data: state() } }),
    async run({ body, audit }) {
      if (!demo?.isAvailable()) throw notFound('The demo')
      audit(demo.isRunning() === body.running ? 'nothing' : { action: body.running ? 'demo.start' : 'demo.stop' })
      if (body.running) demo.start()
      else demo.stop()
      return { body: { status: true, data: state() } }
    },
  })
}
