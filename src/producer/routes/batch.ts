// Sending many messages in one request.
//
//   POST /messages/batch    { messages: [ …bodies as in the two send endpoints, without api_key… ] }, 1 to 1,000
//
// Answers { results: [ { index, id } | { index, error } ] }. Takes the header Idempotency-Key, for the whole.
import { acceptBatch } from '../../accept/accept-batch.ts'
import type { AcceptDeps } from '../../accept/accept-message.ts'
import type { Log } from '../../log.ts'
import type { DirectRoute } from '../route.ts'

/** A thousand messages of 4 KB. */
const LIMIT_BYTES = 4 * 1024 * 1024

export function batchRoutes(deps: AcceptDeps & { log: Log }): DirectRoute[] {
  return [
    {
      direct: true,
      method: 'post',
      path: '/messages/batch',
      access: { in: 'bearer', permission: 'messages:send' },
      body: { as: 'json', limit: LIMIT_BYTES },
      handle: async ({ caller, body, requestId, header }) => {
        const onFault = (error: unknown, index: number): void =>
          deps.log.error({ request_id: requestId, index, err: error }, 'batch.item_failed')
        const request = { account: caller.account, body, idempotencyKey: header('idempotency-key') }
        return { body: { results: await acceptBatch({ ...deps, onFault }, request) } }
      },
    },
  ]
}
