// messages read: marks a received message as read at WhatsApp.

import { keptAccounts } from '../accounts/accounts.ts'
import { findSender, providerSenderOf } from '../accounts/senders.ts'
import { createSeal } from '../kernel/seal.ts'
import { secretKeysOf } from '../kernel/secret-keys.ts'
import { archiveOf } from '../lanes/archive/archive.ts'
import { outcomeOf } from '../model/messages/outcome.ts'
import { createReadReceipts } from '../providers/cloud-read.ts'
import { CliFailure } from './failure.ts'
import type { Answer, CommandContext } from './verb.ts'

/** Received messages are filed under their account, which WhatsApp's id does not contain. */
export async function markRead(
  { id, typing }: { id: string; typing: boolean },
  { redis, config }: CommandContext,
): Promise<Answer> {
  for (const account of await keptAccounts(redis)) {
    const message = await archiveOf(redis).find({ account, id })
    const sender = message && (await findSender(redis, message.lane))
    if (message === undefined || sender === undefined) continue
    if (sender.removed_at !== undefined) throw new CliFailure('The sender that received it was removed.')
    if (sender.provider !== 'cloud-api') throw new CliFailure('The provider of its sender takes no read receipts.')
    const receipts = createReadReceipts(config.cloudApiVersion)
    try {
      const seal = createSeal(secretKeysOf(config))
      const end = await receipts.mark(providerSenderOf(seal, sender), message.id, typing)
      if (end.kind === 'done') return { json: { id, read: true }, text: `Marked ${id} as read.` }
      const outcome = outcomeOf(end)
      throw new CliFailure('problem' in outcome ? outcome.problem.sentence : 'WhatsApp gave no answer.')
    } finally {
      await receipts.close()
    }
  }
  throw new CliFailure(`No message ${id} was received, or it is older than the retention.`)
}
