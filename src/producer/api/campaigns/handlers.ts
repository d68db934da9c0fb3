// Campaigns. Every change of one answers with the campaign as it is afterwards.

import { defineCampaign } from '../../../campaigns/commands/create.ts'
import { describeCampaign, describeCampaigns } from '../../../campaigns/commands/describe.ts'
import {
  cancelCampaign,
  checkCampaign,
  type LifecycleDeps,
  pauseCampaign,
  resumeCampaign,
  scheduleCampaign,
  startCampaign,
} from '../../../campaigns/commands/moves.ts'
import { runAgain, runDetail } from '../../../campaigns/commands/run-again.ts'
import { planRun } from '../../../campaigns/preflight/plan-run.ts'
import type { CampaignQueue } from '../../../campaigns/store/queue.ts'
import type { FileStore } from '../../../files/store.ts'
import type { Config } from '../../../kernel/config.ts'
import type { CampaignId } from '../../../model/campaigns/campaign-id.ts'
import { reasonForActivity } from '../../../model/lanes/pause-reason.ts'
import { type Campaign, findCampaign } from '../../../recipients/campaigns.ts'
import type { Redis } from '../../../redis/connect.ts'
import { accountOf } from '../../acting-account.ts'
import { bind, type Route } from '../../bind.ts'
import type { ContextOf } from '../../route.ts'
import { created, lists, shows } from '../answers.ts'
import { found } from '../requests.ts'
import { campaignFileHandlers, ownCampaign } from './file-handlers.ts'
import { campaigns as specs } from './routes.ts'

interface CampaignDeps {
  redis: Redis
  config: Pick<Config, 'retentionMs' | 'limits'> & { files: FileStore }
  campaigns: CampaignQueue
}

type OwnCall = Parameters<typeof ownCampaign>[1]

export function campaignRoutes({ redis, config, campaigns }: CampaignDeps): Route[] {
  const lifecycle: LifecycleDeps = { redis, queue: campaigns, retentionMs: config.retentionMs, limits: config.limits }

  const describe = async (id: CampaignId) =>
    describeCampaign(redis, found(await findCampaign(redis, id), 'The campaign'))

  /** A handler that changes a campaign. */
  const change =
    <C extends OwnCall>(message: string, act: (campaign: Campaign, call: C) => Promise<void>) =>
    async (call: C) => {
      const campaign = await ownCampaign(redis, call)
      await act(campaign, call)
      return shows(message, await describe(campaign))
    }

  return bind(specs)({
    async create({ caller, body, headers }) {
      const request = { account: caller.account, body, idempotencyKey: headers['Idempotency-Key'] }
      return created(await describe(await defineCampaign(lifecycle, request)))
    },
    async list({ caller, query: { cursor: offset, limit, state: states } }) {
      // One more than the page, to know whether there is a next one.
      const described = await describeCampaigns(redis, accountOf(caller), { offset, limit: limit + 1, states })
      const next = described.length > limit ? String(offset + limit) : null
      return lists({ data: described.slice(0, limit), next })
    },
    async show(call) {
      return shows('campaign', await describeCampaign(redis, await ownCampaign(redis, call)))
    },
    preflight: change('checking', (campaign) => checkCampaign(lifecycle, campaign)),
    schedule: change<ContextOf<typeof specs.schedule>>('scheduled', (campaign, { body }) =>
      scheduleCampaign(lifecycle, campaign, body.at),
    ),
    start: change('started', (campaign) => startCampaign(lifecycle, campaign)),
    pause: change<ContextOf<typeof specs.pause>>('paused', (campaign, { body, audit }) => {
      audit({ detail: reasonForActivity(body.reason) })
      return pauseCampaign(lifecycle, campaign, body.reason)
    }),
    cancel: change('cancelled', (campaign) => cancelCampaign(lifecycle, campaign)),
    async resume(call) {
      const { class: only, dry_run } = call.body
      const campaign = await ownCampaign(redis, call)
      if (only === undefined) {
        await resumeCampaign(lifecycle, campaign)
        return shows('resumed', await describe(campaign))
      }
      if (dry_run) {
        call.audit('nothing')
        return shows('nothing was sent', await planRun({ redis, files: config.files }, campaign, only))
      }
      const made = await runAgain(lifecycle, campaign, only, call.headers['Idempotency-Key'])
      call.audit({ detail: runDetail(only, made) })
      return shows('resumed', await describe(made))
    },
    ...campaignFileHandlers({ redis, config }),
  })
}
