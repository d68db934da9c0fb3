// Acts on a provider's problem that concerns more than one message, from any source: the answer to a message or an upload, a status by
// webhook or poll, an error about a number. The caller records the outcome of the message itself: after an answer that proves it unsent
// it waits, after a report it has failed.
//
// A report may come late, and repeatedly. Its effects expire counting from the time that WhatsApp gives, and do not undo what a person has
// resumed since then.
import { findSender } from '../accounts/senders.ts'
import type { CampaignRefusals } from '../campaigns/fan-out/circuit-breaker.ts'
import { notifyCampaigns } from '../campaigns/fan-out/throttling.ts'
import type { Log } from '../kernel/log.ts'
import { masked } from '../kernel/masked.ts'
import { blockLane } from '../lanes/control.ts'
import { coolForProbe, coolLane } from '../lanes/cooldown.ts'
import type { LaneQueues } from '../lanes/queues.ts'
import type { Outcome, Problem } from '../model/messages/outcome.ts'
import { latestOf, type Reported } from '../model/messages/reported.ts'
import { restCampaigns } from '../portfolios/campaigns-rest.ts'
import type { Redis } from '../redis/connect.ts'

export interface ActDeps {
  redis: Redis
  lanes: LaneQueues
  log: Log
  refusals: CampaignRefusals
}

/** The subject of the problem. */
export interface Subject {
  lane: number
  /** Number of the campaign of the message. */
  run?: number | undefined
  /** The rest of the lane waits for the end of this message. */
  isProbe?: boolean | undefined
}

/** The effect on the message: its campaign was paused, or its lane waits for so long. */
export interface Acted {
  isOfCampaign: boolean
  waitMs?: number
}

const OF_NOBODY_ELSE: Acted = { isOfCampaign: false }

/** A lane whose provider does not answer, or holds its campaigns back, is probed first after this. */
export const FIRST_WAIT_MS = 1_000
/** How often one message probes a number that WhatsApp holds back for spam. */
const SPAM_PROBE_MS = 60_000

/** Idempotent. Rejects when Redis refuses it; the next message with the same refusal repeats it. */
export async function actOn(deps: ActDeps, subject: Subject, outcome: Outcome, reported?: Reported): Promise<Acted> {
  const { lane, run } = subject
  switch (outcome.kind) {
    case 'sender_blocked':
      await stopSender(deps, lane, outcome.problem, reported)
      return OF_NOBODY_ELSE
    case 'unconfirmed':
      if (outcome.blocksSender) await stopSender(deps, lane, outcome.problem, reported)
      return OF_NOBODY_ELSE
    case 'lane_waits': {
      const ms = leftOf(outcome.laneMs, reported)
      if (ms <= 0) return OF_NOBODY_ELSE
      // After an answer, the step that proves the message unsent has done this.
      if (reported) await coolLane(deps.redis, lane, ms, outcome.problem)
      await notifyCampaigns(deps.redis, lane, outcome)
      return OF_NOBODY_ELSE
    }
    case 'campaigns_rest': {
      const ms = leftOf(outcome.restMs, reported)
      if (ms <= 0) return OF_NOBODY_ELSE
      return { isOfCampaign: false, waitMs: await restNumber(deps, subject, ms, outcome.problem) }
    }
    case 'failed': {
      if (run === undefined) return OF_NOBODY_ELSE
      const isOfCampaign = await deps.refusals.pausesCampaign({ lane, number: run }, outcome, reported)
      return { isOfCampaign }
    }
    case 'sent':
    case 'not_asked':
    case 'message_waits':
    case 'recipient_waits':
      return OF_NOBODY_ELSE
  }
}

const leftOf = (ms: number, reported: Reported | undefined): number =>
  reported === undefined ? ms : latestOf(reported) + ms - Date.now()

/** Pauses the lane until a person resumes it. */
export async function stopSender(
  { redis, lanes, log }: Omit<ActDeps, 'refusals'>,
  lane: number,
  problem: Problem,
  reported?: Reported,
): Promise<void> {
  const reason = reasonOf(problem)
  if (reported !== undefined) {
    const sender = await findSender(redis, lane)
    if (sender === undefined || sender.resumed_at > latestOf(reported)) return
    // One webhook may contain a thousand reports of it.
    if (sender.paused_for === reason && (await lanes.isPaused(lane))) return
  }
  await blockLane(redis, lanes, lane, reason)
  log.error({ lane, code: problem.code, sentence: reason }, 'sender.blocked')
}

/** The sentence for a person, which always contains the code, so that it can be looked up. */
function reasonOf({ code, sentence }: Problem): string {
  const shown = masked(sentence)
  const isNamed = !/^\d+$/.test(code) || shown.includes(`code ${code})`)
  return isNamed ? shown : `${shown} (code ${code})`
}

/** Probes the number with one transactional message now and then one a minute. Returns the time until then. */
async function restNumber(
  { redis, log }: ActDeps,
  { lane, isProbe = false }: Subject,
  ms: number,
  problem: Problem,
): Promise<number> {
  // First, so that the probe is no message of a campaign. A full Redis refuses this, but not what follows.
  const [rests] = await Promise.allSettled([restCampaigns(redis, lane, ms, problem)])
  const firstMs = isProbe ? SPAM_PROBE_MS : FIRST_WAIT_MS
  const probed = await coolForProbe(redis, lane, { firstMs, mostMs: SPAM_PROBE_MS, isProbe }, problem)
  const { code, sentence } = problem
  if (probed.isNew) log.warn({ lane, code, sentence: masked(sentence), rest_ms: ms }, 'lane.campaigns_rest')
  if (rests?.status === 'rejected') throw rests.reason
  return probed.ms
}
