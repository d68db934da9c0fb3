// Steps in the life of a message besides its claim. src/model/messages/lifecycle.ts has the table of moves. Steps of one turn
// of the event loop are written together (write-steps.ts).
import { z } from 'zod'
import { acceptedAtMs, type MessageId, messageId } from '../../kernel/message-id.ts'
import { nameOfPerson } from '../../kernel/sealed.ts'
import { datedPricing } from '../../model/messages/dated-pricing.ts'
import { HISTORY, readHistory } from '../../model/messages/history.ts'
import { type Evidence, LETTERS, type Repeat, type State, type Verdict } from '../../model/messages/lifecycle.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import { createBatcher } from '../../redis/batcher.ts'
import type { Redis } from '../../redis/connect.ts'
import { laneCooldownKey, messageKey, recipientCooldownKey } from '../../redis/keys.ts'
import { observerOf } from '../../redis/observe.ts'
import { NotReplicatedError } from '../../redis/replication.ts'
import { isUnreplicated } from '../../redis/replies.ts'
import { laneJobKey } from '../bullmq/layout.ts'
import { countedClassSchema, stateSchema } from './record-format.ts'
import { type Sent, wasSent, writeSent } from './write-sent.ts'
import { type StepArguments, writeSteps } from './write-steps.ts'

const stepReply = z.union([
  z.tuple([z.literal('missing')]),
  z.tuple([z.enum(['done', 'ignored', 'in_doubt']), stateSchema]),
  z.tuple([z.enum(['done', 'ignored']), stateSchema, stateSchema, countedClassSchema, z.string()], z.number()),
])

/**
 * The result of a step. `missing`: there is no such record. `waitMs`: the delay of a message that is queued again, by its recipient's
 * cooldown or until its next wave. `wasHeld`: WhatsApp held it back until this step.
 */
export type StepResult =
  | { verdict: Verdict; state: State; waitMs?: number | undefined; wasHeld?: boolean }
  | { verdict: 'missing' }

/** The lane or recipient that gets no message for a while, from the step on that proves the attempt unsent. */
export type Cooldown = { of: 'lane'; ms: number } | { of: 'recipient'; person: string; leastMs: number }

/**
 * The attempt is proven unsent: queued again, or failed when its tries are used up. Its job, if it has one, goes back
 * to the front of the line, or waits for `retryMs`. `content` is the JSON of what a job of the message holds: kept with
 * the record if it may be sent again and has no job that keeps it.
 */
export const setNotSent = (
  redis: Redis,
  id: MessageId,
  attempt: string,
  how: {
    counts: boolean
    maxTries: number
    problem: Problem
    cooldown?: Cooldown
    retryMs?: number
    content?: string | undefined
  },
): Promise<StepResult> => {
  const { cooldown, ...step } = how
  return takeStep(redis, id, { kind: 'not_sent', attempt, ...step, coolDown: cooldown && coolDownOf(id, cooldown) })
}

const coolDownOf = ({ lane }: MessageId, cooldown: Cooldown) =>
  cooldown.of === 'lane'
    ? { key: laneCooldownKey(lane), of: cooldown.of, ms: cooldown.ms }
    : { key: recipientCooldownKey(lane, nameOfPerson(cooldown.person)), of: cooldown.of, ms: cooldown.leastMs }

/** The attempt got no trustworthy answer: unconfirmed, and `evidenceMs` from now its policy decides. */
export const setUnconfirmed = (
  redis: Redis,
  id: MessageId,
  attempt: string,
  how: { problem: Problem; evidenceMs: number; content?: string | undefined },
): Promise<StepResult> => {
  const { problem, evidenceMs, content } = how
  return takeStep(redis, id, { kind: 'unconfirmed', attempt, problem, evidenceMs, content })
}

/** Evidence about an attempt, from any source, in any order, any number of times. */
export const recordStatus = (
  redis: Redis,
  id: MessageId,
  attempt: string,
  status: Evidence,
  more: {
    providerId?: string | undefined
    problem?: Problem | undefined
    /** When it happened (epoch ms), now if it is not given. */
    atMs?: number | undefined
    /** Until the first status poll, if the message is to be polled. */
    firstPollMs?: number | undefined
    /** As in `setNotSent`. */
    content?: string | undefined
    /** Of one that failed: until when its recipient has had enough marketing (epoch ms). */
    cappedUntil?: number | undefined
    /** Of one that failed so: how often it goes out once more by itself, and how long its record lives then. */
    waves?: { most: number; keepMs: number } | undefined
    /** Of one that was sent, by the answer to the attempt: WhatsApp holds it back from now on. */
    isHeldBack?: boolean | undefined
    /** Its pricing, packed by `packPricing`. */
    pricing?: string | undefined
    /** Of one that was sent, by the answer to the attempt: WhatsApp's word for its state, where it is unknown to us. */
    word?: string | undefined
    /** Of one that failed: the lane or recipient that gets nothing for a while. */
    cooldown?: Cooldown | undefined
  } = {},
): Promise<StepResult> => {
  const { atMs: happenedAt, providerId: sentAs, cooldown, pricing: packed, ...rest } = more
  const coolDown = cooldown && coolDownOf(id, cooldown)
  const pricing =
    packed && datedPricing(packed, { status, atMs: happenedAt ?? Date.now(), acceptedAtMs: acceptedAtMs(id.ulid) })
  const step = {
    kind: 'status',
    attempt,
    status: LETTERS[status],
    happenedAt,
    sentAs,
    coolDown,
    pricing,
    ...rest,
  } as const
  return takeStep(redis, id, step)
}

/**
 * The provider took the attempt. It is written with others of its lane, up to twice SETTLE_MS later. After a rejection it is to be
 * recorded by `recordStatus`, which harms nothing when it was written all the same.
 */
export async function recordSent(redis: Redis, sent: Sent): Promise<void> {
  const taken = await sentLater(redis, sent.id.lane, sent)
  if (!wasSent(taken)) return void resultOf(redis, sent.id, SENT, taken)
  if (isUnreplicated(taken)) throw new NotReplicatedError(taken.reply)
}

/** The wait for evidence of the attempt is over: queued again or unknown, by `policy`. */
export const resolveUnconfirmed = (
  redis: Redis,
  id: MessageId,
  attempt: string,
  policy: Repeat,
  maxTries: number,
): Promise<StepResult> => takeStep(redis, id, { kind: 'resolve', attempt, policy, maxTries })

/**
 * Ends a queued message that cannot be sent: `dead`, its job is a dead letter, which the same step checks again; `content`, its content
 * is no longer stored.
 */
export const giveUp = (redis: Redis, id: MessageId, why: 'dead' | 'content', problem: Problem): Promise<StepResult> =>
  takeStep(redis, id, { kind: 'give_up', ifDead: why === 'dead', problem })

/** The record lives for `retentionMs` from now on at least. */
export async function keepRecord(redis: Redis, { lane, ulid }: MessageId, retentionMs: number): Promise<void> {
  await redis.pexpire(messageKey(lane, ulid), retentionMs, 'GT')
}

const takeStep = (redis: Redis, id: MessageId, step: StepArguments): Promise<StepResult> =>
  stepsNow(redis, id.lane, { id, step }).then((taken) => resultOf(redis, id, step, taken))

/** What Redis answered for one. Throws where too few replicas have it. */
function resultOf(redis: Redis, id: MessageId, step: StepArguments, taken: unknown): StepResult {
  const reply = isUnreplicated(taken) ? taken.reply : taken
  const [verdict, state, from, of, history, waitMs, held] = stepReply.parse(reply)
  if (verdict === 'missing' || state === undefined) return { verdict: 'missing' }
  if (from !== undefined && of !== undefined && from !== state) {
    const sentAt =
      state === 'delivered' || state === 'read' ? sentAtMs(history ?? '', acceptedAtMs(id.ulid)) : undefined
    const nowMs = Date.now()
    const sinceSentMs = sentAt && Math.min(step.happenedAt ?? nowMs, nowMs) - sentAt
    observerOf(redis).changed({ lane: id.lane, class: of, from, to: state, code: step.problem?.code, sinceSentMs })
  }
  // It is written, but may be lost with its primary: whoever reported it must report again.
  if (isUnreplicated(taken)) throw new NotReplicatedError(reply)
  return { verdict, state, waitMs: waitMs || undefined, ...(held === 1 && { wasHeld: true }) }
}

/** When its latest attempt was sent, by its history. */
const sentAtMs = (history: string, acceptedAt: number): number | undefined =>
  readHistory(history, acceptedAt).findLast(({ code }) => code === HISTORY.sent)?.atMs

/**
 * How often sent messages are settled; half as often with hundreds of lanes (batcher.ts). Until then their records say `sending`, as
 * if the process had died before settling them.
 */
const SETTLE_MS = 200

const stepsNow = createBatcher(writeSteps)
const sentLater = createBatcher(writeSent, SETTLE_MS)
const SENT: StepArguments = { kind: 'status', status: LETTERS.sent }

/** BullMQ's keys of the job of a message. */
export const jobKey = (id: MessageId): string => laneJobKey(id.lane, messageId(id.lane, id.ulid))
