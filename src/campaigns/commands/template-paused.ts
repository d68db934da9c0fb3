// Pauses the campaigns of a template that WhatsApp has paused or disabled, so that no more of their messages are refused.
import { laneIdsOf } from '../../accounts/senders.ts'
import type { TemplateName } from '../../accounts/template-states.ts'
import { toldStatus } from '../../accounts/templates.ts'
import { TEMPLATE_PAUSED } from '../../model/campaigns/lifecycle.ts'
import { runningOn } from '../../recipients/active-campaigns.ts'
import { type Campaign, findCampaign, moveCampaign } from '../../recipients/campaigns.ts'
import { logOwnPause } from '../../recipients/own-pauses.ts'
import type { Redis } from '../../redis/connect.ts'
import { observerOf } from '../../redis/observe.ts'
import { skipCorrupt } from '../../redis/records.ts'
import type { MoveDeps } from './moves.ts'

/**
 * Pauses the running campaigns of the account that send this template (without one: any template), unless its current state allows
 * sending. Nothing of them is claimed from then on. Idempotent.
 */
export async function pauseForTemplate(deps: MoveDeps, account: number, template?: TemplateName): Promise<void> {
  const all = template === undefined ? (await runningCampaigns(deps.redis, account)).map(templateOf) : [template]
  const sent = new Map(all.map((each) => [`${each.name}/${each.language}`, each]))
  for (const each of sent.values()) {
    const status = await toldStatus(deps.redis, account, each)
    if (status === undefined || status === 'APPROVED') continue
    const sentence = `WhatsApp says that the template ${each.name} (${each.language}) is ${status}.`
    await pauseCampaignsOf(deps, account, each, `${TEMPLATE_PAUSED}: ${sentence}`)
  }
}

/** A language in the spelling of WhatsApp's templates. */
const templateOf = ({ definition: { template } }: Campaign): TemplateName => ({
  name: template.name,
  language: template.language.code.replaceAll('-', '_'),
})

/** Pauses the running campaigns of the account that send this template. */
export async function pauseCampaignsOf(
  deps: MoveDeps,
  account: number,
  template: TemplateName,
  reason: string,
): Promise<void> {
  for (const campaign of await runningCampaigns(deps.redis, account)) {
    const { name, language } = templateOf(campaign)
    if (name !== template.name || language !== template.language) continue
    // It may have ended by itself meanwhile.
    const moved = await moveCampaign(deps.redis, campaign, 'pause', deps.retentionMs, { fields: { reason } })
    if (moved.kind !== 'moved') continue
    observerOf(deps.redis).campaignPaused('template')
    await logOwnPause(deps.redis, campaign, reason)
  }
}

/** An unreadable campaign is left out: it does not send. */
async function runningCampaigns(redis: Redis, account: number): Promise<Campaign[]> {
  const campaigns = await Promise.all(
    (await laneIdsOf(redis, account)).map(async (lane) => {
      const running = await runningOn(redis, lane)
      return Promise.all(running.map((number) => findCampaign(redis, { lane, number }).catch(skipCorrupt)))
    }),
  )
  return campaigns.flat().flatMap((campaign) => (campaign?.state === 'running' ? [campaign] : []))
}
