// Senders of an account, and for operators of all.

import { SenderTakenError } from '../../../accounts/add-sender.ts'
import { findNamedSender } from '../../../accounts/named-senders.ts'
import { isWabaOfOthers, listSenders, newSenderId } from '../../../accounts/senders.ts'
import { type CheckDeps, checkSender } from '../../../admin/check-sender.ts'
import {
  changeSender,
  dropSender,
  makeSender,
  type SenderDeps,
  showSender,
  showSenders,
} from '../../../admin/senders.ts'
import { isOperator } from '../../../model/accounts/permissions.ts'
import { putIntoPortfolio } from '../../../portfolios/commands/portfolios.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError } from '../../errors.ts'
import type { Caller, ContextOf } from '../../route.ts'
import { created, lists, says, shows } from '../answers.ts'
import { byId, found, makeOnceById, pageOfAll } from '../requests.ts'
import { senders } from './routes.ts'

export function senderRoutes(deps: SenderDeps & CheckDeps & { config: { retentionMs: number } }): Route[] {
  const { redis, config } = deps

  /** The sender of the path, if it is the caller's. Acts on it go to the audit log of its account. */
  async function own({ params, caller, audit }: SenderCall, removedToo = false) {
    const sender = found(
      await findNamedSender(redis, params.id, { account: accountOf(caller), removedToo }),
      'The sender',
    )
    audit({ account: sender.account, target: String(sender.id) })
    return sender
  }

  /**
   * The provider's address decides who gets the token and which host of the network is reached: an account's admin may
   * choose only servers that its senders use already.
   */
  async function refuseNewServer(caller: Caller, account: number, baseUrl: string): Promise<void> {
    if (isOperator(caller)) return
    const used = (await listSenders(redis, account)).map((sender) => new URL(sender.base_url).origin)
    if (used.includes(new URL(baseUrl).origin)) return
    const message = 'a server that no sender of the account uses yet needs a key with the permission operator'
    throw new ApiError(403, 'forbidden', `base_url: ${message}.`, { details: [{ path: 'base_url', message }] })
  }

  /** A sender follows WhatsApp's reports about the account that it names: an admin may not name that of other accounts' senders. */
  async function refuseOthersWaba(caller: Caller, account: number, wabaId: string): Promise<void> {
    if (isOperator(caller) || !(await isWabaOfOthers(redis, wabaId, account))) return
    const message = 'that of another account’s senders needs a key with the permission operator'
    throw new ApiError(403, 'forbidden', `waba_id: ${message}.`, { details: [{ path: 'waba_id', message }] })
  }

  return bind(senders)({
    async list({ caller, query }) {
      return lists(pageOfAll(await showSenders(redis, accountOf(caller)), byId, query))
    },

    async create(call) {
      const { caller, body } = call
      const { account } = caller
      await refuseNewServer(caller, account, body.base_url)
      if (body.waba_id !== undefined) await refuseOthersWaba(caller, account, body.waba_id)
      // The token is not part of what is stored of the request.
      const { token: _token, ...sent } = call.sent
      const data = await makeOnceById(redis, { ...call, sent }, 'sender', {
        newId: newSenderId,
        make: (id) =>
          makeSender(deps, {
            id,
            account,
            number: body.number,
            name: body.name ?? '',
            provider: body.provider,
            baseUrl: body.base_url,
            token: body.token,
            phoneNumberId: body.phone_number_id ?? '',
            wabaId: body.waba_id ?? '',
            rate: body.rate,
            honoursIdempotency: body.honours_idempotency,
            isDefault: body.default,
          }).catch((error: unknown) => refuseTaken(error, caller)),
        find: (id) => showSender(redis, id).catch(() => undefined),
      })
      call.audit({ target: String(data.id) })
      return created(data)
    },

    async show(call) {
      return shows('sender', await showSender(redis, (await own(call)).id))
    },

    async check(call) {
      return shows('checked', await checkSender(deps, await own(call)))
    },

    async change(call) {
      const sender = await own(call)
      const { name, rate, token, base_url: baseUrl, default: isDefault, follow_provider: followProvider } = call.body
      const { waba_id: waba, portfolio, marketing_route: marketingRoute, strict_pace: strictPace } = call.body
      if (baseUrl !== undefined) await refuseNewServer(call.caller, sender.account, baseUrl)
      if (waba) await refuseOthersWaba(call.caller, sender.account, waba)
      if (portfolio !== undefined) await putIntoPortfolio(redis, sender, portfolio)
      const settings = { name: name === null ? '' : name, rate, token, baseUrl, isDefault }
      const changes = { ...settings, followProvider, marketingRoute, strictPace, wabaId: waba === null ? '' : waba }
      const data = await changeSender(deps, sender.id, changes).catch((error: unknown) =>
        refuseTaken(error, call.caller),
      )
      call.audit({ detail: Object.keys(call.body).join(',') })
      return shows('changed', data)
    },

    async remove(call) {
      await dropSender(deps, (await own(call, true)).id, config.retentionMs)
      return says('removed')
    },
  })
}

type SenderCall = Pick<ContextOf<typeof senders.show>, 'params' | 'caller' | 'audit'>

const FIELDS = { number: 'number', name: 'name', phoneNumberId: 'phone_number_id' } as const

/** Which account has it, an operator alone learns. */
function refuseTaken(error: unknown, caller: Caller): never {
  if (!(error instanceof SenderTakenError)) throw error
  const path = FIELDS[error.what]
  const { id, account } = error.holder
  const message = isOperator(caller) ? `belongs to sender ${id} of account ${account}` : 'belongs to another sender'
  throw new ApiError(409, 'sender_taken', `${path}: ${message}.`, { details: [{ path, message }] })
}
