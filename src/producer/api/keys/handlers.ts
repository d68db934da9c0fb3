// Keys of an account, and for operators those of the whole installation.

import { findCredentialById, newKey } from '../../../accounts/credentials.ts'
import { endReplaced, makeKey, ownerOfKey, revokeKey, rotateKey, showKey, showKeys } from '../../../admin/keys.ts'
import { isOperator, NO_ACCOUNT, OPERATOR } from '../../../model/accounts/permissions.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountMissing, isHere } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import { invalid } from '../../errors.ts'
import type { Caller, ContextOf } from '../../route.ts'
import { created, lists, shows } from '../answers.ts'
import { byAge, makeOnce, pageOfAll } from '../requests.ts'
import { keys } from './routes.ts'

export function keyRoutes({ redis }: { redis: Redis }): Route[] {
  /** The account of the key in the path: an operator need not name it. */
  async function ownerOf({ caller, params }: KeyCall): Promise<number> {
    if (!isOperator(caller) || caller.account !== NO_ACCOUNT) return caller.account
    return (await ownerOfKey(redis, params.key)) ?? NO_ACCOUNT
  }

  return bind(keys)({
    async list({ caller, query }) {
      return lists(pageOfAll(await showKeys(redis, caller.account, Date.now()), byAge, query))
    },

    show: async (call) => shows('key', await showKey(redis, await ownerOf(call), call.params.key, Date.now())),

    async create(call) {
      const { caller, body, audit } = call
      const { account } = caller
      refuseMixed(caller, body.permissions)
      const { expires_at: expiresAtMs = 0, ...grant } = body
      const nowMs = Date.now()
      const made = await makeOnce(redis, call, 'key', {
        prepare: newNamedKey,
        make: (id, secret) => makeKey(redis, caller, { ...grant, account, expiresAtMs, key: { id, secret } }, nowMs),
        async find(id) {
          const known = await findCredentialById(redis, account, id)
          return known && { ...(await showKey(redis, account, id, nowMs)), key: null }
        },
      })
      if (made.key === null) audit('nothing')
      else audit({ target: made.id, detail: made.permissions.join(',') })
      return created(made, made.key === null ? 'created before' : 'created')
    },

    async revoke(call) {
      const { caller, params, audit } = call
      const account = await ownerOf(call)
      audit({ account })
      // An operator can always make another key of an account; nobody can over HTTP once the last operator key is gone, and the command
      // line, which has no key, always can.
      const keepsOne = !isOperator(caller) || (account === NO_ACCOUNT && !isHere(caller))
      return shows('revoked', await revokeKey(redis, account, params.key, { keepsOne }, Date.now()))
    },

    async rotate(call) {
      const { caller, params, body, audit } = call
      const account = await ownerOf(call)
      audit({ account })
      const old = { account, id: params.key, overlapMs: body.overlap_seconds * 1_000 }
      const nowMs = Date.now()
      const data = await makeOnce(redis, call, `key.rotate ${old.id}`, {
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
          const now = await showKey(redis, account, id, nowMs)
          return { ...now, key: null, replaces: await showKey(redis, account, old.id, nowMs) }
        },
      })
      if (data.key === null) audit('nothing')
      else audit({ detail: data.id })
      return created(data, data.key === null ? 'rotated before' : 'rotated')
    },
  })
}

type KeyCall = Pick<ContextOf<typeof keys.revoke>, 'caller' | 'params'>

/** If the first request died before it made the key, only the id is kept: the repeat makes another key under it. */
const newNamedKey = async (): Promise<{ name: string; work: string }> => {
  const { id, secret } = newKey()
  return { name: id, work: secret }
}

/** A key is either of an account, or an operator's and of none. */
function refuseMixed({ account }: Caller, permissions: readonly string[]): void {
  const isForAll = permissions.includes(OPERATOR)
  if (account === NO_ACCOUNT && !isForAll) throw accountMissing()
  if (isForAll && (permissions.length > 1 || account !== NO_ACCOUNT)) {
    const message = 'a key with operator has no other permission and no account'
    throw invalid([{ path: 'permissions', message }])
  }
}
