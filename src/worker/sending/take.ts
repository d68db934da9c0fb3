// Takes the next messages of a lane, from jobs and from chunks: reads them, ends those that must not be sent, and claims
// the others in one step.
//
// If the process dies before the claim, nothing has changed, because reading takes nothing. After the claim every
// message is in its record, and the sweep finds it.
import { deadlineIn } from '../../kernel/deadline.ts'
import { newAttemptId } from '../../kernel/message-id.ts'
import { cancelMessage } from '../../lanes/cancel-message.ts'
import { nextJobs, releaseRead } from '../../lanes/jobs.ts'
import { type Claim, type ClaimResult, claimMessages, ignoreUnreplicated } from '../../lanes/messages/claim.ts'
import { finalizeUnsent } from '../../lanes/messages/finalize-unsent.ts'
import { setNotSent } from '../../lanes/messages/steps.ts'
import { type Problem, personErased } from '../../model/messages/outcome.ts'
import type { Pace } from '../../model/messages/pace.ts'
import { namesToSendTo } from '../../people/names/names.ts'
import { refundCount } from '../../portfolios/rules.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { CLAIM_GOOD_FOR_MS, lostAfterMs, type SendDeps } from './attempt.ts'
import type { Candidate } from './candidate.ts'
import { classify } from './marketing-routes.ts'
import { nameFiles } from './message-files.ts'
import { checkRules } from './provider-rules.ts'
import { deadLetterJob, readJobs } from './read-jobs.ts'
import type { TakenChunks } from './send-chunk.ts'
import type { DirectoryEntry } from './sender-directory.ts'
import { waits } from './settle.ts'
import { suppressedAmong, wantedUntilOf } from './suppressed.ts'
import { untilWritten } from './until-written.ts'

/** How long a lane waits if its jobs are sealed under a data key that this worker was not started with. */
const FOREIGN_WAIT_MS = 5_000
/** A paused lane takes its chunks up again when it is resumed, or after this, should it miss that. */
const PAUSED_MS = 5_000
/** A lane that waits for longer gives its chunks back, so that nobody holds them meanwhile. */
const MOST_WAIT_MS = 1_000

/** What to take from a lane. */
export interface Take {
  most: number
  /** Only transactional messages: the slots of the next moment are taken. */
  firstOnly: boolean
  /** How much past time may be made up for at once (ms): messages waited, and this worker was late. */
  pastMs: number
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
  /** Until the next delayed job is due (ms). */
  dueInMs: number | undefined
  /** As many jobs were read as were asked for: there may be more like them. */
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
  chunks: TakenChunks
  /** The latest slot of the lane that this worker has got; empty before the first. */
  latestSlot: () => string
}

/**
 * Claims up to `most` of the next messages and calls `claimed` with each that may leave. Rejects only when Redis is
 * away or full: then nothing was claimed, or the sweep settles it, and what was read is released.
 */
export async function takeNext(
  deps: SendDeps,
  from: TakenLane,
  take: Take,
  claimed: (message: Candidate) => void,
): Promise<Taken> {
  try {
    return await takeAndClaim(deps, from, take, claimed)
  } catch (error) {
    // This worker is alive, so nothing it read kills its reader. A full Redis accepts the release. Should Redis be away, the
    // next read of the lane overwrites what was read, and a stop releases it (lanes.ts).
    await releaseRead(deps.redis, from.lane, deps.worker).catch(() => {})
    throw error
  }
}

async function takeAndClaim(
  deps: SendDeps,
  from: TakenLane,
  take: Take,
  claimed: (message: Candidate) => void,
): Promise<Taken> {
  const { lane, entry, chunks } = from
  const { redis, worker: by } = deps
  const { most, firstOnly } = take
  const { jobs, isPaused, hasMore, dueInMs } = await nextJobs(redis, lane, { most, firstOnly, by })
  const isFull = hasMore || jobs.length >= take.most
  const taken: Taken = { hasMore: false, hasCampaign: false, heldMs: undefined, isPaused, dueInMs, isFull }
  if (isPaused) {
    chunks.end({ kind: 'lane_waits', ms: PAUSED_MS })
    return taken
  }
  const read = await readJobs(deps, lane, jobs, entry !== undefined)
  if (read.isForeign) taken.heldMs = FOREIGN_WAIT_MS
  const places = take.firstOnly ? [] : chunks.next(placesOf(take.most, read.messages, chunks.waiting()))
  const messages = [...read.messages.slice(0, take.most - places.length), ...places]
  if (entry === undefined) {
    // Taken up again, they find that the sender was removed.
    chunks.end({ kind: 'waits', ms: 1 })
    if (jobs.length > 0) await releaseRead(redis, lane, by)
    taken.hasMore = isFull
    return taken
  }
  if (messages.length > 0) await claimAll(deps, { ...from, entry, pastMs: take.pastMs }, messages, taken, claimed)
  else if (jobs.length > 0) await releaseRead(redis, lane, by)
  taken.hasMore = isFull || chunks.waiting() > 0 || taken.heldMs !== undefined
  taken.hasCampaign = chunks.waiting() > 0 || messages.some(({ message }) => message.class === 'campaign')
  return taken
}

/** How many messages of a step come from chunks: the places that jobs leave, at least half of those that transactional ones leave. */
function placesOf(most: number, jobs: readonly Candidate[], waiting: number): number {
  const transactional = jobs.filter(({ message }) => message.class === 'transactional').length
  return Math.min(waiting, Math.max(most - jobs.length, Math.floor((most - transactional) / 2)))
}

/** Names, allows and claims the messages of a step, each time all of them together. */
async function claimAll(
  deps: SendDeps,
  { lane, entry, pace, chunks, latestSlot, pastMs }: TakenLane & { entry: DirectoryEntry; pastMs: number },
  messages: readonly Candidate[],
  taken: Taken,
  claimed: (message: Candidate) => void,
): Promise<void> {
  const { redis, config, worker: reader } = deps
  for (const each of messages) each.begin(entry)
  const [waitingRuns] = await Promise.all([
    nameFiles(deps, entry, messages),
    classify(redis, entry, messages),
    namePeople(redis, entry, messages),
  ])
  // From here on, not before: on a busy machine, reading names and files takes as long as this check is valid.
  for (const each of messages) each.wantedUntil = wantedUntilOf(entry, each)
  // Both at once, so that a step takes no longer for it. A message that waits for a file is not counted.
  const [waitNoMore, restMs] = await Promise.all([
    endSuppressed(deps, entry, messages),
    checkRules(
      deps,
      entry,
      messages.filter(({ fileWaitMs }) => fileWaitMs === undefined),
    ),
  ])
  await refundAll(deps, entry, waitNoMore)
  // Of those that wait for a file, jobs are delayed by their claim, and places go back with their chunk.
  const isBack = ({ from, fileWaitMs }: Candidate): boolean => from === 'place' && fileWaitMs !== undefined
  const wanted = messages.filter((each) => !waitNoMore.has(each) && !each.isResting && !isBack(each))
  if (restMs !== undefined) taken.campaignsRestMs = restMs
  if (wanted.length === 0) await releaseRead(redis, lane, reader)
  const until = deadlineIn(CLAIM_GOOD_FOR_MS)
  const claims = wanted.map(claimOf)
  const evidenceWaitMs = entry.bringsEvidence ? config.unconfirmedWaitMs : 0
  const times = { lostAfterMs: lostAfterMs(config), evidenceWaitMs, retentionMs: config.retentionMs }
  const claimedAt = performance.now()
  const slots = { latest: latestSlot(), pastMs }
  const results = await claimMessages(redis, claims, { ...times, pace, slots, reader }).catch(
    async (error: unknown) => {
      await takeBack(deps, claims)
      await refundAll(deps, entry, wanted).catch(() => {})
      throw error
    },
  )
  const answeredAt = performance.now()
  const refusals: [Candidate, ClaimResult | Error][] = []
  let hasTime = false
  // All claimed messages are sent before anything else is read from Redis, which may be away by then.
  for (const [i, each] of wanted.entries()) {
    const result = results[i]
    if (result === undefined) continue
    if (!(result instanceof Error) && result.verdict === 'done' && result.state === 'sending') {
      const { slot, isProbe = false } = result
      if (slot && !hasTime) {
        deps.clock.observe(lane, claimedAt, slot.nowMs, answeredAt)
        hasTime = true
      }
      waitNoMore.add(each)
      each.slot = slot
      each.isProbe = isProbe
      each.until = until
      claimed(each)
    } else {
      refusals.push([each, result])
    }
  }
  // For all of them before any is handled: the first one ends this step.
  const away = claims.filter((_claim, i) => isRedisAway(results[i]))
  await takeBack(deps, away)
  await refundAll(
    deps,
    entry,
    refusals.map(([each]) => each),
  )
  for (const [each, result] of refusals) {
    const heldMs = await (result instanceof Error ? broken(deps, each, result) : refused(deps, each, result))
    if (heldMs === undefined) waitNoMore.add(each)
    else taken.heldMs = Math.min(taken.heldMs ?? heldMs, heldMs)
    const waitMs = putOffMs(result)
    if (waitMs !== undefined) taken.dueInMs = Math.min(taken.dueInMs ?? waitMs, waitMs)
  }
  chunks.taken(waitNoMore)
  for (const run of stoppedRuns(wanted, results)) chunks.end({ kind: 'done' }, run)
  // Their chunks are given back: nobody holds them meanwhile.
  for (const [run, ms] of waitingRuns) chunks.end({ kind: 'waits', ms }, run)
  if (restMs !== undefined) chunks.end({ kind: 'lane_waits', ms: restMs })
  if (taken.heldMs !== undefined && taken.heldMs > MOST_WAIT_MS) chunks.end({ kind: 'lane_waits', ms: taken.heldMs })
}

/** Sets `names`: most people have no name but the one in the message. */
async function namePeople(redis: Redis, { sender }: DirectoryEntry, messages: readonly Candidate[]): Promise<void> {
  const people = messages.map(({ message }) => message.to)
  const names = await namesToSendTo(redis, sender.account, people)
  for (const [i, found] of names.entries()) {
    const each = messages[i]
    if (each !== undefined && found.length > 1) each.names = found
  }
}

/** The claim of a message for a new attempt. */
function claimOf(each: Candidate): Claim {
  const { id, message, from, notBefore, names, fileWaitMs } = each
  each.attempt = newAttemptId()
  const asked = notBefore === undefined ? message : { ...message, sendAt: notBefore }
  return { id, message: asked, from, person: names?.[0], attempt: each.attempt, delayMs: fileWaitMs }
}

/**
 * A claim that Redis answered with an error may have been written all the same, in part: a script that may not use one of its
 * commands breaks off. None of these was sent, and only we know that. Whatever is not claimed under its attempt stays as it is.
 */
async function takeBack({ redis, config }: SendDeps, claims: readonly Claim[]): Promise<void> {
  const how = { counts: false, maxTries: config.maxTries, problem: claimFailed }
  const takeBackOne = ({ id, attempt }: Claim) => setNotSent(redis, id, attempt, how).catch(ignoreUnreplicated)
  await Promise.all(claims.map((claim) => untilWritten(redis, () => takeBackOne(claim))))
}

/** Refunds what was counted for messages that do not leave after all, at once for all: handling the first may end the step. */
const refundAll = ({ redis }: SendDeps, { rules }: DirectoryEntry, unsent: Iterable<Candidate>): Promise<unknown> =>
  Promise.all(Array.from(unsent, ({ counted }) => counted && refundCount(redis, rules, counted)))

const claimFailed: Problem = {
  code: 'claim_failed',
  sentence: 'Redis refused to note that it is being sent; it is tried again.',
}

/** How long the claim has delayed the job, if it has: the read of the lane did not include that delay. */
const putOffMs = (result: ClaimResult | Error): number | undefined =>
  'verdict' in result && (result.verdict === 'recipient_cooldown' || result.verdict === 'message_waits')
    ? result.waitMs
    : undefined

/** Campaigns that do not run. */
const stoppedRuns = (messages: readonly Candidate[], results: readonly (ClaimResult | Error)[]): ReadonlySet<number> =>
  new Set(
    messages.flatMap(({ message: { run } }, i) => {
      const result = results[i]
      return run !== undefined && result && 'verdict' in result && result.verdict === 'stopped' ? [run] : []
    }),
  )

/**
 * Ends messages whose people were erased or have opted out, and returns them. A message that was claimed before, or is past
 * its validity, is not among them: its claim ends it. If it is claimed after all, it is checked again before it leaves.
 */
async function endSuppressed(
  deps: SendDeps,
  entry: DirectoryEntry,
  messages: readonly Candidate[],
): Promise<Set<Candidate>> {
  const ended = new Set<Candidate>()
  for (const [each, problem] of await suppressedAmong(deps, entry, messages)) {
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
  const { id, from, payload } = message
  if (from === 'job') {
    return (await cancelMessage({ redis, queues: lanes }, id, config.retentionMs, problem)).verdict === 'done'
  }
  const why = problem.code === personErased.code ? 'erased' : 'opted_out'
  await finalizeUnsent(redis, id, why, payload(), config.retentionMs)
  return true
}

/** Handles a refused claim; returns how long the whole lane waits (ms), if it does. */
async function refused(deps: SendDeps, candidate: Candidate, result: ClaimResult): Promise<number | undefined> {
  const { redis, lanes, config, log } = deps
  const { id, name, from, payload } = candidate
  switch (result.verdict) {
    case 'lane_cooldown':
    case 'too_early':
      return result.waitMs
    case 'taken':
      return undefined
    case 'recipient_cooldown':
    case 'message_waits':
      if (from === 'job') return undefined
      if (result.verdict === 'recipient_cooldown') await waits(redis, id, result.waitMs)
      await lanes.add(name, payload(), result.waitMs)
      return undefined
    case 'gone':
      await finalizeUnsent(redis, id, 'gone', payload(), config.retentionMs)
  }
  // If one must not leave, there may be thousands. Those of a chunk no longer wait; jobs are cleared away.
  if (from === 'place') return undefined
  log.info({ message: name, verdict: result.verdict, state: result.state }, 'attempt.refused')
  const mustNotLeave = result.state === 'expired' || result.state === 'cancelled'
  if (result.verdict === 'stopped' || mustNotLeave) deps.clearLane(id.lane, candidate.message.class)
  return undefined
}

/** The claim failed. Rejects when Redis is away. */
async function broken(deps: SendDeps, { id, name, from, payload }: Candidate, error: Error): Promise<undefined> {
  if (isRedisAway(error)) throw error
  if (from === 'job') return deadLetterJob(deps, id.lane, name, error.message).then(() => undefined)
  // Whatever is wrong with it, a job of its own ends as a dead letter with this error.
  deps.log.error({ message: name, err: error }, 'chunk.message_broken')
  return deps.lanes.add(name, payload()).then(() => undefined)
}
