// campaigns: preflight, schedule, start, pause, resume, cancel.
import { z } from 'zod'
import {
  cancelCampaign,
  checkCampaign,
  type LifecycleDeps,
  pauseCampaign,
  resumeCampaign,
  resumeClass,
  scheduleCampaign,
  startCampaign,
} from '../../campaigns/commands/lifecycle.ts'
import { RESUME_CLASSES } from '../../campaigns/definition.ts'
import type { Campaign } from '../../campaigns/store/campaigns.ts'
import { workersAlive } from '../../redis/heartbeats.ts'
import { CliFailure } from '../failure.ts'
import { instant, nameUpTo, oneOf } from '../values.ts'
import { type Verb, verb } from '../verb.ts'
import { campaignArgument, existing, shown, withLifecycle } from './campaign-context.ts'
import { confirmSecondRun } from './earlier-run.ts'

const ASK_EVERY_MS = 200

/** A verb that does one thing to one campaign and shows it as it is then. */
const onCampaign = (
  name: string,
  summary: string,
  act: (deps: LifecycleDeps, campaign: Campaign) => Promise<void>,
): Verb =>
  verb({
    usage: `${name} <id>`,
    summary,
    act: `campaign.${name}`,
    example: 'cmp_1_7',
    options: {},
    values: z.strictObject({ id: campaignArgument }),
    run: async ({ id }, context) => {
      await withLifecycle(context, async (deps) => act(deps, await existing(context.redis, id)))
      return shown(context.redis, id)
    },
  })

export const lifecycleVerbs: readonly Verb[] = [
  onCampaign('preflight', 'count, check and freeze the recipients; report all problems', async (deps, campaign) => {
    if ((await workersAlive(deps.redis)) === 0) throw new CliFailure('No worker is running, and only workers do this.')
    await checkCampaign(deps, campaign)
    while ((await existing(deps.redis, campaign)).state === 'checking') {
      await new Promise((resolve) => setTimeout(resolve, ASK_EVERY_MS))
    }
  }),
  verb({
    usage: 'schedule <id> <time>',
    summary: 'start the campaign at a given time',
    act: 'campaign.schedule',
    example: 'cmp_1_7 2026-03-01T12:00:00Z',
    options: {},
    values: z.strictObject({
      id: campaignArgument,
      time: instant.refine((at) => at > Date.now(), 'must be in the future'),
    }),
    run: async ({ id, time }, context) => {
      await withLifecycle(context, async (deps) => scheduleCampaign(deps, await existing(context.redis, id), time))
      return shown(context.redis, id)
    },
  }),
  onCampaign('start', 'start the campaign now; it must be ready', startCampaign),
  verb({
    usage: 'pause <id>',
    summary: 'pause the campaign; messages already in flight still go out',
    act: 'campaign.pause',
    example: 'cmp_1_7 --reason "wrong price"',
    options: { '--reason <text>': 'reason shown with the campaign' },
    values: z.strictObject({ id: campaignArgument, reason: nameUpTo(200).default('by hand') }),
    run: async ({ id, reason }, context) => {
      await withLifecycle(context, async (deps) => pauseCampaign(deps, await existing(context.redis, id), reason))
      return shown(context.redis, id)
    },
  }),
  verb({
    usage: 'resume <id>',
    summary: 'continue a paused campaign; with --class, create a new campaign for those recipients only',
    act: 'campaign.resume',
    example: 'cmp_1_7 --class failed',
    options: {
      '--class <class>': `${RESUME_CLASSES.join(', ')}; recipients who may already have the message are flagged possible duplicate`,
      '--yes': 'do not ask before a class is sent to that was resumed before',
    },
    values: z.strictObject({
      id: campaignArgument,
      class: oneOf(RESUME_CLASSES).optional(),
      yes: z.boolean().default(false),
    }),
    run: async ({ id, class: only, yes }, context) => {
      const now = await withLifecycle(context, async (deps) => {
        const campaign = await existing(context.redis, id)
        if (only !== undefined) {
          if (!yes) await confirmSecondRun(context, campaign, only)
          return resumeClass(deps, campaign, only, undefined)
        }
        await resumeCampaign(deps, campaign)
        return id
      })
      return shown(context.redis, now)
    },
  }),
  onCampaign('cancel', 'cancel the campaign; nothing more of it is sent', cancelCampaign),
]
