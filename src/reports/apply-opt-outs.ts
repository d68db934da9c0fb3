// Opt-outs that come with messages: keywords that people write, and what WhatsApp says when it refuses a message to them.
// Applying one twice changes nothing, so callers apply it before they note the webhook as handled.
import { cachedAccount } from '../accounts/accounts.ts'
import { type InboundMessage, namesOfWriter } from '../lanes/messages/inbound.ts'
import type { Problem } from '../model/messages/outcome.ts'
import { OPTED_OUT_THERE } from '../model/messages/provider-codes.ts'
import { keywordIntent, type OptOutSource } from '../model/people/opt-out.ts'
import { addOptOuts, optOutsHold, removeOptOuts } from '../people/opt-outs/opt-outs.ts'
import type { Redis } from '../redis/connect.ts'

/** Kinds whose text the person has written or chosen. */
const SAID: ReadonlySet<string> = new Set(['text', 'button', 'interactive', 'edit'])

/**
 * Applies a stop or start word of the account, if that is what was received, as of when it was written. A person is known by
 * number and by user id.
 */
export async function applyOptOutKeyword(
  redis: Redis,
  account: number,
  { from, type, text, parts }: Pick<InboundMessage, 'from' | 'type' | 'text' | 'parts'>,
  atMs: number,
): Promise<void> {
  // In a group nobody talks to the account alone. What stands below a picture is about the picture.
  if (!SAID.has(type) || parts.group_id !== undefined || parts.media !== undefined) return
  const settings = await cachedAccount(redis, account)
  if (settings === undefined) return
  const said = parts.reply === undefined ? [text] : [text, parts.reply.id]
  const intent = keywordIntent(said, { stop: settings['opt_out.stop_words'], start: settings['opt_out.start_words'] })
  if (intent === undefined) return
  await applyIntent(redis, account, { people: namesOfWriter({ from, parts }), intent, source: 'word', atMs })
}

/**
 * Applies what the person has chosen within WhatsApp. A resume ends what WhatsApp said before, not what the person wrote or
 * the account wrote down.
 */
export async function applyPreference(
  redis: Redis,
  account: number,
  { people, intent, atMs }: { people: readonly string[]; intent: 'stop' | 'resume'; atMs: number | undefined },
): Promise<void> {
  await applyIntent(redis, account, { people, intent: intent === 'stop' ? intent : 'start', source: 'provider', atMs })
}

/** A stop holds once this has resolved: the webhook that brought it is answered after that. */
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
    await optOutsHold()
  }
}

/** Writes down that the person has stopped advertising within WhatsApp, if that is why a message to them failed. */
export async function applyProviderOptOut(
  redis: Redis,
  account: number,
  person: string,
  { code }: Pick<Problem, 'code'>,
  atMs?: number,
): Promise<void> {
  if (code !== OPTED_OUT_THERE || person === '') return
  // The outcome of the message, which is written next, waits by itself for replicas.
  await addOptOuts(redis, account, [person], { source: 'provider', atMs, replicated: false })
}
