// Campaigns through the intake queue. A job says how a campaign shall be; when it is so already, the job is done. So one
// that is run again, because its worker died right after the move, is not refused for what it did itself.
import type { z } from 'zod'
import { defineCampaign } from '../../../campaigns/commands/create.ts'
import { describeCampaign } from '../../../campaigns/commands/describe.ts'
import {
  cancelCampaign,
  checkCampaign,
  pauseCampaign,
  resumeCampaign,
  scheduleCampaign,
  startCampaign,
} from '../../../campaigns/commands/lifecycle.ts'
import { type Campaign, findOwnCampaign, idOf } from '../../../campaigns/store/campaigns.ts'
import type { IntakeContract, IntakeJob } from '../../../jobs/intake.ts'
import { doesNotExist } from '../../../messages/accept/refusal.ts'
import type { Redis } from '../../../redis/connect.ts'
import { type CheckedJob, type IntakeVerb, keyOf, read, type VerbDeps } from './verb.ts'

type CampaignJobName = Extract<IntakeJob, `campaign-${string}`>

export const campaignVerbs: { [J in CampaignJobName]: IntakeVerb<J> } = {
  'campaign-create': { permission: 'messages:send', run: create },
  'campaign-preflight': verb(
    (contract) => contract['campaign-preflight'],
    ({ lifecycle }, campaign) => checkCampaign(lifecycle, campaign),
  ),
  'campaign-schedule': verb(
    (contract) => contract['campaign-schedule'],
    ({ lifecycle }, campaign, { at }) => {
      return scheduleCampaign(lifecycle, campaign, at)
    },
  ),
  'campaign-start': verb(
    (contract) => contract['campaign-start'],
    ({ lifecycle }, campaign) => startCampaign(lifecycle, campaign),
  ),
  'campaign-pause': verb(
    (contract) => contract['campaign-pause'],
    ({ lifecycle }, campaign, { reason }) => pauseCampaign(lifecycle, campaign, reason),
  ),
  'campaign-resume': verb(
    (contract) => contract['campaign-resume'],
    ({ lifecycle }, campaign) => resumeCampaign(lifecycle, campaign),
  ),
  'campaign-cancel': verb(
    (contract) => contract['campaign-cancel'],
    ({ lifecycle }, campaign) => cancelCampaign(lifecycle, campaign),
  ),
  'campaign-show': {
    permission: 'messages:read',
    async run({ redis }, job) {
      const { campaign_id } = read(job.contract['campaign-show'], job.data)
      return describeCampaign(redis, await ownCampaign(redis, job.account, campaign_id))
    },
  },
}

/** Creates a draft. */
async function create({ redis, lifecycle }: VerbDeps, job: CheckedJob) {
  const { campaign, idempotency_key } = read(job.contract['campaign-create'], job.data)
  const request = { account: job.account, body: campaign, idempotencyKey: idempotency_key || keyOf(job) }
  return stateOf(redis, job.account, idOf(await defineCampaign(lifecycle, request)))
}

/** A move that says how a campaign shall be. */
function verb<S extends z.ZodType<{ campaign_id: string }>>(
  schemaOf: (contract: IntakeContract) => S,
  move: (deps: VerbDeps, campaign: Campaign, fields: z.output<S>) => Promise<void>,
) {
  return {
    permission: 'messages:send' as const,
    async run(deps: VerbDeps, job: CheckedJob) {
      const fields = read(schemaOf(job.contract), job.data)
      await move(deps, await ownCampaign(deps.redis, job.account, fields.campaign_id), fields)
      return stateOf(deps.redis, job.account, fields.campaign_id)
    },
  }
}

async function ownCampaign(redis: Redis, account: number, name: string): Promise<Campaign> {
  const campaign = await findOwnCampaign(redis, account, name)
  if (!campaign) throw doesNotExist('The campaign')
  return campaign
}

async function stateOf(redis: Redis, account: number, name: string) {
  const { state } = await ownCampaign(redis, account, name)
  return { campaign_id: name, state }
}
