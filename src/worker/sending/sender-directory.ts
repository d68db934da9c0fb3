// A cache of senders for sending: record, decrypted token, provider, the account's policies. Each is kept for a second,
// because every message needs it and it seldom changes.

import { findKeptAccount, type Policy } from '../../accounts/accounts.ts'
import { findSender, providerSenderOf, type Sender } from '../../accounts/senders.ts'
import type { Log } from '../../kernel/log.ts'
import { type Seal, SealError } from '../../kernel/seal.ts'
import { coolLane } from '../../lanes/cooldown.ts'
import type { MessageRecord } from '../../lanes/messages/records.ts'
import type { ProviderName } from '../../model/accounts/sender.ts'
import type { Repeat } from '../../model/messages/lifecycle.ts'
import type { Provider, ProviderSender } from '../../model/provider.ts'
import { type RulesOwner, rulesOwnerOf } from '../../portfolios/rules-owner.ts'
import { cached } from '../../redis/cached.ts'
import type { Redis } from '../../redis/connect.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import type { LaneBackoff } from './lane-backoff.ts'

/** A sender with its token in clear, and how to send for it. */
export interface DirectoryEntry {
  sender: Sender
  provider: Provider
  providerSender: ProviderSender
  /** What happens to an unconfirmed message of a class when its wait is over. */
  repeat: Readonly<Record<MessageRecord['class'], Repeat>>
  /** Whether opt-outs of the account also stop messages that are no advertising. */
  stopsTransactional: boolean
  /** Whether evidence can still arrive by itself, so that waiting for it makes sense. */
  bringsEvidence: boolean
  /** The portfolio or sender whose caps, holds and budget apply to its messages. */
  rules: RulesOwner
}

export type SenderDirectory = ReturnType<typeof createSenderDirectory>

/** A change of the rate must take effect within 2 s. */
const KEPT_MS = 1_000

/**
 * The senders of all lanes as they were within the last second (KEPT_MS). `of` rejects with a SealError or a
 * CorruptRecordError when the sender of the lane cannot be read.
 */
export function createSenderDirectory(deps: {
  redis: Redis
  seal: Seal
  providers: Readonly<Record<ProviderName, Provider>>
}) {
  const entryOf = cached(KEPT_MS, readEntry)

  return {
    /** The sender of a lane; undefined when there is none. */
    of: (lane: number): Promise<DirectoryEntry | undefined> => entryOf(deps.redis, lane),
  }

  async function readEntry(redis: Redis, lane: number): Promise<DirectoryEntry | undefined> {
    const sender = await findSender(redis, lane)
    const account = sender && (await findKeptAccount(redis, sender.account))
    if (!sender || !account) return undefined
    const isSafe = sender.provider === 'partner-api' && sender.honours_idempotency
    const repeatOf = (policy: Policy): Repeat => (isSafe ? 'safe' : policy === 'at_least_once' ? 'once' : 'never')
    return {
      sender,
      provider: deps.providers[sender.provider],
      providerSender: providerSenderOf(deps.seal, sender),
      repeat: {
        transactional: repeatOf(account['policy.transactional']),
        campaign: repeatOf(account['policy.campaign']),
      },
      stopsTransactional: account['opt_out.transactional'] === 'stop',
      bringsEvidence: sender.provider === 'cloud-api',
      rules: await rulesOwnerOf(redis, sender),
    }
  }
}

/**
 * The lane's sender; undefined when there is none. `laneMs`: its token was sealed under another key, or its record is
 * broken. A person must mend that, and the messages are not at fault, so the lane waits for so long; failing its jobs
 * would make dead letters of the whole lane.
 */
export async function senderOrWait(
  deps: { redis: Redis; log: Log; directory: SenderDirectory; backoff: LaneBackoff },
  lane: number,
): Promise<{ entry: DirectoryEntry | undefined } | { laneMs: number }> {
  try {
    return { entry: await deps.directory.of(lane) }
  } catch (error) {
    if (!(error instanceof SealError || error instanceof CorruptRecordError)) throw error
    deps.log.debug({ lane, err: error }, 'sender.unreadable')
    const ms = deps.backoff.waitMs(lane, unreadableSender)
    await coolLane(deps.redis, lane, ms, unreadableSender.problem)
    return { laneMs: ms }
  }
}

const unreadableSender = {
  laneMs: 1_000,
  backoff: true,
  problem: {
    code: 'sender_unreadable',
    sentence: 'The token of the sender cannot be opened, or its record is broken.',
  },
}
