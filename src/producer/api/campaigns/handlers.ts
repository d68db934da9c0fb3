// Campaigns: creating, looking at and moving them. What moves one answers with the campaign as it is then.

import type { CampaignId } from '../../../campaigns/campaign-id.ts'
import type { CampaignDescription } from '../../../campaigns/commands/campaign-document.ts'
import { defineCampaign } from '../../../campaigns/commands/create.ts'
import { describeCampaign, describeCampaigns } from '../../../campaigns/commands/describe.ts'
import {
  cancelCampaign,
  checkCampaign,
  type LifecycleDeps,
  pauseCampaign,
  resumeCampaign,
  resumeClass,
  scheduleCampaign,
  startCampaign,
} from '../../../campaigns/commands/lifecycle.ts'
import { type Campaign, findCampaign } from '../../../campaigns/store/campaigns.ts'
import type { CampaignQueue } from '../../../campaigns/store/queue.ts'
import type { Config } from '../../../config.ts'
import type { FileStore } from '../../../files/store.ts'
import type { Redis } from '../../../redis/connect.ts'
import { bind, type Route } from '../../bind.ts'
import { notFound } from '../../errors.ts'
import type { CallOf } from '../../route.ts'
import { campaignFileHandlers, ownCampaign } from './file-handlers.ts'
import { campaigns as specs } from './routes.ts'

/** What the handlers of campaigns need. */
export interface CampaignDeps {
  redis: Redis
  config: Pick<Config, 'retentionMs' | 'limits'> & { files: FileStore }
  campaigns: CampaignQueue
}

/** The routes of routes/campaigns.ts. */
export function campaignRoutes({ redis, config, campaigns }: CampaignDeps): Route[] {
  const lifecycle: LifecycleDeps = { redis, queue: campaigns, retentionMs: config.retentionMs, limits: config.limits }

  async function answerWith(message: string, id: CampaignId) {
    const campaign = await findCampaign(redis, id)
    if (!campaign) throw notFound('The campaign')
    const data: CampaignDescription = await describeCampaign(redis, campaign)
    return { body: { status: true as const, message, data } }
  }

  /** A move: does it and answers with the campaign as it is then. */
  const move =
    <C extends OwnCall>(message: string, act: (campaign: Campaign, call: C) => Promise<void>) =>
    async (call: C) => {
      const campaign = await ownCampaign(redis, call)
      await act(campaign, call)
      return answerWith(message, campaign)
    }

  return bind(specs)({
    async create({ caller, body, headers }) {
      const request = { account: caller.account, body, idempotencyKey: headers['Idempotency-Key'] }
      const id = await defineCampaign(lifecycle, request)
      return { status: 201, ...(await answerWith('created', id)) }
    },
    async list({ caller, query: { cursor: offset, limit, state: states } }) {
      // One more than the page tells whether there is a next one.
      const found = await describeCampaigns(redis, caller.account, { offset, limit: limit + 1, states })
      const next = found.length > limit ? String(offset + limit) : null
      return { body: { status: true, data: found.slice(0, limit), next } }
    },
    async show(call) {
      const data = await describeCampaign(redis, await ownCampaign(redis, call))
      return { body: { status: true, message: 'campaign', data } }
    },
    preflight: move('checking', (campaign) => checkCampaign(lifecycle, campaign)),
    schedule: move<CallOf<typeof specs.schedule>>('scheduled', (campaign, { body }) =>
      scheduleCampaign(lifecycle, campaign, body.at),
    ),
    start: move('started', (campaign) => startCampaign(lifecycle, campaign)),
    pause: move<CallOf<typeof specs.pause>>('paused', (campaign, { body }) =>
      pauseCampaign(lifecycle, campaign, body.reason),
    ),
    cancel: move('cancelled', (campaign) => cancelCampaign(lifecycle, campaign)),
    async resume(call) {
      const { class: only } = call.body
      const campaign = await ownCampaign(redis, call)
      if (only === undefined) await resumeCampaign(lifecycle, campaign)
      const key = call.headers['Idempotency-Key']
      const id = only === undefined ? campaign : await resumeClass(lifecycle, campaign, only, key)
      return answerWith('resumed', id)
    },
    ...campaignFileHandlers({ redis, config }),
  })
}

type OwnCall = Parameters<typeof ownCampaign>[1]
