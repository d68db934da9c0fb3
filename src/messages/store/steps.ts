// Claiming messages and taking steps. The steps themselves are Lua, so that each is one atomic move; src/messages/lifecycle.ts
// has the table of moves, record-format.ts what a record holds.
import { z } from 'zod'
import { laneJobKey } from '../../redis/bullmq-layout.ts'
import type { Redis } from '../../redis/connect.ts'
import { replyError } from '../../redis/errors.ts'
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
import { type Evidence, LETTERS, type MoveKind, type Repeat, type State, type Verdict } from '../lifecycle.ts'
import { acceptedAtMs, type MessageId, messageId } from '../message-id.ts'
import { type Problem, workerLost } from '../outcome.ts'
import type { Pace } from '../pace.ts'
import { gathered } from './gather.ts'
import { defineMessageScriptOfMany } from './message-script.ts'
import { type NewMessage, newRecordFields, stateSchema, storable, storedProblem } from './record-format.ts'

const claimScript = defineMessageScriptOfMany(import.meta.url, 'message-claim')
const slotScript = defineScript(import.meta.url, 'message-slot')
const stepScript = defineMessageScriptOfMany(import.meta.url, 'message-step')

const claimReply = z.union([
  z.tuple([z.enum(['done', 'ignored', 'held', 'stopped', 'gone']), stateSchema, z.string()]),
  z.tuple([z.literal('done'), stateSchema, z.string(), z.string(), z.coerce.number()]),
  z.tuple([z.enum(['lane_cooldown', 'recipient_cooldown', 'message_waits', 'too_early']), stateSchema, z.number()]),
])
const slotReply = z.tuple([z.string(), z.coerce.number()])
const stepReply = z.union([
  z.tuple([z.literal('missing')]),
  z.tuple([z.enum(['done', 'ignored', 'held']), stateSchema]),
  z.tuple([z.literal('done'), stateSchema, z.number()]),
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
  const { lostAfterMs, evidenceWaitMs, retentionMs } = times
  const { gapUs, closestUs, window } = pace ?? {}
  const group = [id.lane, lostAfterMs, evidenceWaitMs, retentionMs, gapUs, closestUs, window].join(' ')
  const reply = await claimTogether(redis, group, { id, attempt, message, times, pace })
  const [verdict, state, last, slot, nowUs] = claimReply.parse(reply)
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

interface Claim {
  id: MessageId
  attempt: string
  message: NewMessage
  times: { lostAfterMs: number; evidenceWaitMs: number; retentionMs: number }
  pace: Pace | undefined
}

/** Claims of one lane; what they are given for all of them is the same for each. */
const claimTogether = gathered<Claim>(async (redis, claims) => {
  const [first] = claims
  if (first === undefined) return []
  const { times, pace } = first
  const { lane } = first.id
  const replies = await claimScript(
    redis,
    {
      inDoubt: inDoubtKey(lane),
      requeueable: requeueableKey(lane),
      laneCooldown: laneCooldownKey(lane),
      slots: laneSlotsKey(lane),
      queuedAgain: queuedAgainKey(lane),
    },
    {
      ...times,
      campaigns: campaignPrefix(lane),
      workerLost: storedProblem(workerLost),
      pace: pace && numbersOf(pace),
    },
    claims.map(({ id, attempt, message }) => ({
      keys: {
        record: messageKey(lane, id.ulid),
        job: jobKey(id),
        recipientCooldown: recipientCooldownKey(lane, message.to),
        wait: messageWaitKey(lane, id.ulid),
      },
      args: {
        ulid: id.ulid,
        attempt,
        acceptedAt: acceptedAtMs(id.ulid),
        validUntil: message.validUntil,
        aheadUs: pace?.aheadUs[message.class] ?? 0,
        newFields: newRecordFields(message),
        run: message.run,
      },
    })),
  )
  return repliesOf(replies)
})

const someReplies = z.array(z.array(z.union([z.string(), z.number(), z.null()])))

/** What a script of many came to for each of them; an Error for one that failed. */
const repliesOf = (replies: unknown): readonly unknown[] =>
  someReplies.parse(replies).map((reply) => (reply[0] === 'error' ? replyError(String(reply[1])) : reply))

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
  const reply = await stepTogether(redis, String(id.lane), { id, step, cooldown })
  const [verdict, state, waitMs] = stepReply.parse(reply)
  return verdict === 'missing' || state === undefined ? { verdict: 'missing' } : { verdict, state, waitMs }
}

/** Steps of one lane. */
const stepTogether = gathered<{ id: MessageId; step: StepArguments; cooldown: Cooldown | undefined }>(
  async (redis, steps) => {
    const lane = steps[0]?.id.lane ?? 0
    const keys = {
      inDoubt: inDoubtKey(lane),
      polls: pollKey(lane),
      requeueable: requeueableKey(lane),
      queuedAgain: queuedAgainKey(lane),
    }
    const each = steps.map(({ id, step, cooldown }) => ({
      keys: stepKeys(id, cooldown),
      args: stepArguments(id, step),
    }))
    return repliesOf(await stepScript(redis, keys, { campaigns: campaignPrefix(lane) }, each))
  },
)

const stepArguments = (id: MessageId, { problem, ...step }: StepArguments) => ({
  ...step,
  ulid: id.ulid,
  acceptedAt: acceptedAtMs(id.ulid),
  // Only a status that is a failure has its code in the history.
  detail: problem && (step.status ?? LETTERS.failed) === LETTERS.failed ? storable(problem.code) : undefined,
  problem: problem && storedProblem(problem),
})

const stepKeys = ({ lane, ulid }: MessageId, cooldown: Cooldown | undefined) => ({
  record: messageKey(lane, ulid),
  job: jobKey({ lane, ulid }),
  cooldown: cooldown?.of === 'recipient' ? recipientCooldownKey(lane, cooldown.to) : laneCooldownKey(lane),
})

/** Where BullMQ keeps the job of a message. */
export const jobKey = (id: MessageId): string => laneJobKey(id.lane, messageId(id.lane, id.ulid))
