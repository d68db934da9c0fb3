// Claiming messages, each for one attempt, and the slots that their requests leave in: one step in Lua for many
// messages of a lane.
import { z } from 'zod'
import { acceptedAtMs, type MessageId, messageId } from '../../kernel/message-id.ts'
import { nameOfPerson } from '../../kernel/sealed.ts'
import { placeInId } from '../../model/campaigns/message-ids.ts'
import { LETTERS, type State, type Verdict } from '../../model/messages/lifecycle.ts'
import { workerLost } from '../../model/messages/own-problems.ts'
import { ALONE_MS, type Pace } from '../../model/messages/pace.ts'
import type { Redis } from '../../redis/connect.ts'
import {
  campaignPrefix,
  inDoubtKey,
  jobDeathsKey,
  laneCooldownKey,
  laneReadersKey,
  laneSlotsKey,
  messageKey,
  messageWaitKey,
  outboxKey,
  placesKey,
  queuedAgainKey,
  recipientCooldownKey,
  requeueableKey,
  turnsKey,
} from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { observerOf } from '../../redis/observe.ts'
import { assertReplicating, NotReplicatedError } from '../../redis/replication.ts'
import { answerOf, isUnreplicated, repliesOrUnreplicated } from '../../redis/replies.ts'
import { laneBacklogKeys, laneJobKey } from '../bullmq/layout.ts'
import { defineMessageScriptOfMany } from './message-script.ts'
import type { NewMessage } from './new-message.ts'
import { commonFields, stateSchema, storedContent, storedProblem } from './record-format.ts'
import { setNotSent } from './steps.ts'

const claimScript = defineMessageScriptOfMany(import.meta.url, 'message-claim')
const slotScript = defineScript(import.meta.url, 'message-slot')

const claimReply = z.union([
  z.tuple([z.enum(['done', 'ignored', 'in_doubt', 'stopped', 'gone', 'taken', 'dead']), stateSchema, z.string()]),
  z.tuple([z.literal('done'), stateSchema, z.string(), z.string(), z.coerce.number()], z.number()),
  z.tuple([z.enum(['lane_cooldown', 'recipient_cooldown', 'message_waits', 'too_early']), stateSchema, z.number()]),
])
const slotsReply = z.tuple([z.string()], z.string())
/** When a request may leave, on Redis' clock. */
export interface Slot {
  /** As Redis stored it; needed to reserve another one in its place. */
  name: string
  atMs: number
  /** When it was reserved. */
  nowMs: number
  /** Another worker reserved slots of the lane since ours before this one. */
  isShared?: boolean
}

/** The slots that a worker would reserve for a lane. */
export interface SlotTerms {
  /** The latest slot of the lane that this worker got; empty before the first. */
  latest: string
  /** So much of what has passed since then may still be used (ms), if no other worker has reserved any. */
  pastMs: number
}

/**
 * The result of a claim. `stopped`: its campaign does not run. `gone`: its campaign knows that it was claimed before, and its record is
 * gone. `dead`: it has a job that is a dead letter. `finalizeUnsent` ends these two. `taken`: no longer waiting. `waitMs`: how long to
 * wait, because of a cooldown of the lane or the recipient, a delay of the message, or a slot too far ahead. With a pace, a claimed
 * message waits for its slot. `isProbe`: the others of the lane wait for its end.
 */
export type ClaimResult =
  | { verdict: Verdict | 'stopped' | 'gone' | 'taken' | 'dead'; state: State; slot?: Slot; isProbe?: boolean }
  | { verdict: 'lane_cooldown' | 'recipient_cooldown' | 'message_waits' | 'too_early'; state: State; waitMs: number }

/** As what a message waits: as a job of its own, or as a place of its campaign's list. */
export type WaitsAs = 'job' | 'place'

/** A message to claim for the attempt. Without `waitsAs`, whether it waits does not matter. */
export interface Claim {
  id: MessageId
  attempt: string
  message: NewMessage
  waitsAs?: WaitsAs
  /** It waits for a file: the claim delays its job for so long at least. */
  fileWaitMs?: number | undefined
  /** The first of the person's names, if it is another than the recipient: a person has one cooldown under all names. */
  person?: string | undefined
}

/** Time for an attempt to settle; the last part of `lostAfterMs`. */
export const SETTLE_WITHIN_MS = 5_000

/** The terms that all claims of one step share. */
export interface ClaimTerms {
  /** The sweep considers the attempt lost after this. */
  lostAfterMs: number
  /** If another attempt holds the message: how long to wait for evidence of it before the policy decides. */
  evidenceWaitMs: number
  retentionMs: number
  /** With it a request must leave in the slot that comes back, and not before. */
  pace?: Pace
  slots?: SlotTerms
  /** The worker that has read these messages. */
  reader?: string
}

/**
 * Claims messages of one lane, some hundred at most, each for one attempt, in one step that also moves their jobs. Send only those whose
 * verdict is `done` and whose state is `sending`. Resolves to a result for each, an Error where that one failed. Rejects when Redis is
 * away or full: then nothing may be sent.
 */
export async function claimMessages(
  redis: Redis,
  claims: readonly Claim[],
  terms: ClaimTerms,
): Promise<(ClaimResult | Error)[]> {
  const [first] = claims
  if (first === undefined) return []
  await assertReplicating(redis, inDoubtKey(first.id.lane))
  const { reply: answered, isReplicated } = await answerOf(takeClaims(redis, first.id.lane, claims, terms))
  const replies = repliesOrUnreplicated({ reply: spreadClaimed(answered), isReplicated })
  // Almost always all of them may be sent: without a promise for each.
  const plain = replies.map(fastPathClaim)
  if (plain.length === claims.length && plain.every((each) => each !== undefined)) return plain
  return Promise.all(
    claims.map((claim, i) => {
      const reply = replies[i]
      if (reply instanceof Error) return reply
      return plain[i] ?? resultOf(redis, claim, reply).catch((error: Error) => error)
    }),
  )
}

/** The result for one message. Rejects when too few replicas have the claim: then it is taken back. */
async function resultOf(redis: Redis, { id, attempt, message }: Claim, taken: unknown): Promise<ClaimResult> {
  if (isUnreplicated(taken)) {
    // A new primary may not know of the claim: nothing may be sent under it, and nothing was.
    if (isClaimed(taken.reply)) await setNotSent(redis, id, attempt, notReplicated).catch(ignoreUnreplicated)
    throw new NotReplicatedError(taken.reply)
  }
  const [verdict, state, last, slot, nowUs, marks = 0] = claimReply.parse(taken)
  // A claim also ends messages that must not leave. `sending` is not counted here; settling counts it.
  if ((verdict === 'done' && state === 'expired') || (verdict === 'stopped' && state === 'cancelled')) {
    observerOf(redis).changed({ lane: id.lane, class: message.class, from: 'queued', to: state })
  } else if (verdict === 'in_doubt') {
    observerOf(redis).changed({ lane: id.lane, class: message.class, from: 'sending', to: state })
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
        : { verdict, state, slot: slotOf(slot, nowUs, (marks & SHARED) > 0), isProbe: (marks & PROBE) > 0 }
  }
}

/** Marks that message-claim.lua adds to a slot. */
const PROBE = 1
const SHARED = 2

/**
 * Fast path for a message that may be sent in its slot, as almost all claims do; undefined for any other reply, which the schema
 * reads.
 */
function fastPathClaim(reply: unknown): ClaimResult | undefined {
  if (!Array.isArray(reply) || reply.length < 5) return undefined
  const [verdict, state, , slot, nowUs, marks = 0]: unknown[] = reply
  // Several workers serve a busy lane, so that its slots are shared; a probe is rare.
  if (marks !== 0 && marks !== SHARED) return undefined
  if (verdict !== 'done' || state !== LETTERS.sending || typeof slot !== 'string') return undefined
  const givenOutAt = Number(nowUs)
  if (!Number.isSafeInteger(givenOutAt)) return undefined
  return { verdict, state: 'sending', slot: slotOf(slot, givenOutAt, marks === SHARED) }
}

/** The reply for each, where one says for all that they were claimed and which slots they have. */
function spreadClaimed(reply: unknown): unknown {
  if (!Array.isArray(reply) || reply[0] !== 'claimed') return reply
  const [, nowUs, marks, ...slots]: unknown[] = reply
  return slots.map((slot) => ['done', LETTERS.sending, '', slot, nowUs, marks])
}

/** What a group of messages has in common, and the arguments of the script for it. */
interface Group {
  of: Claim
  acceptedAt: number
  args: readonly (string | number | string[] | undefined)[]
}

const isOfGroup = ({ of, acceptedAt }: Group, { id, message, waitsAs, fileWaitMs }: Claim): boolean =>
  of.message.run === message.run &&
  of.message.validUntil === message.validUntil &&
  of.waitsAs === waitsAs &&
  of.fileWaitMs === fileWaitMs &&
  of.message.class === message.class &&
  of.message.type === message.type &&
  of.message.sendAt === message.sendAt &&
  of.message.campaign === message.campaign &&
  of.message.reference === message.reference &&
  of.message.again === message.again &&
  acceptedAt === acceptedAtMs(id.ulid)

/** The groups of a step; the messages of each campaign are one, however many campaigns take turns. */
class Groups {
  readonly all: Group[] = []
  private readonly pace: Pace | undefined
  /** Of each campaign, by its number: its latest group. */
  private readonly ofRun = new Map<number, number>()

  constructor(pace: Pace | undefined) {
    this.pace = pace
  }

  /** The number of the group of a message, from 1: that of its campaign, one of the latest, or a new one. */
  numberOf(claim: Claim): number {
    const { run } = claim.message
    const known = run === undefined ? 0 : (this.ofRun.get(run) ?? 0)
    const number = this.isOf(known, claim) ? known : (this.amongLatest(claim) ?? this.begin(claim))
    if (run !== undefined && number !== known) this.ofRun.set(run, number)
    return number
  }

  private isOf(number: number, claim: Claim): boolean {
    const group = this.all[number - 1]
    return group !== undefined && isOfGroup(group, claim)
  }

  private amongLatest(claim: Claim): number | undefined {
    const { length } = this.all
    for (let number = length; number > length - LATEST_GROUPS; number -= 1) if (this.isOf(number, claim)) return number
    return undefined
  }

  private begin(claim: Claim): number {
    const { id, message, waitsAs, fileWaitMs } = claim
    const { class: of, validUntil, run, sendAt } = message
    const acceptedAt = acceptedAtMs(id.ulid)
    const aheadUs = this.pace?.aheadUs[of] ?? 0
    const args = [acceptedAt, validUntil, aheadUs, commonFields(message), waitsAs, run, sendAt, fileWaitMs]
    return this.all.push({ of: claim, acceptedAt, args })
  }
}

/** As many as are compared with each message: single messages have a group each. */
const LATEST_GROUPS = 4

function takeClaims(redis: Redis, lane: number, claims: readonly Claim[], { pace, slots, ...terms }: ClaimTerms) {
  const groups = new Groups(pace)
  const each = claims.map((claim) => {
    const { id, attempt, message, person = message.to } = claim
    const { to, text, filled } = storedContent(message)
    return {
      args: {
        ulid: id.ulid,
        attempt,
        group: groups.numberOf(claim),
        recipient: nameOfPerson(person),
        to,
        text,
        filled,
        place: message.run === undefined ? undefined : placeInId(id.ulid),
      },
    }
  })
  return claimScript(
    redis,
    {
      outbox: outboxKey(lane),
      inDoubt: inDoubtKey(lane),
      requeueable: requeueableKey(lane),
      laneCooldown: laneCooldownKey(lane),
      slots: laneSlotsKey(lane),
      queuedAgain: queuedAgainKey(lane),
      ...laneBacklogKeys(lane),
      places: placesKey(lane),
      turns: turnsKey(lane),
      readers: laneReadersKey(lane),
      deaths: jobDeathsKey(lane),
    },
    {
      ...terms,
      workerLost: storedProblem(workerLost),
      campaigns: campaignPrefix(lane),
      records: messageKey(lane, ''),
      jobs: laneJobKey(lane, ''),
      ids: messageId(lane, ''),
      cooldowns: recipientCooldownKey(lane, ''),
      waits: messageWaitKey(lane, ''),
      pace: pace && numbersOf(pace, slots),
      settleWithinMs: SETTLE_WITHIN_MS,
      groups: groups.all.map(({ args }) => args),
    },
    each,
    { replicated: true },
  )
}

const isClaimed = (reply: unknown): boolean => {
  const [verdict, state] = claimReply.parse(reply)
  return verdict === 'done' && state === 'sending'
}

const notReplicated = {
  ...{ counts: false, maxTries: 1 },
  problem: { code: 'not_replicated', sentence: 'Too few replicas of Redis took note of it; it is tried again.' },
}

/** Passes over a withdrawal of a claim that too few replicas have: they do not have the claim either. */
export function ignoreUnreplicated(error: unknown): void {
  if (!(error instanceof NotReplicatedError)) throw error
}

/** The stored reason while a message waits for an upload; lookups show it. */
export const waitText = (sentence: string): string => `file_upload|${sentence}`

/** Keeps the message from being claimed for `ms`, whenever its job is read. `why`: what lookups say that it waits for. */
export async function delayMessage(redis: Redis, id: MessageId, ms: number, why = ''): Promise<void> {
  await redis.set(messageWaitKey(id.lane, id.ulid), why, 'PX', Math.max(1, Math.ceil(ms)))
}

/**
 * Reserves other slots for requests that missed theirs by more than the pace allows; fewer when there are none within `mostAheadMs`.
 */
export async function reserveSlots(
  redis: Redis,
  lane: number,
  missed: readonly Slot[],
  how: { pace: Pace; mostAheadMs: number },
): Promise<Slot[]> {
  const names = missed.map(({ name }) => name)
  const args = { missed: names, mostAheadUs: how.mostAheadMs * 1_000, pace: numbersOf(how.pace) }
  const [nowUs, ...slots] = slotsReply.parse(await slotScript(redis, { slots: laneSlotsKey(lane) }, args))
  return slots.map((name) => slotOf(name, Number(nowUs)))
}

/** As message-pace.lua takes it. */
const numbersOf = ({ gapUs, closestUs, window }: Pace, { latest, pastMs }: SlotTerms = { latest: '', pastMs: 0 }) => ({
  gapUs,
  closestUs,
  window,
  latest,
  pastUs: Math.round(pastMs * 1_000),
  aloneUs: ALONE_MS * 1_000,
})

/** A slot from its text as Redis wrote it (µs), given out at `nowUs` on its clock. */
export const slotOf = (name: string, nowUs: number, isShared = false): Slot => ({
  name,
  atMs: Number(name) / 1_000,
  nowMs: nowUs / 1_000,
  isShared,
})
