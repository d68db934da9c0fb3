// Runs a campaign again for the recipients whose messages are in one class: a new campaign with the values frozen for the first.
// preflight/plan-run.ts is its dry run.

import { cutText } from '../../kernel/cut-text.ts'
import { Refusal } from '../../kernel/refusal.ts'
import { isLaneClosed } from '../../lanes/closed-lanes.ts'
import { type CampaignId, parseCampaignId } from '../../model/campaigns/campaign-id.ts'
import {
  type Definition,
  maySendAgain,
  NAME_MOST,
  type ResumeClass,
  STATES_OF_CLASS,
  valueSourceKind,
} from '../../model/campaigns/definition.ts'
import { sharesOf } from '../../model/campaigns/progress.ts'
import {
  type Campaign,
  countRun,
  createCampaign,
  findOwnCampaign,
  idOf,
  isKept,
  newCampaignId,
} from '../../recipients/campaigns.ts'
import { readCounts } from '../../recipients/recipient-states.ts'
import type { Redis } from '../../redis/connect.ts'
import { bodyDigest } from '../../redis/idempotency.ts'
import { once } from '../../redis/once.ts'
import { existingId } from './create.ts'
import { checkCampaign, type LifecycleDeps, senderRemoved, wrongState } from './moves.ts'

/**
 * Makes a new campaign for the recipients of this one whose message is in the class. It starts by itself once they are
 * counted; this one stays as it is. The same key makes no second one.
 */
export async function runAgain(
  deps: LifecycleDeps,
  campaign: Campaign,
  only: ResumeClass,
  idempotencyKey: string | undefined,
): Promise<CampaignId> {
  const { redis } = deps
  const { account, lane } = campaign
  const digest = () => bodyDigest({ class: only })
  const use = { account, route: `campaign-resume ${idOf(campaign)}`, key: idempotencyKey, digest }
  const name = await once(redis, use, {
    async prepare() {
      await requireSomebody(redis, campaign, only)
      // Checked before the new one exists: it could never leave its draft.
      if (await isLaneClosed(redis, lane)) throw senderRemoved()
      return { name: idOf(await newCampaignId(redis, lane)), work: undefined }
    },
    async make(id) {
      // Dying after this skips a number.
      const definition = { ...definitionOfRun(campaign, only), name: await nameOfRun(redis, campaign) }
      await createCampaign(redis, { ...existingId(id), account, definition, starts_itself: true }, Date.now())
      return begun(deps, account, id)
    },
    find: (id) => begun(deps, account, id),
  })
  if (name === undefined) throw wrongState('The campaign does not exist any more.')
  return existingId(name)
}

/** The definition of a run for this class, without its name. */
export function definitionOfRun(campaign: Campaign, only: ResumeClass): Definition {
  const { valid_until: _over, ...frozen } = campaign.definition
  const recipients = {
    ...{ campaign: idOf(campaign), class: only, offer: valueSourceKind(frozen.recipients) },
    first: firstOf(campaign),
    ...(maySendAgain(frozen.recipients) && { again: true as const }),
  }
  return { ...frozen, recipients }
}

/** The first campaign of the series. */
function firstOf(campaign: Campaign): string {
  const { recipients } = campaign.definition
  return 'class' in recipients ? (recipients.first ?? recipients.campaign) : idOf(campaign)
}

/** Suffix of a run's name. */
const RUN = / \(run (\d{1,9})\)$/

/** The name of the next run: that of the first with the number of the run, such as `Black Friday (run 2)`. */
async function nameOfRun(redis: Redis, campaign: Campaign): Promise<string> {
  const first = parseCampaignId(firstOf(campaign))
  const runs = await countRun(redis, first !== undefined && (await isKept(redis, first)) ? first : campaign)
  const name = campaign.definition.name ?? firstOf(campaign)
  // The count starts again once the first campaign has expired.
  const run = Math.max(runs, Number(RUN.exec(name)?.[1] ?? 1)) + 1
  const ending = ` (run ${run})`
  return cutText(name.replace(RUN, ''), NAME_MOST - ending.length) + ending
}

/** Detail of a run in the activity, beside the campaign that was run again. */
export const runDetail = (only: ResumeClass, run: CampaignId): string =>
  `the ${only.replace('_', ' ')} again, as ${idOf(run)}`

/** Starts the preflight of a new run if it has not begun, as after a process died that had created it. */
async function begun(deps: LifecycleDeps, account: number, name: string): Promise<string | undefined> {
  const run = await findOwnCampaign(deps.redis, account, name)
  if (run?.state === 'draft') await checkCampaign(deps, run)
  return run && name
}

/** How many recipients are in the class. Throws a Refusal when there are none: the new run would be blocked for good. */
export async function requireSomebody(redis: Redis, campaign: Campaign, only: ResumeClass): Promise<number> {
  if (!['paused', 'done', 'cancelled'].includes(campaign.state) || campaign.snapshot === '') {
    throw wrongState(
      `Only a campaign that is paused, done or cancelled can be resumed for a class; this one is ${campaign.state}.`,
    )
  }
  const shares = sharesOf(await readCounts(redis, campaign), campaign.total, campaign.state)
  const count = STATES_OF_CLASS[only].reduce((sum, state) => sum + shares[state], 0)
  if (count > 0) return count
  const sentence = `No recipient of this campaign is ${only.replace('_', ' ')}: there is nobody to send to.`
  throw new Refusal('conflict', 'nobody_in_class', sentence)
}
