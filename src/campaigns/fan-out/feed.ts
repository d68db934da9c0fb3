// Puts recipients of a campaign on its lane. Feeding somebody again is harmless: whoever has a mark is passed over, and
// who has a job keeps it, because the id of a recipient's message is always the same. A job that was dead-lettered would
// be kept as well and never run: its message ends as failed.
import type { SendPayload } from '../../jobs/send.ts'
import { deadJobs, type LaneMessage, type LaneQueues } from '../../lanes/queues.ts'
import { messageId } from '../../messages/message-id.ts'
import { conclude } from '../../messages/store/conclude.ts'
import { observerOf } from '../../observe.ts'
import type { Redis } from '../../redis/connect.ts'
import type { CampaignId } from '../campaign-id.ts'
import { campaignMessageUlid } from '../message-ids.ts'
import type { CompiledComponents } from '../parameters.ts'
import { idOf } from '../store/campaigns.ts'
import { readMarks } from '../store/marks.ts'
import type { Recipient } from '../store/snapshot.ts'

/** All that the messages of one campaign have in common. */
export interface MessageSpec {
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
export function buildMessage(
  spec: MessageSpec,
  recipient: Recipient,
  index: number,
): { ulid: string; payload: SendPayload } {
  const { id, name, language, compiled } = spec
  const components = compiled.fill(recipient.values)
  const content = { type: 'template' as const, template: { name, language: { code: language }, components } }
  return {
    ulid: campaignMessageUlid(idOf(id), spec.startedAtMs, index, recipient.to),
    payload: {
      v: 1,
      to: recipient.to,
      class: 'campaign',
      content,
      filled: recipient.values,
      until: spec.until,
      run: id.number,
      ...(spec.again && { again: true as const }),
    },
  }
}

/** Feeds the recipients that stand at `index` and after it; returns how many were put on the lane. */
export async function feed(
  deps: { redis: Redis; queues: LaneQueues; config: { retentionMs: number } },
  spec: MessageSpec,
  recipients: readonly Recipient[],
  index: number,
): Promise<number> {
  const { redis, queues, config } = deps
  const { lane } = spec.id
  const marks = await readMarks(redis, spec.id, index, recipients.length)
  const unclaimed = recipients.flatMap((recipient, i) =>
    marks[i] === undefined ? [buildMessage(spec, recipient, index + i)] : [],
  )
  const dead = await deadJobs(
    redis,
    lane,
    unclaimed.map(({ ulid }) => messageId(lane, ulid)),
  )
  const fed: LaneMessage[] = []
  for (const [i, { ulid, payload }] of unclaimed.entries()) {
    if (dead[i]) await conclude(redis, { lane, ulid }, 'dead', payload, config.retentionMs)
    else fed.push({ id: messageId(lane, ulid), payload })
  }
  if (fed.length > 0) await queues.addMany(fed)
  observerOf(redis).accepted({ lane, class: 'campaign', count: fed.length })
  return fed.length
}
