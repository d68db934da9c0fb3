// Takes the next messages of a lane: reads their jobs, ends those that cannot be sent, claims the others in one step.
//
// If the process dies before the claim, nothing has changed, because reading takes nothing. After the claim every message
// is in its record, and the sweep finds it.
import { type Deadline, deadlineIn } from '../deadline.ts'
import { isForeignPayload, sendPayloadSchema } from '../jobs/send.ts'
import { cancelMessage } from '../lanes/cancel-message.ts'
import { newAttemptId, parseMessageId } from '../messages/message-id.ts'
import type { Pace } from '../messages/pace.ts'
import { type ClaimResult, claimJobs } from '../messages/store/claim.ts'
import { conclude } from '../messages/store/conclude.ts'
import { newMessageOf } from '../messages/store/record-format.ts'
import { deadLetter, nextJobs, releaseRead, type WaitingJob } from '../queue/lane/next-jobs.ts'
import { isRedisAway } from '../redis/errors.ts'
import { CLAIM_GOOD_FOR_MS, type Claimed, lostAfterMs, type Outgoing, type SendDeps } from './attempt.ts'
import { barredAmong, wantedUntilOf } from './barred.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/** How long a lane waits whose jobs are sealed under a data key that this worker was not started with. */
const FOREIGN_WAIT_MS = 5_000

/** So many workers may die over a job that they had read alone; it is a dead letter then. */
const MOST_DEATHS = 3

/** A message with a job, and what its job holds. */
type JobMessage = Outgoing & { payload: ReturnType<typeof sendPayloadSchema.parse> }

/** What is to be taken of a lane. */
export interface Take {
  most: number
  /** Only transactional messages: the slots of the next moment are given out. */
  firstOnly: boolean
}

/** What came of it. */
export interface Taken {
  /** Jobs that were read: fewer than asked for when the lane has no more. */
  read: number
  /** A campaign has slots of the next moment. */
  hasCampaign: boolean
  /** Nothing of the lane is to be claimed for so long, or until it is woken. */
  heldMs: number | undefined
  isPaused: boolean
  /** Until the next delayed job is due. */
  dueInMs: number | undefined
}

/**
 * Claims up to `most` of the messages that are next and calls `claimed` with each that may leave. Rejects only when Redis
 * is away or full: then nothing was claimed, or the sweep settles it.
 */
export async function takeJobs(
  deps: SendDeps,
  { lane, entry, pace }: { lane: number; entry: DirectoryEntry | undefined; pace: Pace },
  take: Take,
  claimed: (message: Outgoing, claim: Claimed) => void,
): Promise<Taken> {
  const { worker: by } = deps
  const { jobs, isPaused, hasMore, dueInMs } = await nextJobs(deps.redis, lane, { ...take, by })
  const read = hasMore ? take.most : jobs.length
  const taken: Taken = { read, hasCampaign: false, heldMs: undefined, isPaused, dueInMs }
  if (jobs.length === 0) return taken
  const messages: JobMessage[] = []
  for (const job of jobs) {
    const found = entry === undefined ? { reason: `lane ${lane} has no sender` } : readJob(job)
    if ('message' in found) messages.push(found.message)
    else if ('reason' in found) await giveUp(deps, lane, job.id, found.reason)
    else {
      deps.log.error({ message: job.id }, 'attempt.data_key_missing')
      taken.heldMs = FOREIGN_WAIT_MS
    }
  }
  if (entry === undefined) {
    await releaseRead(deps.redis, lane, by)
    return taken
  }
  taken.hasCampaign = messages.some(({ message }) => message.class === 'campaign')
  const wantedUntil = new Map(messages.map((each) => [each, wantedUntilOf(entry, each.message)]))
  const wanted = await endBarred(deps, entry, messages, wantedUntil)
  const until = deadlineIn(CLAIM_GOOD_FOR_MS)
  if (wanted.length === 0) await releaseRead(deps.redis, lane, by)
  const claims = wanted.map(({ id, message }) => ({ id, message, attempt: newAttemptId() }))
  const evidenceWaitMs = entry.bringsEvidence ? deps.config.unconfirmedWaitMs : 0
  const times = { lostAfterMs: lostAfterMs(deps.config), evidenceWaitMs, retentionMs: deps.config.retentionMs }
  const claimedAt = performance.now()
  const results = await claimJobs(deps.redis, claims, times, { pace, reader: by })
  const answeredAt = performance.now()
  const others: (() => Promise<void>)[] = []
  let isHeard = false
  // All that was claimed is sent before anything else is asked of Redis, which may be away by then.
  for (const [i, message] of wanted.entries()) {
    const result = results[i]
    if (result === undefined) continue
    if (!(result instanceof Error) && result.verdict === 'done' && result.state === 'sending') {
      const { slot, isProbe } = result
      if (slot && !isHeard) deps.clock.heard(lane, claimedAt, slot.nowMs, answeredAt)
      isHeard = true
      const goodUntil = wantedUntil.get(message) ?? until
      claimed(message, { attempt: claims[i]?.attempt ?? '', slot, pace, isProbe, until, wantedUntil: goodUntil })
    } else {
      others.push(async () => {
        if (result instanceof Error) {
          if (isRedisAway(result)) throw result
          return giveUp(deps, lane, message.name, result.message)
        }
        const ms = await refused(deps, message, result)
        if (ms !== undefined) taken.heldMs = Math.min(taken.heldMs ?? ms, ms)
      })
    }
  }
  for (const end of others) await end()
  return taken
}

/** What a job holds, why it can never be sent, or `foreign`: it is sealed under a key of another worker. */
function readJob(job: WaitingJob): { message: JobMessage } | { reason: string } | { foreign: true } {
  if (job.deaths >= MOST_DEATHS) return { reason: `${job.deaths} workers died while they read it alone` }
  const id = parseMessageId(job.id)
  if (!id) return { reason: 'the job id is not a message id' }
  let data: unknown
  try {
    data = JSON.parse(job.data)
  } catch {
    return { reason: 'payload is not JSON' }
  }
  const payload = sendPayloadSchema.safeParse(data)
  if (!payload.success) {
    if (isForeignPayload(data)) return { foreign: true }
    // The place and the rule, not the sentence: that quotes what a person was to read, and this reason is logged.
    const [issue] = payload.error.issues
    return { reason: `payload does not parse: ${issue?.path.join('.')} (${issue?.code})` }
  }
  const { content, trace } = payload.data
  return { message: { id, name: job.id, message: newMessageOf(payload.data), content, trace, payload: payload.data } }
}

async function giveUp(deps: SendDeps, lane: number, id: string, reason: string): Promise<void> {
  if (await deadLetter(deps.redis, lane, { id, reason, keptMs: deps.config.retentionMs })) {
    deps.log.error({ lane, message: id, reason }, 'message.dead_lettered')
  }
}

/**
 * Ends those whose people were erased or have opted out; returns the others. What was claimed before, or is past its
 * validity, is among these: its claim ends it. Should it be claimed after all, it is asked for again before it leaves.
 */
async function endBarred(
  deps: SendDeps,
  entry: DirectoryEntry,
  messages: readonly JobMessage[],
  wantedUntil: Map<JobMessage, Deadline>,
): Promise<readonly JobMessage[]> {
  const barred = await barredAmong(deps, entry, messages)
  if (barred.size === 0) return messages
  const ended = new Set<JobMessage>()
  for (const [i, problem] of barred) {
    const message = messages[i]
    if (message === undefined) continue
    const how = { redis: deps.redis, queues: deps.lanes }
    const { verdict } = await cancelMessage(how, message.id, deps.config.retentionMs, problem)
    if (verdict === 'done') ended.add(message)
    else wantedUntil.set(message, deadlineIn(Number.NEGATIVE_INFINITY))
  }
  return messages.filter((message) => !ended.has(message))
}

/** What becomes of one that may not be sent now; the ms that its lane waits, if it does. */
async function refused(deps: SendDeps, message: JobMessage, result: ClaimResult): Promise<number | undefined> {
  const { id, name, payload } = message
  switch (result.verdict) {
    case 'lane_cooldown':
    case 'too_early':
      return result.waitMs
    case 'taken':
    case 'message_waits':
    case 'recipient_cooldown':
      return undefined
    case 'gone':
      await conclude(deps.redis, id, 'gone', payload, deps.config.retentionMs)
  }
  deps.log.info({ message: name, verdict: result.verdict, state: result.state }, 'attempt.refused')
  // Where one must not leave there may be thousands.
  const mustNotLeave = result.state === 'expired' || result.state === 'cancelled'
  if (result.verdict === 'stopped' || mustNotLeave) deps.clearLane(id.lane, payload.class)
  return undefined
}
