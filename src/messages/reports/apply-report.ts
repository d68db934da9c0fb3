// Applies what WhatsApp reports of a message by its answer, a webhook or a status poll, and what follows: a person who has
// had enough marketing gets none for a while, a held message is released or was dropped.
//
// Each step may be done again, and a report that was not answered comes again. That a message failed and that it goes out
// with the next wave of its campaign is one step; should its job be lost, the sweep gives it another one then.
import type { Sender } from '../../accounts/store/senders.ts'
import { TEMPLATE_PAUSED } from '../../campaigns/campaign.ts'
import { findCampaign, moveCampaign } from '../../campaigns/store/campaigns.ts'
import { noteOwnPause } from '../../campaigns/store/own-pauses.ts'
import { createCampaignContent } from '../../campaigns/store/recipient-message.ts'
import type { Config } from '../../config.ts'
import { observerOf } from '../../observe.ts'
import { applyProviderOptOut } from '../../people/opt-outs/commands/apply-opt-outs.ts'
import { cap, releasePlace } from '../../portfolios/store/rules.ts'
import { rulesOwnerOf } from '../../portfolios/store/rules-owner.ts'
import type { LaneQueues } from '../../queue/lane/queues.ts'
import type { Redis } from '../../redis/connect.ts'
import type { Evidence } from '../lifecycle.ts'
import { type MessageId, messageId } from '../message-id.ts'
import type { Problem } from '../outcome.ts'
import { HAD_ENOUGH, OPTED_OUT_THERE } from '../provider-codes.ts'
import { readMessage } from '../store/records.ts'
import { recordStatus, type StepResult } from '../store/steps.ts'

/** What a held message fails with that WhatsApp has dropped, with all that were held beside it. */
const DROPPED: ReadonlySet<string> = new Set(['132015', '135000'])

export interface ReportDeps {
  redis: Redis
  config: Pick<Config, 'capMs' | 'retentionMs'>
}

/** What is reported of one attempt for a message. */
export interface Report {
  id: MessageId
  attempt: string
  status: Evidence
  problem?: Problem | undefined
  /** When it happened (epoch ms); now, where that is not known. */
  atMs?: number | undefined
  providerId?: string | undefined
}

/**
 * Writes a report down with all that follows from it. Any number of times, in any order. With `waitMs` its campaign
 * tries it again after that, and the caller sees to its job.
 */
export async function applyReport(deps: ReportDeps, sender: Sender, report: Report): Promise<StepResult> {
  const { redis } = deps
  const { id, attempt, status, problem, providerId, atMs } = report
  // Before the outcome: once that is written nobody would look at this report again.
  const refused = problem === undefined ? {} : await applyRefusal(deps, sender, report, problem)
  const result = await recordStatus(redis, id, attempt, status, { providerId, problem, atMs, ...refused })
  if ('wasHeld' in result && result.wasHeld) await endHold(deps, sender, report)
  return result
}

/** What a refusal says of the person, no advertising at all or none for a while, and of the waves of its campaign. */
async function applyRefusal(
  { redis, config }: ReportDeps,
  sender: Sender,
  { id, status, atMs }: Report,
  problem: Problem,
): Promise<{ cappedUntil?: number; waves?: { most: number; keepMs: number } }> {
  const hadEnough = status === 'failed' && problem.code === HAD_ENOUGH
  if (!hadEnough && problem.code !== OPTED_OUT_THERE) return {}
  // The recipient comes from our own record, not from the report.
  const { to = '', run } = (await readMessage(redis, id)) ?? {}
  if (to === '') return {}
  await applyProviderOptOut(redis, sender.account, to, problem, atMs)
  if (!hadEnough) return {}
  const cappedUntil = await cap(redis, await rulesOwnerOf(redis, sender), to, { forMs: config.capMs, atMs })
  const campaign = run === undefined ? undefined : await findCampaign(redis, { lane: id.lane, number: run })
  const most = campaign?.definition.retry_capped?.times ?? 0
  return { cappedUntil, ...(most > 0 && { waves: { most, keepMs: config.retentionMs } }) }
}

/** Adds the job of a message that goes out with the next wave of its campaign, if that is what a report came to. */
export async function addNextWave(
  { redis, queues }: { redis: Redis; queues: LaneQueues },
  id: MessageId,
  result: StepResult,
): Promise<void> {
  const waitMs = 'waitMs' in result ? result.waitMs : undefined
  if (waitMs === undefined) return
  const record = await readMessage(redis, id)
  if (record?.state !== 'queued' || record.run === undefined) return
  const payload = await createCampaignContent(redis, id.lane).payloadOf({ ...record, run: record.run })
  // Without its content the sweep fails it.
  if (payload !== undefined) await queues.add(messageId(id.lane, id.ulid), payload, waitMs)
}

/** WhatsApp holds the message no longer: another may be held in its place. One that was dropped pauses its campaign. */
async function endHold({ redis, config }: ReportDeps, sender: Sender, { id, status, problem }: Report): Promise<void> {
  await releasePlace(redis, await rulesOwnerOf(redis, sender), messageId(id.lane, id.ulid))
  if (status !== 'failed' || !DROPPED.has(problem?.code ?? '')) return
  observerOf(redis).heldDropped()
  const run = (await readMessage(redis, id))?.run
  if (run === undefined) return
  const reason = `${TEMPLATE_PAUSED}: WhatsApp has dropped messages that it held to see how people like the template.`
  const campaign = { lane: id.lane, number: run }
  const moved = await moveCampaign(redis, campaign, 'pause', config.retentionMs, { fields: { reason } })
  if (moved.kind !== 'moved') return
  observerOf(redis).campaignPaused('template')
  await noteOwnPause(redis, campaign, reason)
}
