// Blocks or pauses a campaign that no worker can process, and gives the reason: one whose record cannot be read, or whose
// preflight has failed several times.
import type { Fault } from '../../kernel/fault.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import type { Preflight } from '../../model/campaigns/definition.ts'
import type { CampaignMove } from '../../model/campaigns/lifecycle.ts'
import { moveCampaign } from '../../recipients/campaigns.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { campaignKey } from '../../redis/keys.ts'

const UNREADABLE = 'Its record cannot be read; the log of the worker has the details.'

/** Blocks a campaign that is being checked, with these problems and no figures. Does nothing in another epoch. */
export async function blockChecked(
  deps: { redis: Redis; retentionMs: number },
  id: CampaignId,
  epoch: number,
  problems: Fault[],
): Promise<void> {
  const fields = {
    preflight: JSON.stringify(await nothingFound(deps.redis, id, problems)),
    snapshot: '',
    total: 0,
    next: 0,
  }
  await moveCampaign(deps.redis, id, 'block', deps.retentionMs, { epoch, fields })
}

/** Blocks or pauses a campaign whose record cannot be read, as its state allows. */
export async function blockBroken(deps: { redis: Redis; retentionMs: number }, id: CampaignId): Promise<void> {
  const problems = [{ path: '', message: UNREADABLE }]
  const moves: [CampaignMove, Record<string, string>][] = [
    ['block', { preflight: JSON.stringify(await nothingFound(deps.redis, id, problems)) }],
    ['pause', { reason: UNREADABLE }],
  ]
  for (const [move, fields] of moves) await moveCampaign(deps.redis, id, move, deps.retentionMs, { fields })
}

async function nothingFound(redis: Redis, id: CampaignId, problems: Fault[]): Promise<Preflight> {
  return {
    ...nobody(),
    checked_at: await redisNowMs(redis, campaignKey(id.lane, id.number)),
    problems,
    warnings: [],
    files: [],
    rate: 1,
    ...{ seconds: 0, days: 0, people: null },
    would_expire: 0,
  }
}

/** The counts of a preflight without recipients. */
export const nobody = (): Pick<
  Preflight,
  'recipients' | 'refused' | 'excluded' | 'skipped_capped' | 'skipped_erased'
> => ({
  recipients: 0,
  refused: { duplicate: 0, number: 0, parameter: 0, unreadable: 0, opted_out: 0 },
  excluded: 0,
  skipped_capped: 0,
  skipped_erased: 0,
})
