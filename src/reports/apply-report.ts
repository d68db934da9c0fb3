// Applies WhatsApp's report of a message, by webhook or status poll. The step that changes the message also changes the figures of its
// campaign (recipients/recipient-states.ts). Then come the consequences: a capped person gets no marketing for a while, a held message is
// released or dropped. What its code means for other messages is in act-on-problem.ts.
//
// Each step is idempotent, and a report that was not answered comes again. The failure of a message and its place in the next wave of its
// campaign are one step; if its job is lost, the sweep adds it.
import type { Sender } from '../accounts/senders.ts'
import type { Config } from '../kernel/config.ts'
import { type MessageId, messageId } from '../kernel/message-id.ts'
import { type MessageRecord, readMessage } from '../lanes/messages/records.ts'
import { type Cooldown, recordStatus, type StepResult } from '../lanes/messages/steps.ts'
import { TEMPLATE_PAUSED } from '../model/campaigns/lifecycle.ts'
import type { Evidence } from '../model/messages/lifecycle.ts'
import { type Outcome, outcomeOfReport, type Problem } from '../model/messages/outcome.ts'
import { HAD_ENOUGH, OPTED_OUT_THERE } from '../model/messages/provider-codes.ts'
import { namesOfPeople } from '../people/names/names.ts'
import { cap } from '../portfolios/caps.ts'
import { releaseHeldPlace } from '../portfolios/held-places.ts'
import { rulesOwnerOf } from '../portfolios/rules-owner.ts'
import { createCampaignContent } from '../recipients/campaign-content.ts'
import { findCampaign, moveCampaign } from '../recipients/campaigns.ts'
import { logOwnPause } from '../recipients/own-pauses.ts'
import type { Redis } from '../redis/connect.ts'
import { observerOf } from '../redis/observe.ts'
import { skipCorrupt } from '../redis/records.ts'
import { type ActDeps, actOn } from './act-on-problem.ts'
import { applyProviderOptOut } from './apply-opt-outs.ts'

/** The codes of held messages that WhatsApp has dropped, with all that were held beside them. */
const DROPPED: ReadonlySet<string> = new Set(['132015', '135000'])

/** `refusals`: reported ones, separate from those in answers. */
export interface ReportDeps extends ActDeps {
  config: Pick<Config, 'capMs' | 'retentionMs'>
}

/** The report of one attempt for a message. */
export interface Report {
  id: MessageId
  attempt: string
  status: Evidence
  problem?: Problem | undefined
  /** When it happened (epoch ms); now, where that is not known. */
  atMs?: number | undefined
  providerId?: string | undefined
  /** Its pricing, packed by `packPricing`. */
  pricing?: string | undefined
}

/**
 * Applies a report with all its consequences, as for an answer with the same code. Idempotent and order-independent.
 */
export async function applyReport(deps: ReportDeps, sender: Sender, report: Report): Promise<StepResult> {
  const result = await write(deps, sender, report)
  if ('waitMs' in result && result.waitMs !== undefined) await addNextWave(deps, report.id, result.waitMs)
  return result
}

/**
 * Applies a refusal that came as the answer; the worker holds the job. Resolves to the ms the job must wait for the next wave of
 * its campaign; undefined when it is done.
 */
export async function applyAnswer(deps: ReportDeps, sender: Sender, report: Report): Promise<number | undefined> {
  const result = await write(deps, sender, report)
  return 'waitMs' in result ? result.waitMs : undefined
}

async function write(deps: ReportDeps, sender: Sender, report: Report): Promise<StepResult> {
  const { redis } = deps
  const { id, attempt, status, problem, providerId, atMs, pricing } = report
  // The recipient and the campaign come from our own record, not from the report.
  const record = problem === undefined ? undefined : await readMessage(redis, id).catch(skipCorrupt)
  const outcome = problem && status === 'failed' ? outcomeOfReport(problem) : undefined
  // Before the outcome: once that is written, a repeat of this report is ignored.
  const refused = problem === undefined ? {} : await applyRefusal(deps, sender, report, problem, record)
  const cooldown =
    outcome?.kind === 'recipient_waits' ? await recipientCooldown(redis, sender, report, record) : undefined
  const how = { providerId, problem, atMs, pricing, cooldown, ...refused }
  const result = await recordStatus(redis, id, attempt, status, how)
  if ('wasHeld' in result && result.wasHeld) await endHold(deps, sender, report, record?.run)
  if (outcome !== undefined) await actOnReport(deps, report, record?.run, outcome, result)
  else if (status === 'delivered' || status === 'read') await endStreak(deps, id)
  return result
}

/** After the outcome: dying before it is harmless, because the report was not answered and comes again. */
async function actOnReport(
  deps: ReportDeps,
  { id, atMs }: Report,
  run: number | undefined,
  outcome: Outcome,
  result: StepResult,
): Promise<void> {
  const isRepeated = result.verdict !== 'done'
  // Without a time it was applied the first time.
  if (isRepeated && atMs === undefined) return
  const nowMs = Date.now()
  await actOn(deps, { lane: id.lane, run }, outcome, { atMs: Math.min(atMs ?? nowMs, nowMs), isRepeated })
}

/** A message of its campaign was delivered, so the refusals do not concern all of it. */
async function endStreak({ redis, refusals }: ReportDeps, id: MessageId): Promise<void> {
  if (!refusals.hasStreaks()) return
  const run = (await readMessage(redis, id).catch(skipCorrupt))?.run
  if (run !== undefined) refusals.over({ lane: id.lane, number: run })
}

/** Reports of the pair limit that are older than this have no effect. */
const PAIR_MS = 60_000

/** Under the first of the recipient's names, as claims have it (take.ts): a message may have been sent to another one. */
async function recipientCooldown(
  redis: Redis,
  { account }: Sender,
  { atMs = Date.now() }: Report,
  record: MessageRecord | undefined,
): Promise<Cooldown | undefined> {
  if (Date.now() - atMs > PAIR_MS || !record?.to) return undefined
  const [names] = await namesOfPeople(redis, account, [record.to])
  return { of: 'recipient', person: names?.[0] ?? record.to, leastMs: 0 }
}

/** The consequences of a refusal for the person (an opt-out, or a cap for a while), and for the waves of its campaign. */
async function applyRefusal(
  { redis, config }: ReportDeps,
  sender: Sender,
  { id, status, atMs }: Report,
  problem: Problem,
  record: MessageRecord | undefined,
): Promise<{ cappedUntil?: number; waves?: { most: number; keepMs: number } }> {
  const hadEnough = status === 'failed' && problem.code === HAD_ENOUGH
  if (!hadEnough && problem.code !== OPTED_OUT_THERE) return {}
  const { to = '', run } = record ?? {}
  if (to === '') return {}
  await applyProviderOptOut(redis, sender.account, to, problem, atMs)
  if (!hadEnough) return {}
  const cappedUntil = await cap(redis, await rulesOwnerOf(redis, sender), to, { forMs: config.capMs, atMs })
  const campaign = run === undefined ? undefined : await findCampaign(redis, { lane: id.lane, number: run })
  const most = campaign?.definition.retry_capped?.times ?? 0
  return { cappedUntil, ...(most > 0 && { waves: { most, keepMs: config.retentionMs } }) }
}

/** Adds the job of a message that goes out with the next wave of its campaign, after `waitMs`. */
async function addNextWave({ redis, lanes }: ReportDeps, id: MessageId, waitMs: number): Promise<void> {
  // Read again: a person erased meanwhile must get no job.
  const record = await readMessage(redis, id)
  if (record?.state !== 'queued' || record.run === undefined) return
  const payload = await createCampaignContent(redis, id.lane).payloadOf({ ...record, run: record.run })
  // Without content the sweep fails it.
  if (payload !== undefined) await lanes.add(messageId(id.lane, id.ulid), payload, waitMs)
}

/** WhatsApp has stopped holding the message: releases its held place. A dropped message pauses its campaign. */
async function endHold(
  { redis, config }: ReportDeps,
  sender: Sender,
  { id, status, problem }: Report,
  run: number | undefined,
): Promise<void> {
  await releaseHeldPlace(redis, await rulesOwnerOf(redis, sender), messageId(id.lane, id.ulid))
  if (status !== 'failed' || !DROPPED.has(problem?.code ?? '')) return
  observerOf(redis).heldDropped()
  if (run === undefined) return
  const sentence = 'WhatsApp dropped messages that it held while it measured how people react to the template'
  const reason = `${TEMPLATE_PAUSED}: ${sentence} (code ${problem?.code}).`
  const campaign = { lane: id.lane, number: run }
  const moved = await moveCampaign(redis, campaign, 'pause', config.retentionMs, { fields: { reason } })
  if (moved.kind !== 'moved') return
  observerOf(redis).campaignPaused('template')
  await logOwnPause(redis, campaign, reason)
}
