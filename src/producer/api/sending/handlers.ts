// Sending: service messages, template messages, batches of both.
import { isObject } from '../../../kernel/fault.ts'
import type { Log } from '../../../kernel/log.ts'
import { acceptBatch, type BatchRequest } from '../../../messages/accept/accept-batch.ts'
import { type AcceptDeps, acceptMessage } from '../../../messages/accept/accept-message.ts'
import { type SendKind, sendKindOf, withOnlyValues } from '../../../messages/accept/read-send.ts'
import { sentDocument } from '../../../messages/lookup/message-document.ts'
import { findOwnMessage } from '../../../messages/lookup/own-message.ts'
import type { ListSettings } from '../../../recipients/unclaimed-message.ts'
import { isHere } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import { ignoredHeader } from '../../ignored-header.ts'
import type { ContextOf } from '../../route.ts'
import { queued } from '../answers.ts'
import { found } from '../requests.ts'
import { sending } from './routes.ts'

/** Header of a message that was accepted and may not arrive all the same. */
const WARNING = 'x-laneway-warning'

export function sendingRoutes(deps: AcceptDeps & { log: Log; config: ListSettings }): Route[] {
  const send =
    (kind: SendKind) =>
    async ({ caller, body, headers }: ContextOf<typeof sending.service>) => {
      const { account, senders } = caller
      const request = { account, senders, kind, body, unknownFields: 'ignored', ...keyed({ headers }) } as const
      const { acknowledgement, ignored, warning } = await acceptMessage(deps, request)
      return { headers: { ...ignoredHeader(ignored), ...warned(warning) }, body: acknowledgement }
    }

  const sendMany = (
    { requestId, caller, headers }: Pick<ContextOf<typeof sending.batch>, 'requestId' | 'caller' | 'headers'>,
    request: Pick<BatchRequest, 'body' | 'keyedAs'>,
  ) => {
    const onFault = (error: unknown, index: number): void =>
      deps.log.error({ request_id: requestId, index, err: error }, 'batch.item_failed')
    const { account, senders } = caller
    return acceptBatch({ ...deps, onFault }, { account, senders, ...request, ...keyed({ headers }) })
  }

  return bind(sending)({
    async message(call) {
      const { caller, body, headers } = call
      if (!isHere(caller)) call.audit('nothing')
      if ('messages' in body) {
        await call.assertRoom()
        return queued(await sendMany(call, { body: withOnlyValuesInEach(body), keyedAs: 'message' }))
      }
      const { account, senders } = caller
      const { id, warning } = await acceptMessage(deps, {
        ...{ account, senders, kind: sendKindOf(body), body: withOnlyValues(body) },
        ...{ unknownFields: 'refused', keyedAs: 'message', ...keyed({ headers }) },
      })
      const own = found(await findOwnMessage(deps.redis, account, id, Date.now(), deps.config), 'The message')
      if (isHere(caller)) call.audit({ target: id })
      if ('inbound' in own) throw new Error(`${id} was received`)
      return { ...queued(await sentDocument(deps.redis, own.message, own.sender)), headers: warned(warning) }
    },
    service: send('service'),
    template: send('template'),
    batch: async (call) => ({ body: { results: await sendMany(call, { body: call.body }) } }),
  })
}

type SendHeaders = Pick<ContextOf<typeof sending.service>, 'headers'>

/** The idempotency key and the trace of a send, from its headers. */
const keyed = ({ headers: { 'Idempotency-Key': idempotencyKey, traceparent } }: SendHeaders) => ({
  idempotencyKey,
  traceparent,
})

const warned = (warning: string | undefined): Readonly<Record<string, string>> =>
  warning === undefined ? {} : { [WARNING]: warning }

/** The same for each message of a list. An item that is no object stays, and is refused. */
function withOnlyValuesInEach({ messages, ...rest }: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const filled = Array.isArray(messages)
    ? messages.map((each: unknown) => (isObject(each) && !Array.isArray(each) ? withOnlyValues(each) : each))
    : messages
  return { ...rest, messages: filled }
}
