// Keys of an account, and for operators those of the whole installation.

import { endReplaced, makeKey, revokeKey, rotateKey, showKey, showKeys } from '../../../accounts/commands/keys.ts'
import { isOperator, NO_ACCOUNT, OPERATOR } from '../../../accounts/permissions.ts'
import { findCredentialById, newKey } from '../../../accounts/store/credentials.ts'
import { once } from '../../../messages/accept/once.ts'
import { bodyDigest } from '../../../messages/store/idempotency.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountMissing } from '../../acting-for.ts'
import { bind, type Route } from '../../bind.ts'
import { invalid } from '../../errors.ts'
import type { Caller } from '../../route.ts'
import { byAge, pageOfAll } from '../pages.ts'
import { keys } from './routes.ts'

/** The routes of routes/keys.ts. */
export const keyRoutes = ({ redis }: { redis: Redis }): Route[] =>
  bind(keys)({
    async list({ caller, query }) {
      const all = await showKeys(redis, caller.account, Date.now())
      return { body: { status: true, ...pageOfAll(all, byAge, query) } }
    },

    async create({ caller, body, sent, headers, note }) {
      const { account } = caller
      refuseMixed(caller, body.permissions)
      const { expires_at: expiresAtMs = 0, ...grant } = body
      const nowMs = Date.now()
      const use = { account, route: 'key', key: headers['Idempotency-Key'], digest: () => bodyDigest(sent) }
      const made = await once(redis, use, {
        prepare: newNamedKey,
        make: (id, secret) => makeKey(redis, caller, { ...grant, account, expiresAtMs, key: { id, secret } }, nowMs),
        async find(id) {
          const known = await findCredentialById(redis, account, id)
          return known && { ...(await showKey(redis, account, id, nowMs)), key: null }
        },
      })
      if (made.key === null) note('nothing')
      else note({ target: made.id, detail: made.permissions.join(',') })
      return {
        status: 201,
        body: { status: true, message: made.key === null ? 'created before' : 'created', data: made },
      }
    },

    async revoke({ caller, params }) {
      // An operator can always make another key of an account; nobody over HTTP can when the last operator's is gone.
      const keepsOne = !isOperator(caller) || caller.account === NO_ACCOUNT
      const data = await revokeKey(redis, caller.account, params.key, { keepsOne }, Date.now())
      return { body: { status: true, message: 'revoked', data } }
    },

    async rotate({ caller: { account }, caller, params, body, sent, headers, note }) {
      const old = { account, id: params.key, overlapMs: body.overlap_seconds * 1_000 }
      const nowMs = Date.now()
      const route = `key.rotate ${old.id}`
      const use = { account, route, key: headers['Idempotency-Key'], digest: () => bodyDigest(sent) }
      const data = await once(redis, use, {
        prepare: newNamedKey,
        async make(id, secret) {
          const { made, replaced } = await rotateKey(redis, caller, { ...old, key: { id, secret } }, nowMs)
          return { ...made, replaces: replaced }
        },
        async find(id) {
          const known = await findCredentialById(redis, account, id)
          if (known === undefined) return undefined
          // The first request may have died before it ended the old key.
          await endReplaced(redis, old, known.created_at)
          const [now, replaces] = [
            await showKey(redis, account, id, nowMs),
            await showKey(redis, account, old.id, nowMs),
          ]
          return { ...now, key: null, replaces }
        },
      })
      if (data.key === null) note('nothing')
      else note({ detail: data.id })
      return { status: 201, body: { status: true, message: data.key === null ? 'rotated before' : 'rotated', data } }
    },
  })

/** Of a first request that died before it made the key, only the id is left: the repeat makes another one under it. */
const newNamedKey = async (): Promise<{ name: string; work: string }> => {
  const { id, secret } = newKey()
  return { name: id, work: secret }
}

/** A key is either of an account, or of none and an operator's. */
function refuseMixed({ account }: Caller, permissions: readonly string[]): void {
  const isForAll = permissions.includes(OPERATOR)
  if (account === NO_ACCOUNT && !isForAll) throw accountMissing()
  if (isForAll && (permissions.length > 1 || account !== NO_ACCOUNT)) {
    const message = 'a key with operator has no other permission and no account'
    throw invalid([{ path: 'permissions', message }])
  }
}
