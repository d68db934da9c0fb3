// Ends one waiting message, whatever it waits for: its turn, the end of a pause, or a cooldown of its recipient. It is cancelled, or
// it has expired and no claim has recorded that yet.
import { z } from 'zod'
import { acceptedAtMs, type MessageId, messageId } from '../kernel/message-id.ts'
import type { State } from '../model/messages/lifecycle.ts'
import type { Problem } from '../model/messages/outcome.ts'
import type { Redis } from '../redis/connect.ts'
import { campaignPrefix, inDoubtKey, messageKey, outboxKey, queuedAgainKey, requeueableKey } from '../redis/keys.ts'
import { observerOf } from '../redis/observe.ts'
import { readRecord } from '../redis/records.ts'
import { laneBacklogKeys } from './bullmq/layout.ts'
import { payloadText, readJob } from './jobs.ts'
import { defineMessageScript } from './messages/message-script.ts'
import { newMessageOf } from './messages/new-message.ts'
import { newRecordFields, stateSchema, storedProblem } from './messages/record-format.ts'
import { jobKey } from './messages/steps.ts'
import type { LaneQueues } from './queues.ts'

const cancelScript = defineMessageScript(import.meta.url, 'message-cancel')
const cancelReply = z.union([z.tuple([z.literal('missing')]), z.tuple([z.enum(['done', 'ignored']), stateSchema])])

/** The result; if it is `ignored`, `state` is the reason. */
export type CancelResult = { verdict: 'done' | 'ignored'; state: State } | { verdict: 'missing' }

/**
 * Cancels the message unless it was claimed, has ended or is past its validity. Every claim checks the record in which the step
 * writes `cancelled`, so that no cancelled message leaves.
 *
 * If the process dies before the job is removed, a worker takes the job, its claim is refused, and the job ends.
 */
export async function cancelMessage(
  deps: { redis: Redis; queues: LaneQueues },
  id: MessageId,
  retentionMs: number,
  problem?: Problem,
): Promise<CancelResult> {
  const { redis, queues } = deps
  const result = await cancelStep(redis, id, retentionMs, problem)
  if (result.verdict === 'done') {
    // Locked by a worker whose claim will be refused, or gone already.
    await queues.removeJob(id).catch(() => {})
  }
  return result
}

/**
 * Records that a waiting message has expired, as the next claim would; `ignored` unless its validity is over. On a paused lane no claim
 * comes. If the process dies before the job is removed, a worker finds the message expired, and the job ends.
 */
export async function expireMessage(
  { redis, queues }: { redis: Redis; queues: LaneQueues },
  id: MessageId,
  retentionMs: number,
): Promise<CancelResult> {
  const result = await endStep(redis, id, retentionMs, { why: '', expires: true })
  if (result.verdict === 'done') await queues.removeJob(id).catch(() => {})
  return result
}

/** The step alone, without removing the job. `problem`: why, unless a person cancels it. */
export const cancelStep = (
  redis: Redis,
  id: MessageId,
  retentionMs: number,
  problem?: Problem,
): Promise<CancelResult> => endStep(redis, id, retentionMs, { why: problem?.code ?? 'by hand', problem })

async function endStep(
  redis: Redis,
  id: MessageId,
  retentionMs: number,
  { why, problem, expires }: { why: string; problem?: Problem | undefined; expires?: true },
): Promise<CancelResult> {
  const { lane, ulid } = id
  const name = messageId(lane, ulid)
  const { text } = await readJob(redis, lane, name)
  const payload = text === null ? undefined : readRecord(payloadText, `job ${name}`, text)
  const [verdict, state] = cancelReply.parse(
    await cancelScript(
      redis,
      {
        outbox: outboxKey(lane),
        record: messageKey(lane, ulid),
        inDoubt: inDoubtKey(lane),
        requeueable: requeueableKey(lane),
        job: jobKey(id),
        queuedAgain: queuedAgainKey(lane),
        active: laneBacklogKeys(lane).active,
      },
      {
        ...{ ulid, id: name, acceptedAt: acceptedAtMs(ulid), retentionMs, campaigns: campaignPrefix(lane) },
        jobsRun: payload?.run,
        validUntil: payload?.until,
        newFields: payload === undefined ? [] : newRecordFields(newMessageOf(payload)),
        ...{ why, problem: problem && storedProblem(problem), expires },
      },
    ),
  )
  if (verdict === 'missing' || state === undefined) return { verdict: 'missing' }
  if (verdict === 'done') {
    observerOf(redis).changed({
      lane,
      class: payload?.class ?? 'transactional',
      from: 'queued',
      to: state,
      code: problem?.code,
    })
  }
  return { verdict, state }
}
