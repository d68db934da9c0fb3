// Claiming messages and taking steps. The steps themselves are Lua, so that each is one atomic move; src/messages/lifecycle.ts
// says what they mean, records.ts what the fields of a record hold.
import { z } from 'zod'
import { type SendPayload, textOfPayload } from '../../jobs/send.ts'
import type { Redis } from '../../redis/connect.ts'
import {
  campaignPrefix,
  endedBadlyKey,
  laneJobKey,
  laneQueue,
  laneRestKey,
  laneSlotsKey,
  messageKey,
  messageWaitKey,
  openKey,
  pollKey,
  queuedAgainKey,
  recipientRestKey,
} from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import type { Evidence, Repeat, State, Verdict } from '../lifecycle.ts'
import { acceptedAtMs, type MessageId, messageId } from '../message-id.ts'
import { type Problem, workerLost } from '../outcome.ts'
import type { Pace } from '../pace.ts'
import { LETTERS, type MessageRecord, stateSchema } from './records.ts'

/** What a new record holds. */
export interface NewMessage {
  to: string
  type: MessageRecord['type']
  text: string
  class: MessageRecord['class']
  validUntil: number
  campaign: string | undefined
  run: number | undefined
  /** Of a campaign's message: kept instead of the text, which is mostly the same for all recipients. */
  filled?: readonly string[] | undefined
  /** A person wished it sent although an earlier message of the kind may have gone out: a possible duplicate. */
  again?: boolean
}

/** The message that a job is about. */
export const newMessageOf = (payload: SendPayload): NewMessage => ({
  to: payload.to,
  type: payload.content.type,
  text: textOfPayload(payload),
  class: payload.class,
  validUntil: payload.until,
  campaign: payload.campaign,
  run: payload.run,
  filled: payload.filled,
  ...(payload.again && { again: payload.again }),
})

const claimScript = defineScript(import.meta.url, 'message-claim', 9)
const slotScript = defineScript(import.meta.url, 'message-slot', 1)
const stepScript = defineScript(import.meta.url, 'message-step', 6)

const claimReply = z.union([
  z.tuple([z.enum(['done', 'ignored', 'held', 'stopped', 'gone']), stateSchema, z.string()]),
  z.tuple([z.literal('done'), stateSchema, z.string(), z.string(), z.coerce.number()]),
  z.tuple([z.enum(['lane_rests', 'recipient_rests', 'message_waits', 'too_early']), stateSchema, z.number()]),
])
const slotReply = z.tuple([z.string(), z.coerce.number()])
const stepReply = z.union([
  z.tuple([z.literal('missing')]),
  z.tuple([z.enum(['done', 'ignored', 'held']), stateSchema]),
  z.tuple([z.literal('done'), stateSchema, z.number()]),
])

/** What a step came to. `missing`: there is no such record. `waitMs`: of a message whose recipient rests from now on. */
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
 * its record is gone; `conclude` ends it. The lane or the recipient may rest, the message may have been put off, or its
 * slot be too far ahead, for `waitMs`. With a pace, whoever may send waits for the slot.
 */
export type ClaimResult =
  | { verdict: Verdict | 'stopped' | 'gone'; state: State; slot?: Slot }
  | { verdict: 'lane_rests' | 'recipient_rests' | 'message_waits' | 'too_early'; state: State; waitMs: number }

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
  const reply = await claimScript(
    redis,
    [
      ...[messageKey(lane, id.ulid), openKey(lane), endedBadlyKey(lane), jobKey(id)],
      ...[laneRestKey(lane), recipientRestKey(lane, message.to)],
      ...[laneSlotsKey(lane), messageWaitKey(lane, id.ulid), queuedAgainKey(lane)],
    ],
    [
      id.ulid,
      attempt,
      acceptedAtMs(id.ulid),
      message.validUntil,
      times.lostAfterMs,
      times.retentionMs,
      message.run ?? '',
      campaignPrefix(id.lane),
      times.evidenceWaitMs,
      storedProblem(workerLost),
      ...(pace === undefined ? ['', '', '', ''] : [...numbersOf(pace), pace.aheadUs[message.class]]),
      ...newRecordFields(message),
    ],
  )
  const [verdict, state, last, slot, nowUs] = claimReply.parse(reply)
  switch (verdict) {
    case 'lane_rests':
    case 'recipient_rests':
    case 'message_waits':
    case 'too_early':
      return { verdict, state, waitMs: Number(last) }
    default:
      return slot === undefined || nowUs === undefined
        ? { verdict, state }
        : { verdict, state, slot: slotOf(slot, nowUs) }
  }
}

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
  const args = [missed.name, how.mostAheadMs * 1_000, ...numbersOf(how.pace)]
  const [name, nowUs] = slotReply.parse(await slotScript(redis, [laneSlotsKey(lane)], args))
  return name === '' ? undefined : slotOf(name, nowUs)
}

/** As message-pace.lua takes it. */
const numbersOf = ({ gapUs, closestUs, window }: Pace) => [gapUs, closestUs, window]

const slotOf = (name: string, nowUs: number): Slot => ({ name, atMs: Number(name) / 1_000, nowMs: nowUs / 1_000 })

/** What a new record holds besides its progress: field, value, … */
export const newRecordFields = (message: NewMessage): (string | number)[] => [
  ...['t', message.to, 'k', message.type],
  ...['y', message.class === 'transactional' ? 't' : 'c', 'u', message.validUntil],
  ...(message.filled === undefined ? ['x', message.text] : ['v', JSON.stringify(message.filled)]),
  ...(message.campaign === undefined ? [] : ['g', message.campaign]),
  ...(message.run === undefined ? [] : ['r', message.run]),
  ...(message.again ? ['o', 1] : []),
]

interface StepArguments {
  kind: string
  attempt?: string
  option?: string
  maxTries?: number
  detail?: string
  providerId?: string
  problem?: Problem
  waitMs?: number
  firstPollMs?: number | undefined
  atMs?: number
  rest?: Rest
}

/** Who takes no message for a while, from the very step that proves the attempt unsent. */
export type Rest = { of: 'lane'; ms: number } | { of: 'recipient'; to: string; leastMs: number }

/** The attempt is proven unsent: queued again, or failed when its tries are used up. */
export const proveUnsent = (
  redis: Redis,
  id: MessageId,
  attempt: string,
  how: { counts: boolean; maxTries: number; problem: Problem; rest?: Rest },
): Promise<StepResult> =>
  takeStep(redis, id, {
    kind: 'unsent',
    attempt,
    option: how.counts ? '1' : '0',
    maxTries: how.maxTries,
    detail: how.problem.code,
    problem: how.problem,
    ...(how.rest && { rest: how.rest }),
  })

/** The attempt brought no trustworthy answer: unconfirmed, and `waitMs` from now its policy decides. */
export const loseAttempt = (
  redis: Redis,
  id: MessageId,
  attempt: string,
  how: { problem: Problem; waitMs: number },
): Promise<StepResult> =>
  takeStep(redis, id, { kind: 'lost', attempt, detail: how.problem.code, problem: how.problem, waitMs: how.waitMs })

/** Proof of what became of an attempt, from whatever source, in any order, any number of times. */
export const giveEvidence = (
  redis: Redis,
  id: MessageId,
  attempt: string,
  status: Evidence,
  more: {
    providerId?: string | undefined
    problem?: Problem | undefined
    atMs?: number | undefined
    firstPollMs?: number | undefined
  } = {},
): Promise<StepResult> =>
  takeStep(redis, id, {
    kind: 'evidence',
    attempt,
    option: LETTERS[status],
    detail: status === 'failed' ? (more.problem?.code ?? '') : '',
    ...(more.providerId === undefined ? {} : { providerId: more.providerId }),
    ...(more.problem === undefined ? {} : { problem: more.problem }),
    ...(more.atMs === undefined ? {} : { atMs: more.atMs }),
    firstPollMs: more.firstPollMs,
  })

/** The wait for evidence is over: queued again or unknown, as `repeat` says. */
export const decide = (redis: Redis, id: MessageId, repeat: Repeat, maxTries: number): Promise<StepResult> =>
  takeStep(redis, id, { kind: 'decide', option: repeat, maxTries })

/**
 * Ends a queued message that cannot be sent: `dead`, its job is a dead letter, which is looked at again in the same step;
 * `content`, what it says is no longer stored.
 */
export const giveUp = (redis: Redis, id: MessageId, why: 'dead' | 'content', problem: Problem): Promise<StepResult> =>
  takeStep(redis, id, { kind: 'give_up', option: why, detail: problem.code, problem })

/** The record lives for `retentionMs` from now on at least. */
export async function keepRecord(redis: Redis, { lane, ulid }: MessageId, retentionMs: number): Promise<void> {
  await redis.pexpire(messageKey(lane, ulid), retentionMs, 'GT')
}

async function takeStep(redis: Redis, id: MessageId, step: StepArguments): Promise<StepResult> {
  const reply = await stepScript(
    redis,
    [
      ...[messageKey(id.lane, id.ulid), openKey(id.lane), pollKey(id.lane), endedBadlyKey(id.lane), jobKey(id)],
      queuedAgainKey(id.lane),
    ],
    [
      id.ulid,
      step.kind,
      step.attempt ?? '',
      acceptedAtMs(id.ulid),
      step.option ?? '',
      step.maxTries ?? 1,
      storable(step.detail ?? ''),
      step.providerId ?? '',
      step.problem === undefined ? '' : storedProblem(step.problem),
      step.waitMs ?? 0,
      step.firstPollMs ?? '',
      step.atMs ?? '',
      '',
      campaignPrefix(id.lane),
      ...(step.rest === undefined ? [''] : storedRest(id.lane, step.rest)),
    ],
  )
  const [verdict, state, waitMs] = stepReply.parse(reply)
  return verdict === 'missing' || state === undefined ? { verdict: 'missing' } : { verdict, state, waitMs }
}

const storedRest = (lane: number, rest: Rest) =>
  rest.of === 'lane' ? [rest.of, laneRestKey(lane), rest.ms] : [rest.of, recipientRestKey(lane, rest.to), rest.leastMs]

export const storedProblem = ({ code, sentence }: Problem): string => `${storable(code)}|${sentence}`

/** `|` separates entries of the history and the parts of a problem. */
const storable = (text: string): string => text.replaceAll('|', '/')

/** Where BullMQ keeps the job of a message. */
export const jobKey = (id: MessageId): string => laneJobKey(id.lane, laneQueue(id.lane), messageId(id.lane, id.ulid))
