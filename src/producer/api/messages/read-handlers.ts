// Marks a received message as read at WhatsApp, at once, since its writer may have the chat open.

import { assertForSender } from '../../../accounts/check-key.ts'
import { cachedSender, providerSenderOf } from '../../../accounts/senders.ts'
import { invalidFields } from '../../../kernel/refusal.ts'
import type { Seal } from '../../../kernel/seal.ts'
import { archiveOf } from '../../../lanes/archive/archive.ts'
import { outcomeOf } from '../../../model/messages/outcome.ts'
import { READS_AT_ONCE, type ReadReceipts } from '../../../providers/cloud-read.ts'
import type { Redis } from '../../../redis/connect.ts'
import { ApiError, overloaded } from '../../errors.ts'
import { accountHolder, createFairShares } from '../../overload/fair-shares.ts'
import type { Handlers } from '../../route.ts'
import { says } from '../answers.ts'
import { found } from '../requests.ts'
import { forMessage } from './message-account.ts'
import type { messages } from './routes.ts'

export interface ReadDeps {
  redis: Redis
  seal: Seal
  receipts: Pick<ReadReceipts, 'mark'>
}

/** Handler of `/messages/{id}/read`. */
export function readHandlers({ redis, seal, receipts }: ReadDeps): Handlers<Pick<typeof messages, 'read'>> {
  const shares = createFairShares(READS_AT_ONCE)

  return {
    async read({ params, caller, body }) {
      const { account } = await forMessage(redis, caller, params.id)
      const inbound = found(await archiveOf(redis).find({ account, id: params.id }), 'The received message')
      assertForSender(caller, inbound.lane)
      const sender = await cachedSender(redis, inbound.lane)
      // The token was removed with the sender.
      if (sender === undefined || sender.removed_at !== undefined) {
        throw new ApiError(409, 'sender_removed', 'The sender that received it was removed.')
      }
      if (sender.provider !== 'cloud-api') {
        const message = 'received by a sender whose provider takes no read receipts'
        throw invalidFields([{ path: 'id', message }], 'not_supported_by_provider')
      }
      const holder = accountHolder(account)
      if (!shares.hasRoomFor(holder)) throw overloaded()
      const share = shares.hold(holder, () => {})
      share.add(1)
      try {
        const end = await receipts.mark(providerSenderOf(seal, sender), inbound.id, body.typing)
        if (end.kind === 'done') return says('read')
        const outcome = outcomeOf(end)
        const sentence = 'problem' in outcome ? outcome.problem.sentence : 'WhatsApp gave no answer.'
        throw new ApiError(502, 'not_marked_read', `WhatsApp did not mark it: ${sentence}`)
      } finally {
        share.release()
      }
    },
  }
}
