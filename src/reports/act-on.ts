// Acts on what the provider says of more than one message, however it says so: in the answer to a message or an upload, in
// a status that a webhook brings or a poll finds, in an error about a number. What becomes of the message itself its caller
// writes down: after an answer that proves it unsent it waits, after a report it has failed.
//
// A report may come late, and again. What it asks for ends by the time at which WhatsApp says that it happened, and what a
// person has resumed since then stays as it is.
import { findSender } from '../accounts/senders.ts'
import { type CampaignRefusals, notifyCampaigns } from '../campaigns/fan-out/circuit-breaker.ts'
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

/** What it was said about. */
export interface Subject {
  lane: number
  /** Number of the campaign of the message. */
  run?: number | undefined
  /** The rest of the lane waits for how the message ends. */
  isProbe?: boolean | undefined
}

/** What came of it, for the message: its campaign was paused for it, or its lane waits for so long. */
export interface Acted {
  isOfCampaign: boolean
  waitMs?: number
}

const OF_NOBODY_ELSE: Acted = { isOfCampaign: false }

/** A lane whose provider does not answer, or holds its campaigns back, is probed first after this. */
export const FIRST_WAIT_MS = 1_000
/** While WhatsApp holds a number back for spam, one message asks so often whether it sends. */
const SPAM_PROBE_MS = 60_000

/** Any number of times. Rejects when Redis refuses it; the next message that draws the same brings it again. */
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
      // After an answer the step that proves the message unsent has done so.
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

/** Stops the lane until a person resumes it. */
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
    // A thousand reports of one webhook may say the same.
    if (sender.paused_for === reason && (await lanes.isPaused(lane))) return
  }
  await blockLane(redis, lanes, lane, reason)
  log.error({ lane, code: problem.code, sentence: reason }, 'sender.blocked')
}

/** What a person reads, who looks a code up: it is in it whatever the provider's own words are. */
function reasonOf({ code, sentence }: Problem): string {
  const shown = masked(sentence)
  const isNamed = !/^\d+$/.test(code) || shown.includes(`code ${code})`)
  return isNamed ? shown : `${shown} (code ${code})`
}

/** One transactional message at once asks whether the number sends at all, and then one a minute. Returns how long until then. */
async function restNumber(
  { redis, log }: ActDeps,
  { lane, isProbe = false }: Subject,
  ms: number,
  problem: Problem,
): Promise<number> {
  // First, so that no message of a campaign is the probe. A full Redis refuses it, but not what follows.
  const [rests] = await Promise.allSettled([restCampaigns(redis, lane, ms, problem)])
  const firstMs = isProbe ? SPAM_PROBE_MS : FIRST_WAIT_MS
  const probed = await coolForProbe(redis, lane, { firstMs, mostMs: SPAM_PROBE_MS, isProbe }, problem)
  const { code, sentence } = problem
  if (probed.isNew) log.warn({ lane, code, sentence: masked(sentence), rest_ms: ms }, 'lane.campaigns_rest')
  if (rests?.status === 'rejected') throw rests.reason
  return probed.ms
}
