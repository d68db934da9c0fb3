// Campaigns through the intake queue. A job says how a campaign shall be. When it is so already, the job is done: a job
// that is run again, because its worker died right after the move, must not be refused for what it did itself.
import type { z } from 'zod'
import { refuseOtherBody } from '../accept/idempotency-key.ts'
import { doesNotExist, invalidFields, Refusal } from '../accept/refusal.ts'
import { defineCampaign } from '../campaigns/create-campaign.ts'
import { describeCampaign } from '../campaigns/describe-campaign.ts'
import {
  cancelCampaign,
  checkCampaign,
  pauseCampaign,
  resumeCampaign,
  scheduleCampaign,
  startCampaign,
} from '../campaigns/steer-campaign.ts'
import type { IntakeContract, IntakeJob } from '../jobs/intake.ts'
import type { CampaignState } from '../messages/campaign-states.ts'
import { type Campaign, findOwnCampaign, idOf } from '../store/campaigns.ts'
import { bodyDigest, recallKey, rememberKey } from '../store/idempotency.ts'
import type { Redis } from '../store/redis.ts'
import { type CheckedJob, type IntakeVerb, keyOf, read, type VerbDeps } from './intake-verb.ts'

type CampaignJobName = Extract<IntakeJob, `campaign-${string}`>

export const campaignVerbs: { [J in CampaignJobName]: IntakeVerb<J> } = {
  'campaign-create': { permission: 'messages:send', run: create },
  'campaign-preflight': verb(
    (contract) => contract['campaign-preflight'],
    ['checking'],
    ({ steer }, campaign) => checkCampaign(steer, campaign),
  ),
  'campaign-schedule': verb(
    (contract) => contract['campaign-schedule'],
    ['scheduled'],
    ({ steer }, campaign, { at }) => {
      if (at <= Date.now()) throw invalidFields([{ path: 'at', message: 'must be in the future' }])
      return scheduleCampaign(steer, campaign, at)
    },
  ),
  'campaign-start': verb(
    (contract) => contract['campaign-start'],
    ['running', 'done'],
    ({ steer }, campaign) => startCampaign(steer, campaign),
  ),
  'campaign-pause': verb(
    (contract) => contract['campaign-pause'],
    ['paused'],
    ({ steer }, campaign, { reason }) => pauseCampaign(steer, campaign, reason),
  ),
  'campaign-resume': verb(
    (contract) => contract['campaign-resume'],
    ['running', 'done'],
    ({ steer }, campaign) => resumeCampaign(steer, campaign),
  ),
  'campaign-cancel': verb(
    (contract) => contract['campaign-cancel'],
    ['cancelled'],
    ({ steer }, campaign) => cancelCampaign(steer, campaign),
  ),
  'campaign-show': {
    permission: 'messages:read',
    async run({ redis }, job) {
      const { campaign_id } = read(job.contract['campaign-show'], job.data)
      return describeCampaign(redis, await ownCampaign(redis, job.account, campaign_id), Date.now())
    },
  },
}

/**
 * Creates a draft. Dies before the key is remembered: the next run makes another draft, and the first stays one for
 * ever; a draft sends nothing.
 */
async function create({ redis }: VerbDeps, job: CheckedJob) {
  const { campaign, idempotency_key } = read(job.contract['campaign-create'], job.data)
  const where = { account: job.account, route: 'campaign', key: idempotency_key || keyOf(job) }
  const digest = bodyDigest(campaign)
  const earlier = await recallKey(redis, where)
  if (earlier) {
    refuseOtherBody(earlier, digest)
    return stateOf(redis, job.account, earlier.id)
  }
  const id = idOf(await defineCampaign({ redis }, job.account, campaign, Date.now()))
  const kept = await rememberKey(redis, where, { id, digest })
  refuseOtherBody(kept, digest)
  return stateOf(redis, job.account, kept.id)
}

/** A move that brings a campaign into the first of `wanted`; from there it may have gone on by itself into another. */
function verb<S extends z.ZodType<{ campaign_id: string }>>(
  schemaOf: (contract: IntakeContract) => S,
  wanted: readonly CampaignState[],
  move: (deps: VerbDeps, campaign: Campaign, fields: z.output<S>) => Promise<void>,
) {
  return {
    permission: 'messages:send' as const,
    async run(deps: VerbDeps, job: CheckedJob) {
      const fields = read(schemaOf(job.contract), job.data)
      const campaign = await ownCampaign(deps.redis, job.account, fields.campaign_id)
      try {
        await move(deps, campaign, fields)
      } catch (error) {
        const now = await stateOf(deps.redis, job.account, fields.campaign_id)
        const isThere = error instanceof Refusal && error.code === 'wrong_state' && wanted.includes(now.state)
        if (!isThere) throw error
      }
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
