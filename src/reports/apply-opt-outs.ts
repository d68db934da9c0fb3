// Applies opt-outs that come with messages: keywords that people write, and WhatsApp's refusals for that reason. Idempotent, so callers
// apply them before they mark the webhook as handled.
import { cachedAccount } from '../accounts/accounts.ts'
import { type InboundMessage, namesOfWriter } from '../lanes/messages/inbound.ts'
import type { Problem } from '../model/messages/outcome.ts'
import { OPTED_OUT_THERE } from '../model/messages/provider-codes.ts'
import type { OptOutSource } from '../model/people/opt-out.ts'
import { keywordIntent } from '../model/people/opt-out-words.ts'
import { optOutsHold } from '../people/opt-outs/opt-out-hold.ts'
import { addOptOuts, removeOptOuts } from '../people/opt-outs/opt-outs.ts'
import type { Redis } from '../redis/connect.ts'

/** Kinds whose text the person has written or chosen. */
const SAID: ReadonlySet<string> = new Set(['text', 'button', 'interactive', 'edit'])

/**
 * Applies a stop or start word of the account, if the message is one, as of when it was written. A person is known by number and by
 * user id.
 */
export async function applyOptOutKeyword(
  redis: Redis,
  account: number,
  { from, type, text, parts }: Pick<InboundMessage, 'from' | 'type' | 'text' | 'parts'>,
  atMs: number,
): Promise<void> {
  // In a group nobody addresses the account alone. A caption is about its picture.
  if (!SAID.has(type) || parts.group_id !== undefined || parts.media !== undefined) return
  const settings = await cachedAccount(redis, account)
  if (settings === undefined) return
  const said = parts.reply === undefined ? [text] : [text, parts.reply.id]
  const intent = keywordIntent(said, { stop: settings['opt_out.stop_words'], start: settings['opt_out.start_words'] })
  if (intent === undefined) return
  await applyIntent(redis, account, { people: namesOfWriter({ from, parts }), intent, source: 'word', atMs })
}

/**
 * Applies the person's choice within WhatsApp. A resume ends an opt-out that WhatsApp reported, not one that the person wrote or the
 * account recorded.
 */
export async function applyPreference(
  redis: Redis,
  account: number,
  { people, intent, atMs }: { people: readonly string[]; intent: 'stop' | 'resume'; atMs: number | undefined },
): Promise<void> {
  await applyIntent(redis, account, { people, intent: intent === 'stop' ? intent : 'start', source: 'provider', atMs })
}

/** An opt-out holds once this has resolved: its webhook is answered after that. */
async function applyIntent(
  redis: Redis,
  account: number,
  said: { people: readonly string[]; intent: 'stop' | 'start'; source: OptOutSource; atMs: number | undefined },
): Promise<void> {
  const { people, intent, ...how } = said
  if (intent === 'start') {
    await removeOptOuts(redis, account, people, how)
  } else {
    await addOptOuts(redis, account, people, how)
    await optOutsHold(redis)
  }
}

/** Records that the person has stopped advertising within WhatsApp, if that is why a message to them failed. */
export async function applyProviderOptOut(
  redis: Redis,
  account: number,
  person: string,
  { code }: Pick<Problem, 'code'>,
  atMs?: number,
): Promise<void> {
  if (code !== OPTED_OUT_THERE || person === '') return
  // The outcome of the message is written next, and waits for replicas itself.
  await addOptOuts(redis, account, [person], { source: 'provider', atMs, replicated: false })
}
