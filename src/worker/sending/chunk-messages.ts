// The messages of a chunk that are left to send: those of recipients that were not claimed, have no job of their own and
// were not erased. Messages that must not be sent are ended here.

import type { Chunk } from '../../jobs/chunk.ts'
import type { Config } from '../../kernel/config.ts'
import { messageId } from '../../kernel/message-id.ts'
import { archiveOf } from '../../lanes/archive/archive.ts'
import { jobStates } from '../../lanes/jobs.ts'
import { finalizeUnsent } from '../../lanes/messages/finalize-unsent.ts'
import { jobKey } from '../../lanes/messages/steps.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import type { Tombstones } from '../../people/tombstones.ts'
import type { OpenCampaign } from '../../recipients/open-campaigns.ts'
import { type MessageSpec, payloadOf, ulidOf } from '../../recipients/recipient-message.ts'
import { readRecipientStates } from '../../recipients/recipient-states.ts'
import { isErased, type Recipient } from '../../recipients/snapshot.ts'
import type { Redis } from '../../redis/connect.ts'
import { Candidate } from './candidate.ts'

interface Asked {
  redis: Redis
  config: Pick<Config, 'retentionMs'>
  tombstones: Tombstones
}

/**
 * Those of a chunk's messages that are to be sent, in the order of the list. Afterwards all messages of the chunk are in the
 * index of their lane. Rejects as the files and Redis do.
 */
export async function waitingOf(deps: Asked, campaign: OpenCampaign, { from, count }: Chunk): Promise<Candidate[]> {
  const { redis, config } = deps
  const { spec, total, snapshot } = campaign
  const recipients = await snapshot.readAll(from, Math.min(count, total - from))
  const messages = recipients.map((recipient, i) => messageOf(spec, recipient, from + i))
  if (messages.length === 0) return []
  // Before any of them is claimed. Dying here leaves ids whose messages still wait, which a list finds in the chunk.
  const indexed = messages.map(({ id, message: { to, validUntil: until, run } }) => ({ ulid: id.ulid, to, until, run }))
  const ulids = messages.map(({ id }) => id.ulid)
  // Read together: on a busy Redis each reply takes 10 ms, and a fast lane has nothing to send meanwhile.
  const [states, erased] = await Promise.all([
    recipientStates(redis, spec.id, from, ulids),
    erasedAmong(deps, campaign, messages),
    archiveOf(redis).put({ lane: spec.id.lane, messages: indexed, retentionMs: config.retentionMs }),
  ])
  const waiting: Candidate[] = []
  for (const [i, message] of messages.entries()) {
    const isErased = states[i] === 'waits' && erased.has(message)
    const end = isErased ? 'erased' : states[i] === 'dead' ? states[i] : undefined
    if (end !== undefined) await finalizeUnsent(redis, message.id, end, message.payload(), config.retentionMs)
    else if (states[i] === 'waits') waiting.push(message)
  }
  return waiting
}

/** `waits`: nobody has taken it up. `taken`: it has a state, or a job of its own. `dead`: its job is a dead letter. */
type RecipientState = 'waits' | 'taken' | 'dead'

/** The states of recipients from place `from` on, whose messages have these ULIDs, in their order. */
export async function recipientStates(
  redis: Redis,
  id: CampaignId,
  from: number,
  ulids: readonly string[],
): Promise<RecipientState[]> {
  const [known, jobs] = await Promise.all([
    readRecipientStates(redis, id, from, ulids.length),
    // Mostly none has a job of its own, which one EXISTS for all of them finds out.
    redis.exists(ulids.map((ulid) => jobKey({ lane: id.lane, ulid }))),
  ])
  const states = jobs === 0 ? [] : await jobStates(redis, id.lane, ulids)
  return ulids.map((_ulid, i) => {
    if (known[i] !== undefined) return 'taken'
    if (states[i] === 'dead_letter') return 'dead'
    return states[i] === 'waits' ? 'taken' : 'waits'
  })
}

/** Those whose people were erased since the campaign was made. Opt-outs are checked before the claim (take.ts). */
async function erasedAmong(
  { tombstones }: Asked,
  { account, createdAtMs }: OpenCampaign,
  messages: readonly Candidate[],
): Promise<ReadonlySet<Candidate>> {
  const people = messages.map(({ message }) => message.to)
  const erased = await tombstones.erasedOf(account, people, createdAtMs)
  return new Set(messages.filter(({ message }) => isErased(message) || erased.has(message.to)))
}

function messageOf(spec: MessageSpec, recipient: Recipient, place: number): Candidate {
  const { to, values } = recipient
  const { lane, number: run } = spec.id
  const ulid = ulidOf(spec, recipient, place)
  return new Candidate({
    id: { lane, ulid },
    name: messageId(lane, ulid),
    message: {
      to,
      type: spec.withPlaceholders.type,
      text: '',
      class: 'campaign',
      validUntil: spec.until,
      campaign: undefined,
      run,
      filled: values,
      again: spec.again,
    },
    content: spec.withPlaceholders,
    values,
    route: spec.route,
    from: 'place',
    // Built only for the few that need a job of their own.
    payload: () => payloadOf(spec, recipient),
  })
}
