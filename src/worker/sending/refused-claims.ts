// What follows when a claim is refused or fails: the message ends, waits as a job, or goes back to its lane.
import { type Claim, type ClaimResult, ignoreUnreplicated } from '../../lanes/messages/claim.ts'
import { finalizeUnsent } from '../../lanes/messages/finalize-unsent.ts'
import { setNotSent } from '../../lanes/messages/steps.ts'
import type { Problem } from '../../model/messages/outcome.ts'
import { isRedisAway } from '../../redis/errors.ts'
import type { SendDeps } from './attempt.ts'
import type { Candidate } from './candidate.ts'
import { deadLetterJob } from './read-jobs.ts'
import { waits } from './settle.ts'
import { untilWritten } from './until-written.ts'

/** Handles a refused claim; returns how long the whole lane waits (ms), if it does. */
export async function handleRefusedClaim(
  deps: SendDeps,
  candidate: Candidate,
  result: ClaimResult,
): Promise<number | undefined> {
  const { redis, lanes, config, log } = deps
  const { id, name, waitsAs, payload } = candidate
  switch (result.verdict) {
    case 'lane_cooldown':
    case 'too_early':
      return result.waitMs
    case 'taken':
      return undefined
    case 'recipient_cooldown':
    case 'message_waits':
      if (waitsAs === 'job') return undefined
      // It waits as a job from now on. Dying in between leaves the place, which another worker takes.
      if (result.verdict === 'recipient_cooldown') await waits(redis, id, result.waitMs)
      await lanes.add(name, payload(), result.waitMs)
      return undefined
    case 'gone':
    case 'dead':
      await finalizeUnsent(redis, id, result.verdict, payload(), config.retentionMs)
  }
  // One message that must not leave often means thousands. Only a few seconds' worth of places wait; jobs are cleared.
  if (waitsAs === 'place') return undefined
  log.info({ message: name, verdict: result.verdict, state: result.state }, 'attempt.refused')
  const mustNotLeave = result.state === 'expired' || result.state === 'cancelled'
  if (result.verdict === 'stopped' || mustNotLeave) deps.clearLane(id.lane, candidate.message.class)
  return undefined
}

/** Handles a claim that Redis answered with an error. Rejects when Redis is away. */
export async function handleFailedClaim(
  deps: SendDeps,
  { id, name, waitsAs, payload }: Candidate,
  error: Error,
): Promise<undefined> {
  if (isRedisAway(error)) throw error
  if (waitsAs === 'job') return deadLetterJob(deps, id.lane, name, error.message).then(() => undefined)
  // Whatever is wrong with it, a job of its own ends as a dead letter with this error.
  deps.log.error({ message: name, err: error }, 'campaign.message_broken')
  return deps.lanes.add(name, payload()).then(() => undefined)
}

/** How long the claim has delayed the job, if it has: the read of the lane did not include that delay. */
export const jobWaitMs = (result: ClaimResult | Error): number | undefined =>
  'verdict' in result && (result.verdict === 'recipient_cooldown' || result.verdict === 'message_waits')
    ? result.waitMs
    : undefined

/**
 * A claim that Redis answered with an error may have been written all the same, in part: a script that may not use one of its
 * commands breaks off. None of these was sent, and only we know that. Whatever is not claimed under its attempt stays as it is.
 */
export async function takeBackClaims({ redis, config }: SendDeps, claims: readonly Claim[]): Promise<void> {
  const how = { counts: false, maxTries: config.maxTries, problem: claimFailed }
  const takeBackOne = ({ id, attempt }: Claim) => setNotSent(redis, id, attempt, how).catch(ignoreUnreplicated)
  await Promise.all(claims.map((claim) => untilWritten(redis, () => takeBackOne(claim))))
}

const claimFailed: Problem = {
  code: 'claim_failed',
  sentence: 'Redis refused to note that it is being sent; it is tried again.',
}
