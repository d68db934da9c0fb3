// The state of a campaign that a worker keeps between the time slices of its fan-out. It may be lost: another worker, or the same one
// after a restart, starts from the counts in Redis and measures again.
import { LRUCache } from 'lru-cache'
import { findSender } from '../../accounts/senders.ts'
import { mostEntries } from '../../kernel/most-entries.ts'
import { TEMPLATE_PAUSED } from '../../model/campaigns/lifecycle.ts'
import { type Campaign, idOf } from '../../recipients/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import { changedTemplate, templateProblem } from '../commands/template-problem.ts'
import { createFeeding, createMeter } from './back-pressure.ts'
import { createFailureBreaker } from './failure-share.ts'
import { createStuckCheck } from './lost-recipients.ts'

/** Campaigns remembered; beyond that the least recently used are forgotten. Each is a few KB. */
const MOST = 2_000

export type LocalState = ReturnType<typeof createLocalState>

function createLocalState(campaign: Campaign) {
  return {
    feeding: createFeeding(campaign.pace),
    breaker: createFailureBreaker(),
    concluding: createMeter(),
    ending: createMeter(),
    stuck: createStuckCheck(),
    laneInfo: createLaneInfoCache(),
    /** The figures of the latest round, to detect movement. */
    figures: '',
    /** The furthest place of the cursor. */
    furthest: 0,
    /** How long it was parked when nothing had moved; 0 when something had. */
    parkedMs: 0,
  }
}

/** Of all campaigns of one worker; a new epoch of a campaign begins without any. */
export function createLocalStates() {
  const known = new LRUCache<string, { epoch: number; local: LocalState }>({ ...mostEntries(MOST) })
  return {
    of(campaign: Campaign): LocalState {
      const entry = known.get(idOf(campaign))
      if (entry?.epoch === campaign.epoch) return entry.local
      const local = createLocalState(campaign)
      known.set(idOf(campaign), { epoch: campaign.epoch, local })
      return local
    },
    forget(campaign: Campaign): void {
      known.delete(idOf(campaign))
    },
  }
}

export type LocalStates = ReturnType<typeof createLocalStates>

/**
 * Settings that may change while the campaign runs: the rate of the lane (messages per second), and the template, when a version is
 * imported that is not approved or does not fit. Read every two seconds.
 */
function createLaneInfoCache() {
  let known: { laneRate: number; problem: string | undefined } = { laneRate: 1, problem: undefined }
  let until = Number.NEGATIVE_INFINITY
  return async (redis: Redis, campaign: Campaign) => {
    if (performance.now() > until) {
      const [sender, problem, changed] = await Promise.all([
        findSender(redis, campaign.lane),
        templateProblem(redis, campaign),
        changedTemplate(redis, campaign),
      ])
      const reason = problem === undefined ? changed?.sentence : `${TEMPLATE_PAUSED}: ${problem.sentence}`
      known = { laneRate: sender?.rate ?? 1, problem: reason }
      until = performance.now() + 2_000
    }
    return known
  }
}
