// What the campaign verbs share: the campaign that was typed, the means to move it, and refusals as sentences.

import type { CampaignId } from '../../campaigns/campaign.ts'
import { parseCampaignId } from '../../campaigns/campaign.ts'
import { describeCampaign } from '../../campaigns/commands/describe.ts'
import type { LifecycleDeps } from '../../campaigns/commands/lifecycle.ts'
import { type Campaign, findCampaign, idOf } from '../../campaigns/store/campaigns.ts'
import { openCampaignQueue } from '../../campaigns/store/queue.ts'
import { Refusal } from '../../messages/accept/refusal.ts'
import type { Redis } from '../../redis/connect.ts'
import { CliFailure, sentenceOfRefusal } from '../failure.ts'
import { parser } from '../values.ts'
import type { Answer, CommandContext } from '../verb.ts'
import { campaignSummary } from './campaign-summary.ts'

export const campaignArgument = parser(
  'the id of a campaign such as cmp_1_7, see `campaigns list --account <id>`',
  parseCampaignId,
)

/** The campaign's record, or a CliFailure when there is none. */
export async function existing(redis: Redis, id: CampaignId): Promise<Campaign> {
  const campaign = await findCampaign(redis, id)
  if (campaign === undefined)
    throw new CliFailure(`There is no campaign ${idOf(id)}; see \`campaigns list --account <id>\`.`)
  return campaign
}

/** Runs `work` with the queue open; a refusal ends the command with its sentence and all its details. */
export async function withLifecycle<T>(
  { redis, config }: CommandContext,
  work: (deps: LifecycleDeps) => Promise<T>,
): Promise<T> {
  const queue = openCampaignQueue(redis)
  try {
    return await work({ redis, queue, retentionMs: config.retentionMs })
  } catch (error) {
    if (!(error instanceof Refusal)) throw error
    throw new CliFailure(sentenceOfRefusal(error))
  } finally {
    await queue.close()
  }
}

/** The campaign as it is now; the target of what was done, where the verb did something. */
export async function shown(redis: Redis, id: CampaignId): Promise<Answer & { json: object }> {
  const campaign = await existing(redis, id)
  const json = await describeCampaign(redis, campaign)
  return { json, text: campaignSummary(json), acted: { account: campaign.account, target: idOf(id) } }
}
