// Claiming messages and taking steps. The steps themselves are Lua, so that each is one atomic move; src/messages/lifecycle.ts
// has the table of moves, record-format.ts what a record holds.
import { z } from 'zod'
import { observerOf } from '../../observe.ts'
import { laneJobKey } from '../../redis/bullmq-layout.ts'
import type { Redis } from '../../redis/connect.ts'
import {
  campaignPrefix,
  inDoubtKey,
  laneCooldownKey,
  laneSlotsKey,
  messageKey,
  messageWaitKey,
  pollKey,
  queuedAgainKey,
  recipientCooldownKey,
  requeueableKey,
} from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { readHistory } from '../history.ts'
import { type Evidence, LETTERS, type MoveKind, type Repeat, type State, type Verdict } from '../lifecycle.ts'
import { acceptedAtMs, type MessageId, messageId } from '../message-id.ts'
import { type Problem, workerLost } from '../outcome.ts'
import type { Pace } from '../pace.ts'
import { defineMessageScript } from './message-script.ts'
import {
  countedClassSchema,
  type NewMessage,
  newRecordFields,
  stateSchema,
  storable,
  storedProblem,
} from './record-format.ts'

const claimScript = defineMessageScript(import.meta.url, 'message-claim')
const slotScript = defineScript(import.meta.url, 'message-slot')
const stepScript = defineMessageScript(import.meta.url, 'message-step')

const claimReply = z.union([
  z.tuple([z.enum(['done', 'ignored', 'held', 'stopped', 'gone']), stateSchema, z.string()]),
  z.tuple([z.literal('done'), stateSchema, z.string(), z.string(), z.coerce.number()]),
  z.tuple([z.enum(['lane_cooldown', 'recipient_cooldown', 'message_waits', 'too_early']), stateSchema, z.number()]),
])
const slotReply = z.tuple([z.string(), z.coerce.number()])
const stepReply = z.union([
  z.tuple([z.literal('missing')]),
  z.tuple([z.enum(['done', 'ignored', 'held']), stateSchema]),
  z.tuple([z.literal('done'), stateSchema, stateSchema, countedClassSchema, z.string()], z.number()),
])

/** What a step came to. `missing`: there is no such record. `waitMs`: of a message whose recipient is in a cooldown from now on. */
export type StepResult = { verdict: Verdict; state: State; waitMs?: number | undefined } | { verdict: 'missing' }

/** When a request may leave, on Redis' clock. */
export interface Slot {
  /** As Redis wrote it down; reserving another one names it. */
  name: string
  atMs: number
  /** When it was given out. */
  nowMs: number
}

/**
 * What a claim came to. `stopped`: its campaign does not run. `gone`: its campaign knows that it was claimed before, and
 * its record is gone; `conclude` ends it. The lane or the recipient may be in a cooldown, the message may have been put off, or its
 * slot be too far ahead, for `waitMs`. With a pace, whoever may send waits for the slot.
 */
export type ClaimResult =
  | { verdict: Verdict | 'stopped' | 'gone'; state: State; slot?: Slot }
  | { verdict: 'lane_cooldown' | 'recipient_cooldown' | 'message_waits' | 'too_early'; state: State; waitMs: number }

/**
 * Claims the message for one attempt. Send only when the verdict is `done` and the state is `sending`. Rejects when
 * Redis is away or full: then nothing may be sent. `lostAfterMs` is when the sweep takes the attempt for lost; when
 * another attempt holds the message, evidence of that one is waited for `evidenceWaitMs`, and as long as its request may
 * be under way, before the policy decides. With a `pace` the request must leave in the slot that comes back, and not
 * before.
 */
export async function claim(
  redis: Redis,
  id: MessageId,
  attempt: string,
  message: NewMessage,
  times: { lostAfterMs: number; evidenceWaitMs: number; retentionMs: number },
  pace?: Pace,
): Promise<ClaimResult> {
  const { lane } = id
  const reply = await claimScript(redis, claimKeys(id, message.to), {
    ulid: id.ulid,
    attempt,
    acceptedAt: acceptedAtMs(id.ulid),
    validUntil: message.validUntil,
    lostAfterMs: times.lostAfterMs,
    retentionMs: times.retentionMs,
    run: message.run,
    campaigns: campaignPrefix(lane),
    evidenceWaitMs: times.evidenceWaitMs,
    workerLost: storedProblem(workerLost),
    pace: pace && { ...numbersOf(pace), aheadUs: pace.aheadUs[message.class] },
    newFields: newRecordFields(message),
  })
  const [verdict, state, last, slot, nowUs] = claimReply.parse(reply)
  // A claim also ends what must not leave. That a message is being sent now, its end will tell.
  if ((verdict === 'done' && state === 'expired') || (verdict === 'stopped' && state === 'cancelled')) {
    observerOf(redis).changed({ lane, class: message.class, from: 'queued', to: state })
  } else if (verdict === 'held') {
    observerOf(redis).changed({ lane, class: message.class, from: 'sending', to: state })
  }
  switch (verdict) {
    case 'lane_cooldown':
    case 'recipient_cooldown':
    case 'message_waits':
    case 'too_early':
      return { verdict, state, waitMs: Number(last) }
    default:
      return slot === undefined || nowUs === undefined
        ? { verdict, state }
        : { verdict, state, slot: slotOf(slot, nowUs) }
  }
}

const claimKeys = (id: MessageId, to: string) => ({
  record: messageKey(id.lane, id.ulid),
  inDoubt: inDoubtKey(id.lane),
  requeueable: requeueableKey(id.lane),
  job: jobKey(id),
  laneCooldown: laneCooldownKey(id.lane),
  recipientCooldown: recipientCooldownKey(id.lane, to),
  slots: laneSlotsKey(id.lane),
  wait: messageWaitKey(id.lane, id.ulid),
  queuedAgain: queuedAgainKey(id.lane),
})

/** The message is not claimed for so long, whatever the clocks of the workers say. */
export async function putOff(redis: Redis, id: MessageId, ms: number): Promise<void> {
  await redis.set(messageWaitKey(id.lane, id.ulid), '', 'PX', Math.max(1, Math.ceil(ms)))
}

/**
 * Another slot for a request that has missed its own by more than its pace allows; undefined when there is none within
 * `mostAheadMs`.
 */
export async function reserveSlot(
  redis: Redis,
  lane: number,
  missed: Slot,
  how: { pace: Pace; mostAheadMs: number },
): Promise<Slot | undefined> {
  const args = { missed: missed.name, mostAheadUs: how.mostAheadMs * 1_000, pace: numbersOf(how.pace) }
  const [name, nowUs] = slotReply.parse(await slotScript(redis, { slots: laneSlotsKey(lane) }, args))
  return name === '' ? undefined : slotOf(name, nowUs)
}

/** As message-pace.lua takes it. */
const numbersOf = ({ gapUs, closestUs, window }: Pace) => ({ gapUs, closestUs, window })

const slotOf = (name: string, nowUs: number): Slot => ({ name, atMs: Number(name) / 1_000, nowMs: nowUs / 1_000 })

/** Who takes no message for a while, from the very step that proves the attempt unsent. */
export type Cooldown = { of: 'lane'; ms: number } | { of: 'recipient'; to: string; leastMs: number }

/** The attempt is proven unsent: queued again, or failed when its tries are used up. */
export const markNotSent = (
  redis: Redis,
  id: MessageId,
  attempt: string,
  how: { counts: boolean; maxTries: number; problem: Problem; cooldown?: Cooldown },
): Promise<StepResult> => {
  const { counts, maxTries, problem, cooldown } = how
  const coolDown = cooldown && { of: cooldown.of, ms: cooldown.of === 'lane' ? cooldown.ms : cooldown.leastMs }
  return takeStep(redis, id, { kind: 'not_sent', attempt, counts, maxTries, problem, coolDown }, cooldown)
}

/** The attempt brought no trustworthy answer: unconfirmed, and `waitMs` from now its policy decides. */
export const markUnconfirmed = (
  redis: Redis,
  id: MessageId,
  attempt: string,
  how: { problem: Problem; waitMs: number },
): Promise<StepResult> =>
  takeStep(redis, id, { kind: 'unconfirmed', attempt, problem: how.problem, evidenceMs: how.waitMs })

/** Proof of what became of an attempt, from whatever source, in any order, any number of times. */
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
  } = {},
): Promise<StepResult> => {
  const { atMs: happenedAt, providerId: sentAs, problem, firstPollMs } = more
  const step = { kind: 'status', attempt, status: LETTERS[status], happenedAt, sentAs, problem, firstPollMs } as const
  return takeStep(redis, id, step)
}

/** The wait for evidence is over: queued again or unknown, as `policy` says. */
export const resolveUnconfirmed = (
  redis: Redis,
  id: MessageId,
  policy: Repeat,
  maxTries: number,
): Promise<StepResult> => takeStep(redis, id, { kind: 'resolve', policy, maxTries })

/**
 * Ends a queued message that cannot be sent: `dead`, its job is a dead letter, which is looked at again in the same step;
 * `content`, what it says is no longer stored.
 */
export const giveUp = (redis: Redis, id: MessageId, why: 'dead' | 'content', problem: Problem): Promise<StepResult> =>
  takeStep(redis, id, { kind: 'give_up', ifDead: why === 'dead', problem })

/** The record lives for `retentionMs` from now on at least. */
export async function keepRecord(redis: Redis, { lane, ulid }: MessageId, retentionMs: number): Promise<void> {
  await redis.pexpire(messageKey(lane, ulid), retentionMs, 'GT')
}

/** See the head of message-step.lua. */
interface StepArguments {
  kind: MoveKind | 'status'
  attempt?: string
  problem?: Problem | undefined
  status?: string
  happenedAt?: number | undefined
  sentAs?: string | undefined
  firstPollMs?: number | undefined
  counts?: boolean
  coolDown?: { of: Cooldown['of']; ms: number } | undefined
  evidenceMs?: number
  policy?: Repeat
  maxTries?: number
  ifDead?: boolean
}

async function takeStep(redis: Redis, id: MessageId, step: StepArguments, cooldown?: Cooldown): Promise<StepResult> {
  const { problem } = step
  const reply = await stepScript(redis, stepKeys(id, cooldown), {
    ulid: id.ulid,
    kind: step.kind,
    attempt: step.attempt,
    acceptedAt: acceptedAtMs(id.ulid),
    campaigns: campaignPrefix(id.lane),
    // Only a status that is a failure has its code in the history.
    detail: problem && (step.status ?? LETTERS.failed) === LETTERS.failed ? storable(problem.code) : undefined,
    problem: problem && storedProblem(problem),
    status: step.status,
    happenedAt: step.happenedAt,
    sentAs: step.sentAs,
    firstPollMs: step.firstPollMs,
    counts: step.counts,
    coolDown: step.coolDown,
    evidenceMs: step.evidenceMs,
    policy: step.policy,
    maxTries: step.maxTries,
    ifDead: step.ifDead,
  })
  const [verdict, state, from, of, history, waitMs] = stepReply.parse(reply)
  if (verdict === 'missing' || state === undefined) return { verdict: 'missing' }
  if (from !== undefined && of !== undefined && from !== state) {
    const sentAt =
      state === 'delivered' || state === 'read' ? sentAtMs(history ?? '', acceptedAtMs(id.ulid)) : undefined
    const sinceSentMs = sentAt && (step.happenedAt ?? Date.now()) - sentAt
    observerOf(redis).changed({ lane: id.lane, class: of, from, to: state, code: problem?.code, sinceSentMs })
  }
  return { verdict, state, waitMs }
}

/** When its latest attempt was sent, as its history says. */
const sentAtMs = (history: string, acceptedAt: number): number | undefined =>
  readHistory(history, acceptedAt).findLast(({ code }) => code === 's')?.atMs

const stepKeys = ({ lane, ulid }: MessageId, cooldown: Cooldown | undefined) => ({
  record: messageKey(lane, ulid),
  inDoubt: inDoubtKey(lane),
  polls: pollKey(lane),
  requeueable: requeueableKey(lane),
  job: jobKey({ lane, ulid }),
  queuedAgain: queuedAgainKey(lane),
  cooldown: cooldown?.of === 'recipient' ? recipientCooldownKey(lane, cooldown.to) : laneCooldownKey(lane),
})

/** Where BullMQ keeps the job of a message. */
export const jobKey = (id: MessageId): string => laneJobKey(id.lane, messageId(id.lane, id.ulid))
