// Writes steps in the lives of messages. They are Lua, so that each is one atomic move; record-format.ts has what a record
// holds.
import { acceptedAtMs, type MessageId, messageId } from '../../kernel/message-id.ts'
import { LETTERS, type MoveKind, type Repeat } from '../../model/messages/lifecycle.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import type { Redis } from '../../redis/connect.ts'
import {
  campaignPrefix,
  inDoubtKey,
  messageKey,
  outboxKey,
  pollKey,
  queuedAgainKey,
  requeueableKey,
} from '../../redis/keys.ts'
import { answerOf, repliesOrUnreplicated } from '../../redis/replies.ts'
import { laneBacklogKeys, laneJobKey } from '../bullmq/layout.ts'
import { defineMessageScriptOfMany } from './message-script.ts'
import { providerIdField, storable, storedProblem } from './record-format.ts'

const stepScript = defineMessageScriptOfMany(import.meta.url, 'message-step')

/** See the head of message-step.lua. */
export interface StepArguments {
  kind: MoveKind | 'status'
  attempt?: string
  problem?: Problem | undefined
  status?: string
  happenedAt?: number | undefined
  sentAs?: string | undefined
  firstPollMs?: number | undefined
  counts?: boolean
  coolDown?: { key: string; of: 'lane' | 'recipient'; ms: number } | undefined
  evidenceMs?: number
  policy?: Repeat
  maxTries?: number
  ifDead?: boolean
  retryMs?: number | undefined
  content?: string | undefined
  cappedUntil?: number | undefined
  waves?: { most: number; keepMs: number } | undefined
  isHeldBack?: boolean | undefined
  pricing?: string | undefined
  word?: string | undefined
}

/** A step and the message that takes it. */
export interface OneStep {
  id: MessageId
  step: StepArguments
}

/** Writes steps of one lane; what Redis answered for each, `Unreplicated` where too few replicas have them. */
export async function writeSteps(redis: Redis, steps: readonly OneStep[]): Promise<readonly unknown[]> {
  const lane = steps[0]?.id.lane ?? 0
  const keys = {
    outbox: outboxKey(lane),
    inDoubt: inDoubtKey(lane),
    polls: pollKey(lane),
    requeueable: requeueableKey(lane),
    queuedAgain: queuedAgainKey(lane),
    ...laneBacklogKeys(lane),
  }
  const shared = {
    campaigns: campaignPrefix(lane),
    records: messageKey(lane, ''),
    jobs: laneJobKey(lane, ''),
    ids: messageId(lane, ''),
  }
  const each = steps.map(({ id, step }) => ({ args: stepArguments(id, step) }))
  return repliesOrUnreplicated(await answerOf(stepScript(redis, keys, shared, each, { replicated: true })))
}

function stepArguments(id: MessageId, step: StepArguments) {
  const { problem, sentAs, ...rest } = step
  const { ulid } = id
  // Only the status `failed` has a code in the history.
  const isFailure = (step.status ?? LETTERS.failed) === LETTERS.failed
  // `rest` last: to copy it before fields that it does not have takes V8 a hundred times as long.
  return {
    ulid,
    acceptedAt: acceptedAtMs(ulid),
    sentAs: sentAs === undefined ? undefined : providerIdField(sentAs),
    problem: problem && storedProblem(problem),
    detail: problem && isFailure ? storable(problem.code) : undefined,
    ...rest,
  }
}
