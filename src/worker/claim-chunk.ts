// Claims messages of a chunk: in one step all that nobody has claimed before, and by themselves, like messages with jobs of
// their own, those for which something is in the way. Dying in between is dying after the claims: the sweep finds them.

import { type Deadline, deadlineIn } from '../deadline.ts'
import { newAttemptId } from '../messages/message-id.ts'
import type { Pace } from '../messages/pace.ts'
import type { ClaimResult } from '../messages/store/claim.ts'
import { claimFresh, type FreshClaim, type FreshResult } from '../messages/store/claim-fresh.ts'
import { isRedisAway } from '../redis/errors.ts'
import { needsReplicas } from '../redis/replication.ts'
import { CLAIM_GOOD_FOR_MS, type Claimed, claimMessage, lostAfterMs, type Outgoing, type SendDeps } from './attempt.ts'
import type { ChunkRoom } from './lane-share.ts'
import type { DirectoryEntry } from './sender-directory.ts'

/** What one answer weighs in how long Redis takes, and the most that claims are ahead because of it. */
const ANSWER_WEIGHT = 1 / 8
const MOST_ANSWER_MS = 50

/** A message of a chunk: its recipient's place in the list, and with what was filled in. */
export type Placed = Outgoing & { place: number; message: FreshClaim['message'] }

/** One that may not be sent now, or whose claim failed. */
export type Unclaimed<M> = { message: M } & ({ refused: ClaimResult } | { failure: unknown })

/** Where they are claimed, how fast, and until when what was found of their recipients is good (barred.ts). */
interface ChunkClaim {
  lane: number
  run: number
  room: ChunkRoom
  pace: Pace
  wantedUntil: Deadline
}

/**
 * Claims up to MOST_FRESH messages of campaign `run` and calls `claimed` with each that may leave, as soon as that is
 * known. Resolves to all others. Rejects when Redis is away or full before anything is known of any.
 */
export async function claimChunk<M extends Placed>(
  deps: SendDeps,
  entry: DirectoryEntry,
  { lane, run, room, pace, wantedUntil }: ChunkClaim,
  messages: readonly M[],
  claimed: (message: M, claim: Claimed) => void,
): Promise<Unclaimed<M>[]> {
  const askedAt = performance.now()
  const until = deadlineIn(CLAIM_GOOD_FOR_MS)
  const fresh = messages.map((message) => {
    return { ulid: message.id.ulid, place: message.place, attempt: newAttemptId(), message: message.message }
  })
  const times = { lostAfterMs: lostAfterMs(deps.config), retentionMs: deps.config.retentionMs }
  const claiming: ReturnType<typeof claimFresh> = needsReplicas(deps.redis)
    ? // One that replicas did not get in time is taken back by itself.
      Promise.resolve(messages.map((): FreshResult => 'other'))
    : claimFresh(deps.redis, { lane, run }, fresh, times, pace)
  const answer = await claiming.catch((error: unknown) => {
    if (isRedisAway(error)) throw error
    // Something of the campaign or the lane is broken: each message ends by itself, with a reason.
    deps.log.error({ lane, campaign: `cmp_${lane}_${run}`, err: error }, 'chunk.failed')
    return messages.map((): FreshResult => 'other')
  })
  const answeredAt = performance.now()
  room.answerMs += (Math.min(answeredAt - askedAt, MOST_ANSWER_MS) - room.answerMs) * ANSWER_WEIGHT
  if (answer === 'stopped') {
    return messages.map((message) => ({ message, refused: { verdict: 'stopped', state: 'queued' } }))
  }
  if ('laneMs' in answer) {
    const refused = { verdict: 'lane_cooldown', state: 'queued', waitMs: answer.laneMs } as const
    return messages.map((message) => ({ message, refused }))
  }

  const others: Promise<Unclaimed<M> | undefined>[] = []
  let isHeard = false
  for (const [i, message] of messages.entries()) {
    const { attempt = '' } = fresh[i] ?? {}
    const result = answer[i] ?? 'other'
    if (result === 'other') others.push(claimAlone(message, attempt))
    else if (result.verdict === 'too_early') {
      others.push(Promise.resolve({ message, refused: { ...result, state: 'queued' } }))
    } else {
      if (!isHeard) deps.clock.heard(lane, askedAt, result.slot.nowMs, answeredAt)
      isHeard = true
      claimed(message, { attempt, slot: result.slot, pace, until, wantedUntil })
    }
  }
  return (await Promise.all(others)).filter((other) => other !== undefined)

  /** Under the attempt that the step may have written already, should its answer have been lost. */
  async function claimAlone(message: M, attempt: string): Promise<Unclaimed<M> | undefined> {
    try {
      const result = await claimMessage(deps, entry, message, wantedUntil, { pace, attempt })
      if ('refused' in result) return { message, refused: result.refused }
      claimed(message, result.claimed)
      return undefined
    } catch (failure) {
      return { message, failure }
    }
  }
}
