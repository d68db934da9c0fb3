// The dry run of running a campaign again: who would get a message and who would not, and why, by the same code as the preflight but
// without writing anything.
import type { FileStore } from '../../files/store.ts'
import type { ResumeClass } from '../../model/campaigns/definition.ts'
import { type Campaign, idOf } from '../../recipients/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import type { RunPlan } from '../commands/campaign-document.ts'
import { definitionOfRun, requireSomebody } from '../commands/run-again.ts'
import { type ListedCampaign, listCampaigns } from '../store/list.ts'
import { judgeAll, templateOf } from './preflight.ts'
import { type Candidate, candidatesOf } from './recipient-sources.ts'

/** How long a dry run reads: some 100,000 people. For a longer list its result is partial. */
const READ_FOR_MS = 2_000

/** Plans a run without creating it. Throws a Refusal where a run would be refused. */
export async function planRun(
  deps: { redis: Redis; files: FileStore },
  campaign: Campaign,
  only: ResumeClass,
): Promise<RunPlan> {
  const matched = await requireSomebody(deps.redis, campaign, only)
  const run: Campaign = { ...campaign, definition: definitionOfRun(campaign, only) }
  const template = await templateOf(deps.redis, run)
  const { problems } = template
  const endMs = performance.now() + READ_FOR_MS
  let complete = true
  async function* inTime(candidates: AsyncIterable<Candidate>): AsyncGenerator<Candidate> {
    for await (const candidate of candidates) {
      complete = performance.now() < endMs
      if (!complete) return
      yield candidate
    }
  }
  const candidates = inTime(candidatesOf(deps, run, template.compiled.sources))
  const tally = await judgeAll(deps.redis, run, template, candidates, NOWHERE, problems)
  const { recipients, refused, skipped_capped, skipped_erased } = tally
  const earlier = await earlierRun(deps.redis, campaign, only)
  return {
    ...{ class: only, matched, complete, recipients, refused, skipped_capped, skipped_erased, problems },
    earlier: earlier === undefined ? null : idOf(earlier),
  }
}

/** A campaign that was made for the same class before, and may have sent something. */
async function earlierRun(redis: Redis, campaign: Campaign, only: ResumeClass): Promise<ListedCampaign | undefined> {
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

/** A list that discards what it gets. */
const NOWHERE = { add: async () => {}, refuse: async () => {} }
