// Queues messages again that ended failed, unknown, expired or cancelled: a step like those of steps.ts, fenced in Redis.
// Their jobs are added after it.
import { z } from 'zod'
import { acceptedAtMs, type MessageId } from '../../kernel/message-id.ts'
import type { State } from '../../model/messages/lifecycle.ts'
import type { Redis } from '../../redis/connect.ts'
import {
  campaignPrefix,
  laneClosedKey,
  messageKey,
  queuedAgainKey,
  requeueableKey,
  requeueProgressKey,
} from '../../redis/keys.ts'
import { repliesOf } from '../../redis/replies.ts'
import { defineMessageScriptOfMany } from './message-script.ts'
import { stateSchema } from './record-format.ts'

/** How soon the sweep checks whether a message has got its job. */
const JOB_WITHIN_MS = 10_000

const requeueScript = defineMessageScriptOfMany(import.meta.url, 'message-requeue')
const requeueReply = z.union([
  z.tuple([z.literal('missing')]),
  z.tuple([z.enum(['done', 'ignored', 'campaign_over', 'without_content', 'sender_removed']), stateSchema]),
])
/** What a step came to. */
export type StepVerdict = z.output<typeof requeueReply>[0]
type StepReply = [verdict: StepVerdict, state: State | undefined]

/** The arguments of a step for a message. `content` is written where the record has none. */
export interface RequeueStep {
  ulid: string
  until: number
  content?: string | undefined
}

/** Most messages of one step: Redis serves nobody else for some 3 ms. */
const STEP = 100

/** The steps of messages of one lane, in their order, so many in one that each costs little; an Error for one that failed. */
export async function requeueSteps(
  redis: Redis,
  lane: number,
  messages: readonly RequeueStep[],
  how: { retentionMs: number; job?: { id: string; untilMs: number } | undefined },
): Promise<(StepReply | Error)[]> {
  const { retentionMs, job } = how
  const steps: Promise<readonly unknown[]>[] = []
  for (let from = 0; from < messages.length; from += STEP) {
    const replies = requeueScript(
      redis,
      {
        queuedAgain: queuedAgainKey(lane),
        requeueable: requeueableKey(lane),
        progress: requeueProgressKey(lane, job?.id ?? '-'),
        closed: laneClosedKey(lane),
      },
      {
        ...{ retentionMs, campaigns: campaignPrefix(lane), endedBy: job?.untilMs },
        ...{ forJob: job !== undefined, jobWithinMs: JOB_WITHIN_MS },
      },
      messages.slice(from, from + STEP).map(({ ulid, until, content }) => ({
        keys: { record: messageKey(lane, ulid) },
        args: { ulid, acceptedAt: acceptedAtMs(ulid), validUntil: until, content },
      })),
    )
    steps.push(replies.then(repliesOf))
  }
  return (await Promise.all(steps)).flat().map((reply): StepReply | Error => {
    if (reply instanceof Error) return reply
    const [verdict, state] = requeueReply.parse(reply)
    return [verdict, state]
  })
}

/** The step alone, of one message. `content` is written where the record has none. */
export async function requeueStep(
  redis: Redis,
  { lane, ulid }: MessageId,
  how: { until: number; retentionMs: number; content?: string; job?: { id: string; untilMs: number } },
): Promise<StepReply> {
  const { until, content } = how
  const [reply = new Error('no reply')] = await requeueSteps(redis, lane, [{ ulid, until, content }], how)
  if (reply instanceof Error) throw reply
  return reply
}
