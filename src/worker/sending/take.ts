// Takes the next messages of a lane: reads them, ends those that must not be sent, and claims the others in one step. A message with a
// job of its own and one that waits as a place of its campaign are taken alike. Three trips to Redis in a row: to read, to ask what may
// keep a message from being sent, to claim.
//
// If the process dies before the claim, nothing has changed, because reading takes nothing; ids of messages that still wait may be in the
// index, which a list finds on their lane. After the claim every message is in its record, and the sweep finds it.
import { deadlineIn } from '../../kernel/deadline.ts'
import { newAttemptId } from '../../kernel/message-id.ts'
import { twoForms } from '../../kernel/national-forms.ts'
import { archiveOf } from '../../lanes/archive/archive.ts'
import { cancelMessage } from '../../lanes/cancel-message.ts'
import { readNext, releaseRead } from '../../lanes/jobs.ts'
import { type Claim, type ClaimResult, claimMessages } from '../../lanes/messages/claim.ts'
import { finalizeUnsent } from '../../lanes/messages/finalize-unsent.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import { personErased } from '../../model/messages/own-problems.ts'
import { MOST_PAST_MS, type Pace } from '../../model/messages/pace.ts'
import type { Names } from '../../model/people/person.ts'
import { namesToSendTo } from '../../people/names/names.ts'
import { refundCount } from '../../portfolios/rules.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { type Attempt, CLAIM_GOOD_FOR_MS, lostAfterMs, type SendDeps } from './attempt.ts'
import type { Candidate } from './candidate.ts'
import type { InFlightLimit } from './in-flight-limit.ts'
import type { LaneSlots } from './lane-slots.ts'
import { classify } from './marketing-routes.ts'
import { nameFiles } from './message-files.ts'
import { checkRules } from './provider-rules.ts'
import { readJobs } from './read-jobs.ts'
import { type HeldCampaigns, readPlaces } from './read-places.ts'
import { handleFailedClaim, handleRefusedClaim, jobWaitMs, takeBackClaims } from './refused-claims.ts'
import type { DirectoryEntry } from './sender-directory.ts'
import { suppressedAmong, wantedUntilOf } from './suppressed.ts'

/** How long a lane waits if its jobs are sealed under a data key that this worker was not started with. */
const FOREIGN_WAIT_MS = 5_000

/** What to take from a lane. */
export interface Take {
  most: number
  /** Only transactional messages: the slots of the next moment are taken. */
  firstOnly: boolean
  /**
   * Since when no slot was claimed although messages waited (`performance.now()`): a moment that is over when they are claimed is
   * made up for, up to MOST_PAST_MS (model/messages/pace.ts). Infinity: none is.
   */
  unclaimedSince: number
}

/** The result of a take. */
export interface Taken {
  /** The lane may have more that can be taken now. */
  hasMore: boolean
  /** A campaign has the slots of the next moment. */
  hasCampaign: boolean
  /** How long nothing of the lane is to be claimed (ms). */
  heldMs: number | undefined
  isPaused: boolean
  /** Ms until the next delayed job is due or a skipped campaign may be read again. */
  dueInMs: number | undefined
  /** The read returned its maximum, so there may be more. */
  isFull?: boolean
  /** How long campaigns send nothing (ms), while transactional messages go on. */
  campaignsRestMs?: number
}

/** A lane to take from. */
export interface TakenLane {
  lane: number
  /** Its sender; undefined when it has none. */
  entry: DirectoryEntry | undefined
  pace: Pace
  /** Campaigns that this worker skips for a while. */
  held: HeldCampaigns
  line: Pick<LaneSlots<Candidate>, 'latest'>
  inFlightLimit: Pick<InFlightLimit, 'found'>
  attempt: Attempt
}

/**
 * Claims up to `most` of the next messages and begins the attempt of each that may leave. Rejects only when Redis is
 * away or full: then nothing was claimed, or the sweep settles it, and what was read is released.
 */
export async function takeNext(deps: SendDeps, from: TakenLane, take: Take): Promise<Taken> {
  try {
    return await takeAndClaim(deps, from, take)
  } catch (error) {
    // This worker is alive, so nothing that it read is a poison message. A full Redis accepts the release. Should Redis be away, the
    // next read of the lane overwrites what was read, and a stop releases it (lanes.ts).
    await releaseRead(deps.redis, from.lane, deps.worker).catch(() => {})
    throw error
  }
}

async function takeAndClaim(deps: SendDeps, from: TakenLane, take: Take): Promise<Taken> {
  const { lane, entry, held } = from
  const { redis, worker: by } = deps
  const { most, firstOnly } = take
  const next = await readNext(redis, lane, { most, firstOnly, by, held: stillHeld(held) })
  const { jobs, places, isPaused, dueInMs } = next
  const isFull = next.hasMore || jobs.length + places.length >= most
  const taken: Taken = { hasMore: false, hasCampaign: false, heldMs: undefined, isPaused, dueInMs, isFull }
  if (isPaused) return taken
  const [read, placed] = await Promise.all([
    readJobs(deps, lane, jobs, entry !== undefined),
    readPlaces(deps, lane, next, held),
  ])
  if (read.isForeign) taken.heldMs = FOREIGN_WAIT_MS
  const messages = read.messages.concat(placed)
  if (entry === undefined) {
    // Once they have jobs, these become dead letters with that reason.
    await deps.lanes.addMany(placed.map(({ name, payload }) => ({ id: name, payload: payload() })))
    await releaseRead(redis, lane, by)
    taken.hasMore = isFull || placed.length > 0
    return taken
  }
  if (messages.length > 0) await claimAll(deps, from, { entry, messages, unclaimedSince: take.unclaimedSince }, taken)
  else if (jobs.length + places.length > 0) await releaseRead(redis, lane, by)
  taken.hasMore = isFull || taken.heldMs !== undefined
  taken.hasCampaign = messages.some(({ message }) => message.class === 'campaign')
  const waitMs = campaignWaitMs(held)
  if (waitMs !== undefined) taken.dueInMs = Math.min(taken.dueInMs ?? waitMs, waitMs)
  return taken
}

/** The campaigns that are still skipped. */
function stillHeld(held: HeldCampaigns): readonly number[] {
  if (held.size === 0) return NO_CAMPAIGNS
  const now = performance.now()
  for (const [run, until] of held) if (until <= now) held.delete(run)
  return [...held.keys()]
}

const NO_CAMPAIGNS: readonly number[] = []

/** Ms until one of them may be read again; undefined when none is skipped. */
const campaignWaitMs = (held: HeldCampaigns): number | undefined =>
  held.size === 0 ? undefined : Math.max(1, Math.min(...held.values()) - performance.now())

/** Names, allows and claims the messages of a step, each time all of them together. */
async function claimAll(
  deps: SendDeps,
  { lane, pace, held, line, inFlightLimit, attempt }: TakenLane,
  {
    entry,
    messages,
    unclaimedSince,
  }: Pick<Take, 'unclaimedSince'> & { entry: DirectoryEntry; messages: readonly Candidate[] },
  taken: Taken,
): Promise<void> {
  const { redis, config, checks, worker: reader } = deps
  for (const each of messages) each.begin(entry)
  const [waitingRuns] = await Promise.all([nameFiles(deps, entry, messages), classify(redis, entry, messages)])
  // A campaign waits for its file as a whole, and no other with it.
  for (const [run, ms] of waitingRuns) held.set(run, performance.now() + ms)
  // Starts here: on a busy machine, reading lists and files would use up the time for which this check is valid.
  const checkedAt = performance.now()
  const wantedUntil = wantedUntilOf(checks, entry)
  for (const each of messages) each.wantedUntil = wantedUntil(each)
  // All of it leaves in one write. A message that waits for a file is not counted.
  const naming = namePeople(redis, entry, messages)
  const ready = messages.filter(({ fileWaitMs }) => fileWaitMs === undefined)
  const checked = checkRules(deps, entry, ready, naming)
  const [ended, restMs] = await Promise.all([
    endSuppressed(deps, entry, messages, naming),
    checked,
    listPlaces(deps, lane, messages),
  ]).catch(async (error: unknown) => {
    // Refund these counts: the next read of the messages counts them again.
    await checked.catch(() => {})
    await refundAll(deps, entry, ready).catch(() => {})
    throw error
  })
  await refundAll(deps, entry, ended)
  // A message that waits for a file: its claim delays a job; a place stays on the lane.
  const stays = ({ waitsAs, fileWaitMs }: Candidate): boolean => waitsAs === 'place' && fileWaitMs !== undefined
  const wanted = messages.filter((each) => !ended.has(each) && !each.isResting && !stays(each))
  if (restMs !== undefined) taken.campaignsRestMs = restMs
  if (wanted.length === 0) await releaseRead(redis, lane, reader)
  const until = deadlineIn(CLAIM_GOOD_FOR_MS)
  const claims = wanted.map(claimOf)
  const evidenceWaitMs = entry.bringsEvidence ? config.unconfirmedWaitMs : 0
  const claimedAt = performance.now()
  // Now, not when the step began: a slow step is late by its own time.
  const pastMs = Math.max(0, Math.min(MOST_PAST_MS, claimedAt - unclaimedSince))
  const slots = { latest: line.latest(), pastMs }
  const terms = {
    lostAfterMs: lostAfterMs(config),
    evidenceWaitMs,
    retentionMs: config.retentionMs,
    pace,
    slots,
    reader,
  }
  const results = await claimMessages(redis, claims, terms).catch(async (error: unknown) => {
    await takeBackClaims(deps, claims)
    await refundAll(deps, entry, wanted).catch(() => {})
    throw error
  })
  const answeredAt = performance.now()
  checks.took(answeredAt - checkedAt)
  const refusals: [Candidate, ClaimResult | Error][] = []
  let hasTime = false
  // All claimed messages are sent before anything else is read from Redis, which may be away by then.
  let i = -1
  for (const each of wanted) {
    i += 1
    const result = results[i]
    if (result === undefined) continue
    if (!(result instanceof Error) && result.verdict === 'done' && result.state === 'sending') {
      const { slot, isProbe = false } = result
      if (slot && !hasTime) {
        deps.clock.observe(lane, claimedAt, slot.nowMs, answeredAt)
        hasTime = true
      }
      each.slot = slot
      each.isProbe = isProbe
      each.until = until
      inFlightLimit.found()
      void attempt(each, pace)
    } else {
      refusals.push([each, result])
    }
  }
  // Take back all before handling any: handling the first ends this step.
  const away = claims.filter((_claim, i) => isRedisAway(results[i]))
  await takeBackClaims(deps, away)
  await refundAll(
    deps,
    entry,
    refusals.map(([each]) => each),
  )
  for (const [each, result] of refusals) {
    const heldMs = await (result instanceof Error
      ? handleFailedClaim(deps, each, result)
      : handleRefusedClaim(deps, each, result))
    if (heldMs !== undefined) taken.heldMs = Math.min(taken.heldMs ?? heldMs, heldMs)
    const waitMs = jobWaitMs(result)
    if (waitMs !== undefined) taken.dueInMs = Math.min(taken.dueInMs ?? waitMs, waitMs)
  }
}

/**
 * Sets `names`: at first to the forms of the recipient's number, the only names that most people have. Then it looks up what other
 * names there are, sets those, and resolves to the messages that got them.
 */
async function namePeople(
  redis: Redis,
  { sender }: DirectoryEntry,
  messages: readonly Candidate[],
): Promise<readonly Candidate[]> {
  for (const each of messages) each.names = twoForms(each.message.to)
  const people = messages.map(({ message }) => message.to)
  const names = await namesToSendTo(redis, sender.account, people)
  if (names === undefined) return []
  return messages.filter((each, i) => {
    const found = names[i]
    if (found === undefined || haveSameNames(found, each.allNames)) return false
    each.names = found
    return true
  })
}

const haveSameNames = (some: Names, others: Names): boolean =>
  some.length === others.length && some.every((name, i) => name === others[i])

/**
 * Puts the messages of places into the index of their lane, before any of them is claimed; those with jobs are there. Those of one campaign
 * lie side by side.
 */
async function listPlaces({ redis, config }: SendDeps, lane: number, messages: readonly Candidate[]): Promise<void> {
  const places = messages.filter(({ waitsAs }) => waitsAs === 'place')
  if (places.length === 0) return
  const indexed = places.map(({ id, message: { to, validUntil: until, run } }) => ({ ulid: id.ulid, to, until, run }))
  const first = indexed[0]?.run
  if (indexed.some(({ run }) => run !== first)) indexed.sort((one, other) => (one.run ?? 0) - (other.run ?? 0))
  await archiveOf(redis).put({ lane, messages: indexed, retentionMs: config.retentionMs })
}

/** The claim of a message for a new attempt. */
function claimOf(each: Candidate): Claim {
  const { id, message, waitsAs, notBefore, names, fileWaitMs } = each
  each.attempt = newAttemptId()
  const timed = notBefore === undefined ? message : { ...message, sendAt: notBefore }
  return { id, message: timed, waitsAs, person: names?.[0], attempt: each.attempt, fileWaitMs }
}

/** Refunds what was counted for messages that do not leave after all, at once for all: handling the first may end the step. */
const refundAll = ({ redis }: SendDeps, { rules }: DirectoryEntry, unsent: Iterable<Candidate>): Promise<unknown> =>
  Promise.all(Array.from(unsent, ({ counted }) => counted && refundCount(redis, rules, counted)))

/**
 * Ends messages whose people were erased or have opted out, and returns them. A message that was claimed before, or is past
 * its validity, is not among them: its claim ends it. If it is claimed after all, it is checked again before it leaves. Checks
 * all messages under the names already known, then those of `naming` again.
 */
async function endSuppressed(
  deps: SendDeps,
  entry: DirectoryEntry,
  messages: readonly Candidate[],
  naming: Promise<readonly Candidate[]>,
): Promise<Set<Candidate>> {
  const ended = new Set<Candidate>()
  const [suppressed, renamed] = await Promise.all([suppressedAmong(deps, entry, messages), naming])
  const ofRenamed = renamed.length > 0 ? await suppressedAmong(deps, entry, renamed) : suppressed
  for (const [each, problem] of new Map([...suppressed, ...ofRenamed])) {
    if (await endSuppressedOne(deps, each, problem)) ended.add(each)
    else each.wantedUntil = deadlineIn(Number.NEGATIVE_INFINITY)
  }
  return ended
}

/** True when it will not be sent. */
async function endSuppressedOne(
  { redis, lanes, config }: SendDeps,
  message: Candidate,
  problem: Problem,
): Promise<boolean> {
  const { id, waitsAs, payload } = message
  if (waitsAs === 'job') {
    return (await cancelMessage({ redis, queues: lanes }, id, config.retentionMs, problem)).verdict === 'done'
  }
  const why = problem.code === personErased.code ? 'erased' : 'opted_out'
  return finalizeUnsent(redis, id, why, payload(), config.retentionMs)
}
