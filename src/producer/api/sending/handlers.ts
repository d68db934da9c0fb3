// Sending: service messages, template messages, batches of both.
import type { Log } from '../../../kernel/log.ts'
import { acceptBatch } from '../../../messages/accept/accept-batch.ts'
import { type AcceptDeps, acceptMessage } from '../../../messages/accept/accept-message.ts'
import type { SendKind } from '../../../messages/accept/read-send.ts'
import { bind, type Route } from '../../bind.ts'
import { ignoredHeader } from '../../ignored-header.ts'
import type { ContextOf } from '../../route.ts'
import { sending } from './routes.ts'

/** Header of a message that was accepted and may not arrive all the same. */
const WARNING = 'x-laneway-warning'

export function sendingRoutes(deps: AcceptDeps & { log: Log }): Route[] {
  const send =
    (kind: SendKind) =>
    async ({ caller, body, headers }: ContextOf<typeof sending.service>) => {
      const idempotencyKey = headers['Idempotency-Key']
      const { account, senders } = caller
      const { traceparent } = headers
      const request = { account, senders, kind, body, unknownFields: 'ignored', idempotencyKey, traceparent } as const
      const { acknowledgement, ignored, warning } = await acceptMessage(deps, request)
      const warned = warning === undefined ? {} : { [WARNING]: warning }
      return { headers: { ...ignoredHeader(ignored), ...warned }, body: acknowledgement }
    }

  return bind(sending)({
    service: send('service'),
    template: send('template'),
    async batch({ caller, body, headers, requestId }) {
      const onFault = (error: unknown, index: number): void =>
        deps.log.error({ request_id: requestId, index, err: error }, 'batch.item_failed')
      const { 'Idempotency-Key': idempotencyKey, traceparent } = headers
      const request = { account: caller.account, body, idempotencyKey, traceparent }
      return { body: { results: await acceptBatch({ ...deps, onFault }, request) } }
    },
  })
}
