// Puts recipients of a campaign on its lane. Feeding somebody again is harmless: whoever has a record is passed over,
// and who has a job keeps it, because the id of a recipient's message is always the same.
import type { SendPayload } from '../../jobs/send.ts'
import type { CampaignId } from '../../messages/campaign-id.ts'
import { campaignMessageUlid } from '../../messages/campaign-message-id.ts'
import type { CompiledComponents } from '../../messages/campaign-parameters.ts'
import { messageId } from '../../messages/message-id.ts'
import type { Recipient } from '../../store/campaign-snapshot.ts'
import { idOf } from '../../store/campaigns.ts'
import type { LaneQueues } from '../../store/lane-queues.ts'
import { readStates } from '../../store/message-states.ts'
import type { Redis } from '../../store/redis.ts'

/** All that the messages of one campaign have in common. */
export interface Mould {
  id: CampaignId
  startedAtMs: number
  name: string
  language: string
  compiled: CompiledComponents
  /** Epoch ms after which they are not sent. */
  until: number
  /** They may be second messages to their recipients, by somebody's wish. */
  again: boolean
}

/** The message of the recipient at place `index`. */
export function messageOf(mould: Mould, recipient: Recipient, index: number): { ulid: string; payload: SendPayload } {
  const { id, name, language, compiled } = mould
  const components = compiled.fill(recipient.values)
  const content = { type: 'template' as const, template: { name, language: { code: language }, components } }
  return {
    ulid: campaignMessageUlid(idOf(id), mould.startedAtMs, index, recipient.to),
    payload: {
      v: 1,
      to: recipient.to,
      class: 'campaign',
      content,
      filled: recipient.values,
      until: mould.until,
      run: id.number,
      ...(mould.again && { again: true as const }),
    },
  }
}

/** Feeds the recipients that stand at `index` and after it; returns how many had no message yet. */
export async function feed(
  deps: { redis: Redis; queues: LaneQueues },
  mould: Mould,
  recipients: readonly Recipient[],
  index: number,
): Promise<number> {
  const messages = recipients.map((recipient, i) => messageOf(mould, recipient, index + i))
  const { lane } = mould.id
  const states = await readStates(
    deps.redis,
    lane,
    messages.map(({ ulid }) => ulid),
  )
  const missing = messages.filter((_message, i) => states[i] === undefined)
  if (missing.length > 0) {
    await deps.queues.addMany(missing.map(({ ulid, payload }) => ({ id: messageId(lane, ulid), payload })))
  }
  return missing.length
}
