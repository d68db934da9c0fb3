// Writes that the provider took messages: the usual end of an attempt, in a short step of its own (scripts/message-sent.lua).
import { acceptedAtMs, type MessageId, messageId } from '../../kernel/message-id.ts'
import { placeInId } from '../../model/campaigns/message-ids.ts'
import type { MessageClass } from '../../model/messages/content.ts'
import { LETTERS } from '../../model/messages/lifecycle.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignPrefix, inDoubtKey, messageKey, outboxKey, pollKey } from '../../redis/keys.ts'
import { observerOf } from '../../redis/observe.ts'
import { answerOf, isUnreplicated, repliesOrUnreplicated } from '../../redis/replies.ts'
import { laneBacklogKeys, laneJobKey } from '../bullmq/layout.ts'
import { defineMessageScriptOfMany } from './message-script.ts'
import { providerIdField } from './record-format.ts'
import { writeSteps } from './write-steps.ts'

const sentScript = defineMessageScriptOfMany(import.meta.url, 'message-sent')

/** A message that the provider took. */
export interface Sent {
  id: MessageId
  attempt: string
  providerId: string
  /** It waited as a job, which goes now. One that waited as a place of its campaign has none. */
  hasJob: boolean
  /** Until the first status poll, if the message is to be polled. */
  firstPollMs: number | undefined
  /** Number of its campaign. */
  run: number | undefined
  class: MessageClass
}

/**
 * Writes that these messages of one lane were sent. What Redis answered for each, `Unreplicated` where too few replicas have it:
 * `['sent']`, or, of one of which more is known than its claim, what `writeSteps` answers.
 */
export async function writeSent(redis: Redis, messages: readonly Sent[]): Promise<readonly unknown[]> {
  const lane = messages[0]?.id.lane ?? 0
  const { active } = laneBacklogKeys(lane)
  const keys = { outbox: outboxKey(lane), inDoubt: inDoubtKey(lane), polls: pollKey(lane), active }
  const shared = {
    campaigns: campaignPrefix(lane),
    records: messageKey(lane, ''),
    jobs: laneJobKey(lane, ''),
    ids: messageId(lane, ''),
  }
  const each = messages.map(({ id: { ulid }, attempt, providerId, hasJob, firstPollMs, run }) => {
    const place = run === undefined ? undefined : placeInId(ulid)
    const sentAs = providerIdField(providerId)
    return { args: { ulid, acceptedAt: acceptedAtMs(ulid), attempt, sentAs, hasJob, firstPollMs, run, place } }
  })
  const { reply, isReplicated } = await answerOf(sentScript(redis, keys, shared, each, { replicated: true }))
  const replies = repliesOrUnreplicated({ reply: spreadSent(reply, messages.length), isReplicated })
  for (const of of CLASSES) {
    const count = messages.reduce((sum, message, i) => (message.class === of && wasSent(replies[i]) ? sum + 1 : sum), 0)
    if (count > 0) observerOf(redis).changed({ lane, class: of, from: 'sending', to: 'sent', count })
  }
  const others = messages.filter((_message, i) => isOther(replies[i]))
  if (others.length === 0) return replies
  // What is written of the others stays written, and is counted.
  const taken = await writeSteps(redis, others.map(stepOf)).catch((error: unknown) => others.map(() => error))
  let next = 0
  return replies.map((reply) => (isOther(reply) ? taken[next++] : reply))
}

const CLASSES = ['transactional', 'campaign'] as const satisfies readonly MessageClass[]

/** The reply for each, where one says for all that they were sent. */
const spreadSent = (reply: unknown, count: number): unknown =>
  Array.isArray(reply) && reply[0] === 'sent' ? Array.from({ length: count }, () => reply) : reply

const replyOf = (result: unknown): readonly unknown[] => {
  const reply = isUnreplicated(result) ? result.reply : result
  return Array.isArray(reply) ? reply : []
}

const isOther = (result: unknown): boolean => replyOf(result)[0] === 'other'

/** Whether a message was sent and nothing else is known of it. */
export const wasSent = (result: unknown): boolean => replyOf(result)[0] === 'sent'

const stepOf = ({ id, attempt, providerId: sentAs, firstPollMs }: Sent) => ({
  id,
  step: { kind: 'status', attempt, status: LETTERS.sent, sentAs, firstPollMs } as const,
})
