// campaigns: preflight, schedule, start, pause, resume, cancel.
import { z } from 'zod'
import {
  cancelCampaign,
  checkCampaign,
  pauseCampaign,
  resumeCampaign,
  resumeClass,
  type SteerDeps,
  scheduleCampaign,
  startCampaign,
} from '../../campaigns/commands/lifecycle.ts'
import { RESUME_CLASSES } from '../../campaigns/definition.ts'
import type { Campaign } from '../../campaigns/store/campaigns.ts'
import { workersAlive } from '../../redis/heartbeats.ts'
import { CliFailure } from '../failure.ts'
import { instant, nameUpTo, oneOf } from '../typed.ts'
import { type Verb, verb } from '../verb.ts'
import { campaignArgument, existing, shown, steering } from './campaign-desk.ts'

const ASK_EVERY_MS = 200

/** A verb that does one thing to one campaign and shows it as it is then. */
const onCampaign = (name: string, summary: string, act: (deps: SteerDeps, campaign: Campaign) => Promise<void>): Verb =>
  verb({
    usage: `${name} <id>`,
    summary,
    example: 'cmp_1_7',
    options: {},
    values: z.strictObject({ id: campaignArgument }),
    run: async ({ id }, desk) => {
      await steering(desk, async (deps) => act(deps, await existing(desk.redis, id)))
      return shown(desk.redis, id)
    },
  })

export const steeringVerbs: readonly Verb[] = [
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
    example: 'cmp_1_7 2026-03-01T12:00:00Z',
    options: {},
    values: z.strictObject({
      id: campaignArgument,
      time: instant.refine((at) => at > Date.now(), 'must be in the future'),
    }),
    run: async ({ id, time }, desk) => {
      await steering(desk, async (deps) => scheduleCampaign(deps, await existing(desk.redis, id), time))
      return shown(desk.redis, id)
    },
  }),
  onCampaign('start', 'start the campaign now; it must be ready', startCampaign),
  verb({
    usage: 'pause <id>',
    summary: 'pause the campaign; messages already in flight still go out',
    example: 'cmp_1_7 --reason "wrong price"',
    options: { '--reason <text>': 'reason shown with the campaign' },
    values: z.strictObject({ id: campaignArgument, reason: nameUpTo(200).default('by hand') }),
    run: async ({ id, reason }, desk) => {
      await steering(desk, async (deps) => pauseCampaign(deps, await existing(desk.redis, id), reason))
      return shown(desk.redis, id)
    },
  }),
  verb({
    usage: 'resume <id>',
    summary: 'continue a paused campaign; with --class, create a new campaign for those recipients only',
    example: 'cmp_1_7 --class failed',
    options: {
      '--class <class>': `${RESUME_CLASSES.join(', ')}; recipients who may already have the message are flagged possible duplicate`,
    },
    values: z.strictObject({ id: campaignArgument, class: oneOf(RESUME_CLASSES).optional() }),
    run: async ({ id, class: only }, desk) => {
      const now = await steering(desk, async (deps) => {
        const campaign = await existing(desk.redis, id)
        if (only !== undefined) return resumeClass(deps, campaign, only, undefined)
        await resumeCampaign(deps, campaign)
        return id
      })
      return shown(desk.redis, now)
    },
  }),
  onCampaign('cancel', 'cancel the campaign; nothing more of it is sent', cancelCampaign),
]
