// Senders of an account, and for operators of all.

import {
  changeSender,
  dropSender,
  existingSender,
  keptSender,
  makeSender,
  type SenderDeps,
  showSender,
  showSenders,
} from '../../../accounts/commands/senders.ts'
import { isOperator } from '../../../accounts/permissions.ts'
import { SenderTakenError } from '../../../accounts/store/add-sender.ts'
import { listSenders, newSenderId } from '../../../accounts/store/senders.ts'
import { once } from '../../../messages/accept/once.ts'
import { bodyDigest } from '../../../messages/store/idempotency.ts'
import { accountOf } from '../../acting-for.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError } from '../../errors.ts'
import type { Caller, CallOf } from '../../route.ts'
import { byId, pageOfAll } from '../pages.ts'
import { senders } from './routes.ts'

/** The routes of routes/senders.ts. */
export function senderRoutes(deps: SenderDeps & { config: { retentionMs: number } }): Route[] {
  const { redis, config } = deps

  /** The sender of the path, when it is the caller's; what is done to it is told to its account. */
  async function own({ params, caller, note }: SenderCall, find = existingSender) {
    const sender = await find(redis, params.id, accountOf(caller))
    note({ account: sender.account })
    return sender
  }

  /**
   * Where a provider's requests go decides who gets the tokens and what of the network is reached: an account's admin
   * chooses only among the servers that its senders use already.
   */
  async function refuseNewServer(caller: Caller, account: number, baseUrl: string): Promise<void> {
    if (isOperator(caller)) return
    const used = (await listSenders(redis, account)).map((sender) => new URL(sender.base_url).origin)
    if (used.includes(new URL(baseUrl).origin)) return
    const message = 'another server than the senders of the account use takes a key with the permission operator'
    throw new ApiError(403, 'forbidden', `base_url: ${message}.`, { details: [{ path: 'base_url', message }] })
  }

  return bind(senders)({
    async list({ caller, query }) {
      const all = await showSenders(redis, accountOf(caller))
      return { body: { status: true, ...pageOfAll(all, byId, query) } }
    },

    async create({ caller: { account }, caller, body, sent, headers, note }) {
      await refuseNewServer(caller, account, body.base_url)
      const { token, ...public_ } = sent
      // The token stays out of what is kept of the request.
      const use = { account, route: 'sender', key: headers['Idempotency-Key'], digest: () => bodyDigest(public_) }
      const data = await once(redis, use, {
        prepare: async () => ({ name: String(await newSenderId(redis)), work: undefined }),
        make: (id) =>
          makeSender(deps, {
            id: Number(id),
            account,
            number: body.number,
            name: body.name ?? '',
            provider: body.provider,
            baseUrl: body.base_url,
            token: body.token,
            phoneNumberId: body.phone_number_id ?? '',
            rate: body.rate,
            honoursIdempotency: body.honours_idempotency,
            isDefault: body.default,
          }).catch(refuseTaken),
        find: (id) => showSender(redis, Number(id)).catch(() => undefined),
      })
      note({ target: String(data.id) })
      return { status: 201, body: { status: true, message: 'created', data } }
    },

    async show(call) {
      return { body: { status: true, message: 'sender', data: await showSender(redis, (await own(call)).id) } }
    },

    async change(call) {
      const sender = await own(call)
      const { name, rate, token, base_url: baseUrl, default: isDefault } = call.body
      if (baseUrl !== undefined) await refuseNewServer(call.caller, sender.account, baseUrl)
      const changes = { name: name === null ? '' : name, rate, token, baseUrl, isDefault }
      const data = await changeSender(deps, sender.id, changes).catch(refuseTaken)
      call.note({ detail: Object.keys(call.body).join(',') })
      return { body: { status: true, message: 'changed', data } }
    },

    async remove(call) {
      await dropSender(deps, (await own(call, keptSender)).id, config.retentionMs)
      return { body: { status: true, message: 'removed' } }
    },
  })
}

type SenderCall = Pick<CallOf<typeof senders.show>, 'params' | 'caller' | 'note'>

const FIELDS = { number: 'number', name: 'name', phoneNumberId: 'phone_number_id' } as const

/** Whose sender it is, is nobody's business. */
function refuseTaken(error: unknown): never {
  if (!(error instanceof SenderTakenError)) throw error
  const path = FIELDS[error.what]
  const message = 'belongs to another sender'
  throw new ApiError(409, 'sender_taken', `${path}: ${message}.`, { details: [{ path, message }] })
}
