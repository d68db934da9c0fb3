// Looks after campaigns that should move by themselves: starts those whose time has come, takes over those whose
// fan-out has died, gives those a job back that lost it. Every worker watches; each step is harmless when taken twice.

import { Refusal } from '../../accept/refusal.ts'
import { type SteerDeps, startCampaign } from '../../campaigns/steer-campaign.ts'
import type { Log } from '../../log.ts'
import type { CampaignId } from '../../messages/campaign-id.ts'
import { awakeCampaigns, findCampaign, idOf, moveCampaign, takeOver } from '../../store/campaigns.ts'
import { redisNowMs } from '../../store/worker-beats.ts'

export const WATCH_MS = 500
/** A fan-out that works gives a sign of life several times a second. */
const SILENT_MS = 1_000

export async function watchCampaigns(deps: SteerDeps & { log: Log }): Promise<void> {
  for (const { id, state } of await awakeCampaigns(deps.redis)) {
    await lookAfter(deps, id, state).catch((error: unknown) => {
      deps.log.error({ campaign: idOf(id), err: error }, 'campaign.watch_failed')
    })
  }
}

async function lookAfter(deps: SteerDeps & { log: Log }, id: CampaignId, state: string): Promise<void> {
  if (state === 'running') {
    const epoch = await takeOver(deps.redis, id, SILENT_MS)
    if (epoch === undefined) return
    deps.log.warn({ campaign: idOf(id), epoch }, 'campaign.taken_over')
    return deps.queue.add('fan-out', id, epoch)
  }
  const campaign = await findCampaign(deps.redis, id)
  if (campaign === undefined) return
  if (campaign.state === 'checking') return deps.queue.add('preflight', id, campaign.epoch)
  const isDue = campaign.state === 'scheduled' && (campaign.scheduled_at ?? 0) <= (await redisNowMs(deps.redis))
  if (!isDue && !(campaign.state === 'ready' && campaign.starts_itself)) return
  try {
    await startCampaign(deps, campaign)
    deps.log.info({ campaign: idOf(id) }, 'campaign.started')
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    // Another worker was faster, or the template is not approved any more: then a person has to mend that.
    if (error.code === 'wrong_state') return
    const problems = [{ path: 'template.name', message: error.message }]
    const preflight = JSON.stringify({ ...campaign.preflight, problems })
    await moveCampaign(deps.redis, id, 'block', deps.retentionMs, { epoch: campaign.epoch, fields: { preflight } })
  }
}
