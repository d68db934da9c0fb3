// The dry run of a run again: who would get a message and who would not, and why, found as the preflight of the run will
// find it, with nothing written down.
import type { FileStore } from '../../files/store.ts'
import type { ResumeClass } from '../../model/campaigns/definition.ts'
import type { Campaign } from '../../recipients/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'
import type { RunPlan } from '../commands/campaign-document.ts'
import { definitionOfRun, requireSomebody } from '../commands/run-again.ts'
import { judgeAll, templateOf } from './preflight.ts'
import { type Candidate, candidatesOf } from './recipient-sources.ts'

/** So long a dry run looks: some 100,000 people. Of a longer list it tells what it has come to. */
const LOOK_MS = 2_000

/** Plans a run; nothing is made. Throws a Refusal where a run would be refused. */
export async function planRun(
  deps: { redis: Redis; files: FileStore },
  campaign: Campaign,
  only: ResumeClass,
): Promise<RunPlan> {
  const matched = await requireSomebody(deps.redis, campaign, only)
  const run: Campaign = { ...campaign, definition: definitionOfRun(campaign, only) }
  const template = await templateOf(deps.redis, run)
  const { problems } = template
  const endMs = performance.now() + LOOK_MS
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
  return { class: only, matched, complete, recipients, refused, skipped_capped, skipped_erased, problems }
}

/** A list that nobody keeps. */
const NOWHERE = { add: async () => {}, refuse: async () => {} }
