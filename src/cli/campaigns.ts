// campaigns: create, list, show, preflight, schedule, start, pause, resume, cancel; campaign-files.ts has the verbs on files.
import { setTimeout as sleep } from 'node:timers/promises'
import { listAccounts } from '../accounts/accounts.ts'
import type { CampaignDescription, RunPlan } from '../campaigns/commands/campaign-document.ts'
import { defineCampaign } from '../campaigns/commands/create.ts'
import { describeCampaigns } from '../campaigns/commands/describe.ts'
import { type ListedCampaign, listCampaigns } from '../campaigns/store/list.ts'
import { RESUME_CLASSES, type ResumeClass } from '../model/campaigns/definition.ts'
import { CAMPAIGN_STATES, type CampaignState, isBeforeStart } from '../model/campaigns/lifecycle.ts'
import { type Campaign, idOf } from '../recipients/campaigns.ts'
import type { Redis } from '../redis/connect.ts'
import { workersAlive } from '../redis/heartbeats.ts'
import { fileVerbs } from './campaign-files.ts'
import {
  campaignArgument,
  existing,
  type Lifecycle,
  lifecycleOf,
  planText,
  shown,
  watchVerb,
} from './campaign-summary.ts'
import { CliFailure } from './failure.ts'
import { jsonPath, readJsonObject } from './files.ts'
import { type Columns, listed } from './print.ts'
import { confirm } from './session.ts'
import { accountId, instant, nameUpTo, oneOf, someOf } from './values.ts'
import { type CommandContext, flag, option, type Verb, verb } from './verb.ts'

/** The latest ones; older ones are found over HTTP. */
const LISTED = 50
const ASK_EVERY_MS = 200

const COLUMNS: Columns<CampaignDescription> = {
  CAMPAIGN: ({ id }) => id,
  NAME: ({ name }) => name,
  STATE: ({ state }) => state,
  SENDER: ({ sender }) => sender,
  TEMPLATE: ({ template }) => template.name,
  RECIPIENTS: ({ progress }) => progress.total,
  // Before the start nobody is in a queue.
  QUEUED: ({ state, progress }) => (isBeforeStart(state) ? '-' : progress.queued),
  FAILED: ({ progress }) => progress.failed + progress.unknown,
}

/** A verb that does one thing to one campaign and shows it as it is then. */
const onCampaign = (
  name: string,
  summary: string,
  act: (lifecycle: Lifecycle, campaign: Campaign) => Promise<void>,
): Verb =>
  verb({
    usage: `${name} <id>`,
    summary,
    act: `campaign.${name}`,
    example: 'cmp_1_7',
    values: { id: campaignArgument },
    async run({ id }, context) {
      await act(await lifecycleOf(context), await existing(context.redis, id))
      return shown(context.redis, id)
    },
  })

export const verbs: readonly Verb[] = [
  verb({
    usage: 'create <file>',
    summary: 'create a draft from a JSON file (- for standard input), the same as the body of POST /campaigns',
    act: 'campaign.create',
    example: 'spring.json --account 1',
    values: { file: jsonPath, account: option(accountId, 'id', 'account that owns it') },
    async run({ file, account }, context) {
      const body = await readJsonObject(file, context.stdin)
      const { deps } = await lifecycleOf(context)
      const id = await defineCampaign(deps, { account, body, idempotencyKey: undefined })
      return shown(context.redis, id)
    },
  }),
  verb({
    usage: 'list',
    summary: `list the ${LISTED} latest campaigns`,
    example: '--state running,paused',
    values: {
      account: option(accountId.optional(), 'id', 'only those of one account'),
      state: option(
        someOf(CAMPAIGN_STATES).optional(),
        'list',
        `only those in one of these states, separated by commas: ${CAMPAIGN_STATES.join(', ')}`,
      ),
    },
    async run({ account, state: states }, { redis }) {
      const all = await latestOf(redis, account, states)
      const which = states === undefined ? 'yet' : `that is ${states.join(' or ')}`
      return listed(all, COLUMNS, `There is no campaign ${which}.`)
    },
  }),
  verb({
    usage: 'show <id>',
    summary: 'show a campaign and its progress',
    example: 'cmp_1_7',
    values: { id: campaignArgument },
    run: ({ id }, { redis }) => shown(redis, id),
  }),
  watchVerb,
  onCampaign(
    'preflight',
    'count, check and freeze the recipients; report all problems',
    async ({ deps, checkCampaign }, campaign) => {
      if ((await workersAlive(deps.redis)) === 0)
        throw new CliFailure('No worker is running, and only workers do this.')
      await checkCampaign(deps, campaign)
      while ((await existing(deps.redis, campaign)).state === 'checking') await sleep(ASK_EVERY_MS)
    },
  ),
  verb({
    usage: 'schedule <id> <time>',
    summary: 'start the campaign at a given time',
    act: 'campaign.schedule',
    example: 'cmp_1_7 2026-03-01T12:00:00Z',
    values: {
      id: campaignArgument,
      time: instant.refine((at) => at > Date.now(), 'must be in the future'),
    },
    async run({ id, time }, context) {
      const { deps, scheduleCampaign } = await lifecycleOf(context)
      await scheduleCampaign(deps, await existing(context.redis, id), time)
      return shown(context.redis, id)
    },
  }),
  onCampaign('start', 'start the campaign now; it must be ready', ({ deps, startCampaign }, campaign) =>
    startCampaign(deps, campaign),
  ),
  verb({
    usage: 'pause <id>',
    summary: 'pause the campaign; messages already in flight still go out',
    act: 'campaign.pause',
    example: 'cmp_1_7 --reason "wrong price"',
    values: {
      id: campaignArgument,
      reason: option(nameUpTo(200).default('by hand'), 'text', 'reason shown with the campaign'),
    },
    async run({ id, reason }, context) {
      const { deps, pauseCampaign } = await lifecycleOf(context)
      await pauseCampaign(deps, await existing(context.redis, id), reason)
      return shown(context.redis, id)
    },
  }),
  verb({
    usage: 'resume <id>',
    summary: 'continue a paused campaign; with --class, create a new campaign for those recipients only',
    act: 'campaign.resume',
    example: 'cmp_1_7 --class failed',
    values: {
      id: campaignArgument,
      class: option(
        oneOf(RESUME_CLASSES).optional(),
        'class',
        `${RESUME_CLASSES.join(', ')}; recipients who may already have the message are flagged possible duplicate`,
      ),
      dryRun: flag('with --class: only show whom it would reach, and whom it skips and why'),
      yes: flag('do not ask before a class is sent to'),
    },
    check({ class: only, dryRun }, wrong) {
      if (dryRun && only === undefined) wrong('dryRun', 'give a class as well')
    },
    async run({ id, class: only, dryRun, yes }, context) {
      const { redis, config } = context
      const { deps, resumeCampaign, runAgain, runDetail } = await lifecycleOf(context)
      const campaign = await existing(redis, id)
      if (only === undefined) {
        await resumeCampaign(deps, campaign)
        return shown(redis, id)
      }
      const { planRun } = await import('../campaigns/preflight/plan-run.ts')
      const plan = await planRun({ redis, files: config.files }, campaign, only)
      if (dryRun) return { json: plan, text: `${planText(plan)}. Nothing was sent.` }
      if (plan.recipients === 0 && plan.complete) throw new CliFailure(`${planText(plan)}: nothing was sent.`)
      if (!yes) await confirmRun(context, campaign, plan)
      const made = await runAgain(deps, campaign, only, undefined)
      const acted = { account: campaign.account, target: idOf(campaign), detail: runDetail(only, made) }
      return { ...(await shown(redis, made)), acted }
    },
  }),
  onCampaign('cancel', 'cancel the campaign; nothing more of it is sent', ({ deps, cancelCampaign }, campaign) =>
    cancelCampaign(deps, campaign),
  ),
  ...fileVerbs,
]

/** The latest campaigns of one account or of all, the latest first. */
async function latestOf(redis: Redis, account: number | undefined, states: readonly CampaignState[] | undefined) {
  const page = { offset: 0, limit: LISTED, states }
  if (account !== undefined) return describeCampaigns(redis, account, page)
  const all: CampaignDescription[] = []
  for (const { id } of await listAccounts(redis)) all.push(...(await describeCampaigns(redis, id, page)))
  // Ids of one moment have an order as well, and the times of all have one form.
  return all.sort((one, other) => (one.created_at < other.created_at ? 1 : -1)).slice(0, LISTED)
}

/**
 * Asks a person before a run again, with whom it reaches and whom it skips. A script is not asked, but for a second run of a
 * class: that one sends to everybody of the class again, also to those that the first has reached, because the class is that
 * of the campaign that is resumed, whatever happened since.
 */
async function confirmRun(context: CommandContext, campaign: Campaign, plan: RunPlan): Promise<void> {
  const earlier = await earlierRun(context, campaign, plan.class)
  const declined = 'Nothing was sent.'
  if (earlier === undefined) {
    if ('isTTY' in context.stdin && context.stdin.isTTY === true)
      await confirm(context, { sentence: planText(plan), declined })
    return
  }
  const [made, source] = [idOf(earlier), idOf(campaign)]
  await confirm(context, {
    sentence:
      `${made} was made for the ${plan.class.replace('_', ' ')} recipients of ${source} already, ` +
      `and another one sends to all of them again: ${planText(plan)}`,
    otherwise: `Resume ${made} with a class for those it did not reach, or confirm with --yes.`,
    declined,
  })
}

async function earlierRun(
  { redis }: CommandContext,
  campaign: Campaign,
  only: ResumeClass,
): Promise<ListedCampaign | undefined> {
  const source = idOf(campaign)
  const isEarlier = ({ definition: { recipients }, state, started_at }: ListedCampaign): boolean =>
    'campaign' in recipients &&
    recipients.campaign === source &&
    recipients.class === only &&
    // One that ended before it started has sent nothing.
    (state !== 'cancelled' || started_at !== undefined)
  for await (const page of listCampaigns(redis, campaign.account, { offset: 0, limit: Number.MAX_SAFE_INTEGER })) {
    const found = page.find(isEarlier)
    if (found !== undefined) return found
  }
  return undefined
}
