// The job `preflight`: reads the recipients once, refuses duplicates, impossible numbers and values that do not fit, freezes those who
// will get a message, and reports all problems. If the process dies, the job runs again from the beginning with a new list; the
// campaign's record names a list only once it is complete. A file that kills its worker each time is not tried for ever: the starts are
// counted in Redis before reading begins, and after three that did not end the campaign is blocked.

import { findAccount } from '../../accounts/accounts.ts'
import { findSender } from '../../accounts/senders.ts'
import { findTemplate } from '../../accounts/templates.ts'
import { createDoubts } from '../../files/doubtful-text.ts'
import { type FileStore, isFilesAway } from '../../files/store.ts'
import type { Config } from '../../kernel/config.ts'
import type { Fault } from '../../kernel/fault.ts'
import type { Log } from '../../kernel/log.ts'
import { mainForm } from '../../kernel/national-forms.ts'
import type { CampaignId } from '../../model/campaigns/campaign-id.ts'
import { compiledOf, durationOf, lateOf, type Preflight } from '../../model/campaigns/definition.ts'
import { MAX_RECIPIENTS } from '../../model/campaigns/message-ids.ts'
import { createNumberSet } from '../../model/campaigns/number-set.ts'
import { type CompiledComponents, structuralFaults } from '../../model/campaigns/parameters.ts'
import { matchTemplate } from '../../model/templates/match-template.ts'
import { cloudApiOnlyFaults } from '../../model/templates/rich-parameters.ts'
import { shapeOf, type Template, type TemplateShape } from '../../model/templates/template.ts'
import { rulesOwnerOf } from '../../portfolios/rules-owner.ts'
import { peopleAllowed } from '../../portfolios/usage.ts'
import { type Campaign, findCampaign, idOf, moveCampaign } from '../../recipients/campaigns.ts'
import { removeFiles } from '../../recipients/files.ts'
import { notePreflightStarts } from '../../recipients/preflight-starts.ts'
import { writeSnapshot } from '../../recipients/snapshot.ts'
import { redisNowMs } from '../../redis/clock.ts'
import type { Redis } from '../../redis/connect.ts'
import { isRedisAway, withTimeout } from '../../redis/errors.ts'
import { campaignKey } from '../../redis/keys.ts'
import { templateProblem } from '../commands/template-problem.ts'
import { blockChecked, nobody } from '../fan-out/block.ts'
import { fileFaults, type UploadedFor, uploadFiles } from './campaign-files.ts'
import { withoutOptedOut } from './opt-out-filter.ts'
import { type Candidate, candidatesOf, SourceProblem, unknownTags } from './recipient-sources.ts'

/** Dependencies of a preflight. */
export interface PreflightDeps {
  redis: Redis
  files: FileStore
  config: Pick<Config, 'retentionMs' | 'validityMs'>
  log: Log
  uploadedFor: UploadedFor
}

export type Tally = ReturnType<typeof nobody>

/** Starts that may end with the death of their worker before the campaign is blocked. */
const MOST_STARTS = 3
/** How long to wait for Redis to take the start back. */
const LAST_WORDS_MS = 1_000

/**
 * Checks the campaign, if it still is in this epoch. `again`: it was asked to stop, and the job is to be put back. Rejects
 * only while Redis or the files are away.
 */
export async function preflight(
  deps: PreflightDeps,
  id: CampaignId,
  epoch: number,
  stopped: AbortSignal,
): Promise<'again' | 'over'> {
  const { redis, config, log } = deps
  let campaign: Campaign | undefined
  try {
    campaign = await findCampaign(redis, id)
    if (campaign?.state !== 'checking' || campaign.epoch !== epoch) return 'over'
    const starts = campaign.preflight_starts + 1
    await notePreflightStarts(redis, campaign, starts)
    if (starts > MOST_STARTS) {
      log.error({ campaign: idOf(id) }, 'preflight.blocked')
      const message = `the preflight was started ${MOST_STARTS} times and never came to its end; the log of the workers has the reason`
      await blockChecked({ redis, ...config }, id, epoch, [{ path: 'recipients', message }])
      return 'over'
    }
    await check(deps, campaign, stopped)
    return 'over'
  } catch (error) {
    // Neither is the fault of the file. If this write is lost, it has one start less.
    const isStopped = error instanceof StoppedError
    const isAway = isRedisAway(error) || isFilesAway(error)
    if (campaign && (isStopped || isAway)) {
      const takenBack = notePreflightStarts(redis, campaign, campaign.preflight_starts)
      await withTimeout(LAST_WORDS_MS, takenBack).catch(() => {})
    }
    if (isStopped) return 'again'
    if (isAway) throw error
    log.error({ campaign: idOf(id), err: error }, 'preflight.failed')
    await blockChecked({ redis, ...config }, id, epoch, [{ path: 'recipients', message: unreadable(error) }])
    return 'over'
  }
}

/** The worker was asked to stop while it read. */
class StoppedError extends Error {
  override name = 'StoppedError'
}

async function check(deps: PreflightDeps, campaign: Campaign, stopped: AbortSignal): Promise<void> {
  const template = await templateOf(deps.redis, campaign)
  const { withPlaceholders } = template.compiled
  const [ofTags, ofFiles] = await Promise.all([
    unknownTags(deps.redis, campaign),
    fileFaults(deps.redis, campaign, withPlaceholders),
  ])
  const problems = [...template.problems, ...ofFiles, ...ofTags]
  const snapshot = await writeSnapshot(deps.files, campaign).catch((error: unknown) => {
    if (isFilesAway(error)) throw error
    problems.push({ path: 'recipients', message: unreadable(error) })
    return undefined
  })
  if (snapshot === undefined) return void (await report(deps, campaign, nobody(), problems, undefined))
  try {
    const doubts = createDoubts()
    const source = doubting(candidatesOf(deps, campaign, template.compiled.sources), doubts)
    const candidates = whileRunning(source, stopped)
    const tally = await judgeAll(deps.redis, campaign, template, candidates, snapshot, problems)
    await snapshot.close()
    const isSound = problems.length === 0 && tally.recipients > 0
    const files = isSound ? await uploadFiles(deps, campaign, withPlaceholders, tally.recipients) : undefined
    problems.push(...(files?.problems ?? []))
    const ofValues = doubts.sentences().map((message) => ({ path: 'recipients', message }))
    const warnings = [...ofValues, ...(files?.warnings ?? [])]
    const frozen = { name: snapshot.name, template: template.template, files: files?.files ?? [], warnings }
    // Cancelled meanwhile, or checked by another worker that considered this one dead.
    if (!(await report(deps, campaign, tally, problems, frozen))) await discardUnlessKept(deps, campaign, snapshot)
  } catch (error) {
    await discardUnlessKept(deps, campaign, snapshot)
    if (isRedisAway(error) || isFilesAway(error) || error instanceof StoppedError) throw error
    deps.log.error({ campaign: idOf(campaign), err: error }, 'preflight.failed')
    problems.push({ path: 'recipients', message: unreadable(error) })
    await report(deps, campaign, nobody(), problems, undefined)
  }
}

/**
 * The move may have been made although its answer was lost, and then the campaign uses this list. Without Redis that is unknown:
 * leftovers are purged later.
 */
async function discardUnlessKept(
  { redis }: PreflightDeps,
  campaign: Campaign,
  snapshot: { name: string; discard: () => Promise<void> },
): Promise<void> {
  const now = await findCampaign(redis, campaign).catch(() => undefined)
  if (now !== undefined && now.snapshot !== snapshot.name) await snapshot.discard()
}

interface CampaignTemplate {
  template: Template | undefined
  /** Checks each recipient's values; undefined when there is nothing to check, or no template to check against. */
  shape: TemplateShape | undefined
  compiled: CompiledComponents
  problems: Fault[]
}

/** The current template of a campaign, with what prevents sending it. */
export async function templateOf(redis: Redis, campaign: Campaign): Promise<CampaignTemplate> {
  const { template: wanted } = campaign.definition
  const [sender, account, template, problem] = await Promise.all([
    findSender(redis, campaign.lane),
    findAccount(redis, campaign.account),
    findTemplate(redis, campaign.account, wanted.name, wanted.language.code),
    templateProblem(redis, campaign),
  ])
  const result = compiledOf(campaign.definition)
  const compiled = result.ok ? result.compiled : { sources: [], fill: () => [], withPlaceholders: [] }
  const problems = [...(problem === undefined ? [] : [{ path: 'template.name', message: problem.sentence }])]
  if (!result.ok) problems.push(...result.faults)
  if (sender?.provider === 'partner-api') problems.push(...cloudApiOnlyFaults(compiled.withPlaceholders))
  if (!template || account?.template_check === 'off') return { template, shape: undefined, compiled, problems }
  const shape = shapeOf(template)
  const faults = structuralFaults(shape, compiled)
  const isFilledIn = compiled.sources.length > 0 && faults.length === 0
  return { template, shape: isFilledIn ? shape : undefined, compiled, problems: [...problems, ...faults] }
}

/** Passes the candidates through and collects doubtful text in their values. */
async function* doubting(
  candidates: AsyncIterable<Candidate>,
  doubts: ReturnType<typeof createDoubts>,
): AsyncGenerator<Candidate> {
  for await (const candidate of candidates) {
    if (candidate.kind === 'found') for (const value of candidate.values) doubts.add(value, candidate.where)
    yield candidate
  }
}

async function* whileRunning(candidates: AsyncIterable<Candidate>, stopped: AbortSignal): AsyncGenerator<Candidate> {
  for await (const candidate of candidates) {
    if (stopped.aborted) throw new StoppedError()
    yield candidate
  }
}

/**
 * Checks the candidates in order and passes each to `list`, as accepted or refused. Problems of their source as a whole are added to
 * `problems`.
 */
export async function judgeAll(
  redis: Redis,
  campaign: Campaign,
  { shape, compiled }: Pick<CampaignTemplate, 'shape' | 'compiled'>,
  candidates: AsyncIterable<Candidate>,
  list: Pick<Awaited<ReturnType<typeof writeSnapshot>>, 'add' | 'refuse'>,
  problems: Fault[],
): Promise<Tally> {
  const tally = nobody()
  const refuse = (where: string, phone: string, reason: keyof Tally['refused'], explanation: string) => {
    tally.refused[reason] += 1
    return list.refuse(where, phone, reason, explanation)
  }
  const seen = createNumberSet()
  try {
    for await (const candidate of withoutOptedOut(redis, campaign.account, candidates)) {
      if (candidate.kind !== 'found' && candidate.kind !== 'refused') {
        tally[LEFT_OUT[candidate.kind]] += 1
        continue
      }
      const { where } = candidate
      if (candidate.kind === 'refused') {
        await refuse(where, candidate.phone, candidate.reason, candidate.explanation)
        continue
      }
      const { to, values } = candidate
      const [fault] = shape === undefined ? [] : matchTemplate(shape, compiled.fill(values))
      if (fault !== undefined) {
        await refuse(where, to, 'parameter', `${fault.path}: ${fault.message}`)
        continue
      }
      if (!seen.add(Number(mainForm(to)))) {
        await refuse(where, to, 'duplicate', 'the number appears earlier in the list')
        continue
      }
      if (seen.size() > MAX_RECIPIENTS) throw new SourceProblem('recipients', `more than ${MAX_RECIPIENTS} recipients`)
      await list.add({ to, values })
    }
  } catch (error) {
    if (!(error instanceof SourceProblem)) throw error
    problems.push({ path: error.path, message: error.message })
  }
  return { ...tally, recipients: seen.size() }
}

/** The counter for a candidate of this kind. */
const LEFT_OUT = { excluded: 'excluded', capped: 'skipped_capped', erased: 'skipped_erased' } as const

/** Stores the result; false when the campaign has changed since the check began. */
async function report(
  deps: PreflightDeps,
  campaign: Campaign,
  tally: Tally,
  problems: Fault[],
  frozen: ({ name: string; template: Template | undefined } & Pick<Preflight, 'files' | 'warnings'>) | undefined,
): Promise<boolean> {
  const { redis, config, log } = deps
  const [sender, checked_at] = await Promise.all([
    findSender(redis, campaign.lane),
    redisNowMs(redis, campaignKey(campaign.lane, campaign.number)),
  ])
  const rate = sender?.rate ?? 1
  if (tally.recipients === 0 && !problems.some(({ path }) => path.startsWith('recipients'))) {
    problems.push({ path: 'recipients', message: 'no valid recipients' })
  }
  const { valid_until } = campaign.definition
  const validMs = valid_until === undefined ? config.validityMs.campaign : Date.parse(valid_until) - checked_at
  const people = sender === undefined ? null : await peopleAllowed(redis, await rulesOwnerOf(redis, sender))
  const plan = { recipients: tally.recipients, rate, people }
  const found: Preflight = {
    ...tally,
    ...{ checked_at, problems, rate, people },
    warnings: frozen?.warnings ?? [],
    files: frozen?.files ?? [],
    ...durationOf(plan),
    would_expire: lateOf(plan, validMs),
  }
  const fields = {
    preflight: JSON.stringify(found),
    total: tally.recipients,
    next: 0,
    snapshot: frozen?.name ?? '',
    ...(frozen?.template && { template: JSON.stringify(frozen.template) }),
  }
  const move = problems.length === 0 ? 'pass' : 'block'
  const moved = await moveCampaign(redis, campaign, move, config.retentionMs, { epoch: campaign.epoch, fields })
  log.info({ campaign: idOf(campaign), state: moved.kind === 'missing' ? 'missing' : moved.state }, 'preflight.ended')
  if (moved.kind !== 'moved') return false
  // Only the files that the record named before: an upload or another preflight may be writing others.
  await removeFiles(deps.files, campaign, [campaign.snapshot])
  return true
}

/** What went wrong with the files, without their path on the server. */
function unreadable(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : ''
  return `the recipients could not be read or written down on the server${code}; see its log`
}
