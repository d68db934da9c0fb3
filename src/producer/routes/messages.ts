// Sending: service messages and template messages.
//
//   POST /sendservicemessages/sendmessages          interactive list or reply buttons, image, audio
//   POST /chatappbusiness/send-templated-message    one approved template
//
// Both take the header Idempotency-Key.
import { type AcceptDeps, acceptMessage } from '../../accept/accept-message.ts'
import type { SendKind } from '../../accept/read-send.ts'
import { ignoredHeader } from '../ignored.ts'
import type { DirectRoute } from '../route.ts'

export function messageRoutes(deps: AcceptDeps): DirectRoute[] {
  return [
    sendRoute(deps, '/sendservicemessages/sendmessages', 'service'),
    sendRoute(deps, '/chatappbusiness/send-templated-message', 'template'),
  ]
}

const sendRoute = (deps: AcceptDeps, path: string, kind: SendKind): DirectRoute => ({
  direct: true,
  method: 'post',
  path,
  access: { in: 'api_key', permission: 'messages:send' },
  body: { as: 'json' },
  handle: async ({ caller, body, header }) => {
    const idempotencyKey = header('idempotency-key')
    const request = { account: caller.account, kind, body, unknownFields: 'ignored', idempotencyKey } as const
    const { acknowledgement, ignored } = await acceptMessage(deps, request)
    return { headers: ignoredHeader(ignored), body: acknowledgement }
  },
})
