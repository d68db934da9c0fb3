// Stores what people send: their messages, and whether they want marketing.
import { cachedAccount } from '../../../accounts/accounts.ts'
import { senderOfPhoneNumberId } from '../../../accounts/senders.ts'
import { addReply } from '../../../campaigns/store/replies.ts'
import { addReceivedMedium } from '../../../gallery/received-media.ts'
import type { Config } from '../../../kernel/config.ts'
import { emitReceived, namesOfWriter, opensWindow, storeInbound } from '../../../lanes/messages/inbound.ts'
import { eraseOptOut } from '../../../people/opt-outs/opt-outs.ts'
import type { Tombstones } from '../../../people/tombstones.ts'
import type { Preference } from '../../../providers/cloud-preferences.ts'
import type { ReceivedMessage } from '../../../providers/cloud-received.ts'
import { namesInChange } from '../../../providers/webhook-names.ts'
import type { Redis } from '../../../redis/connect.ts'
import { assertGaveOutLane } from '../../../redis/installation.ts'
import { inboundDigest } from '../../../redis/keys.ts'
import { applyOptOutKeyword, applyPreference } from '../../../reports/apply-opt-outs.ts'
import type { RareWarnings } from './rare-warnings.ts'

export interface ReceivedDeps {
  redis: Redis
  config: Pick<Config, 'receivedRetentionMs'>
  tombstones: Tombstones
  rareWarnings: RareWarnings
}

/** The sender with the number, if it is of the account that the webhook is for. */
async function senderFor(deps: ReceivedDeps, phoneNumberId: string, account: number | undefined) {
  const sender = await senderOfPhoneNumberId(deps.redis, phoneNumberId)
  if (sender && (account === undefined || sender.account === account)) return sender
  // If there is no sender at all, the number is not unknown: our data are missing.
  await assertGaveOutLane(deps.redis, 1)
  deps.rareWarnings.unknownNumber(phoneNumberId)
  return undefined
}

/** Stores a received message with all that follows from it. */
export async function storeReceived(
  deps: ReceivedDeps,
  message: ReceivedMessage,
  account: number | undefined,
): Promise<void> {
  const sender = await senderFor(deps, message.phoneNumberId, account)
  if (!sender) return
  const { account: owner, id: lane } = sender
  const { providerId: id, from, type, text, parts } = message
  const nowMs = Date.now()
  // A time in the future comes from a wrong clock and would put the message before all others until then.
  const received = { id, lane, from, type, text, parts, received_at: Math.min(message.atMs ?? nowMs, nowMs) }
  const names = namesOfWriter(received)
  const named = parts.system === undefined ? names : [...names, ...namesInChange(parts.system, text)]
  if (await isOfBeforeErasure(deps, owner, named, message.atMs)) {
    // Repeated, or late. An opt-out in it counts all the same, without a name.
    await applyOptOutKeyword(deps.redis, owner, received, received.received_at)
    await eraseOptOut(deps.redis, owner, names)
    return
  }
  const receivedAt = await storeInbound(deps.redis, owner, received, deps.config.receivedRetentionMs)
  if (receivedAt === undefined) return
  // Before the event: a process that dies in between does all of this again, and the event is written once it is done.
  await applyOptOutKeyword(deps.redis, owner, received, message.atMs ?? receivedAt)
  if (parts.media !== undefined) await keepMedia(deps, owner, { id, lane })
  if (opensWindow(received)) await addReply(deps.redis, lane, { message: inboundDigest(id), receivedAt })
  await emitReceived(deps.redis, owner, received)
}

/** Has a worker fetch the file that came with a message, where the account keeps received media. */
async function keepMedia(
  deps: ReceivedDeps,
  account: number,
  { id, lane }: { id: string; lane: number },
): Promise<void> {
  if ((await cachedAccount(deps.redis, account))?.keep_received_media !== 'on') return
  if (await addReceivedMedium(deps.redis, { account, lane, message: inboundDigest(id) })) return
  deps.rareWarnings.mediaNotKept(account)
}

/** Stores whether people want marketing of a number. */
export async function storePreference(
  deps: ReceivedDeps,
  preference: Preference,
  account: number | undefined,
): Promise<void> {
  const sender = await senderFor(deps, preference.phoneNumberId, account)
  if (!sender) return
  await applyPreference(deps.redis, sender.account, preference)
  const { people, atMs } = preference
  // As above. Dying in between leaves the names there until the webhook comes again, as it was not answered.
  if (await isOfBeforeErasure(deps, sender.account, people, atMs)) await eraseOptOut(deps.redis, sender.account, people)
}

/** Whether a person with one of these names was erased after this time (epoch ms). */
const isOfBeforeErasure = async (
  { tombstones }: Pick<ReceivedDeps, 'tombstones'>,
  account: number,
  names: readonly string[],
  atMs: number | undefined,
): Promise<boolean> => atMs !== undefined && (await tombstones.erasedOf(account, names, atMs)).size > 0
