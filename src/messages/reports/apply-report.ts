// What WhatsApp reports of a message, by its answer, by webhook or by a status poll, and what follows from it: a person who
// has had enough marketing is left alone for a while, a message is held no more, a held one was dropped.
//
// Each step may be done again, and a report that was not answered comes again. Should the process die after the failure is
// written down and before a capped message is queued again, a webhook that is repeated makes up for it; after an answer the
// message stays failed, and its person can be written to by hand.
import type { Sender } from '../../accounts/store/senders.ts'
import { TEMPLATE_PAUSED } from '../../campaigns/campaign.ts'
import { findCampaign, moveCampaign } from '../../campaigns/store/campaigns.ts'
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
import { putBack } from '../requeue/requeue.ts'
import { readMessage } from '../store/records.ts'
import { recordStatus, type StepResult } from '../store/steps.ts'

/** What a held message fails with that WhatsApp has dropped, with all that were held beside it. */
const DROPPED: ReadonlySet<string> = new Set(['132015', '135000'])

export interface ReportDeps {
  redis: Redis
  queues: LaneQueues
  config: Pick<Config, 'capMs' | 'retentionMs' | 'validityMs'>
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

/** Writes a report down with all that follows from it. Any number of times, in any order. */
export async function applyReport(deps: ReportDeps, sender: Sender, report: Report): Promise<StepResult> {
  const { redis, config } = deps
  const { id, attempt, status, problem, providerId } = report
  const nowMs = Date.now()
  const atMs = Math.min(report.atMs ?? nowMs, nowMs)
  const hadEnough = status === 'failed' && problem?.code === HAD_ENOUGH
  const cappedUntil = hadEnough ? atMs + config.capMs : undefined
  // Before the outcome: once that is written nobody would look at this report again.
  if (problem !== undefined) await applyRefusal(deps, sender, id, problem, report.atMs, cappedUntil)
  const result = await recordStatus(redis, id, attempt, status, { providerId, problem, atMs: report.atMs, cappedUntil })
  if ('wasHeld' in result && result.wasHeld) await endHold(deps, sender, report)
  if (cappedUntil !== undefined) await queueNextWave(deps, id, cappedUntil)
  return result
}

/** What a refusal says of the person: no advertising at all, or none until `cappedUntil`. */
async function applyRefusal(
  { redis }: ReportDeps,
  sender: Sender,
  id: MessageId,
  problem: Problem,
  atMs: number | undefined,
  cappedUntil: number | undefined,
): Promise<void> {
  if (cappedUntil === undefined && problem.code !== OPTED_OUT_THERE) return
  // The recipient comes from our own record, not from the report.
  const to = (await readMessage(redis, id))?.to ?? ''
  if (to === '') return
  await applyProviderOptOut(redis, sender.account, to, problem, atMs)
  if (cappedUntil !== undefined) await cap(redis, await rulesOwnerOf(redis, sender), to, cappedUntil)
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
  if (moved.kind === 'moved') observerOf(redis).campaignPaused()
}

/**
 * Queues a message of a campaign once more that failed because its person had had enough marketing, for when that is over,
 * unless the campaign wants no more waves or the message is not valid by then.
 */
async function queueNextWave(deps: ReportDeps, id: MessageId, cappedUntil: number): Promise<void> {
  const record = await readMessage(deps.redis, id)
  if (record?.state !== 'failed' || record.run === undefined || cappedUntil >= record.validUntil) return
  const campaign = await findCampaign(deps.redis, { lane: id.lane, number: record.run })
  const waves = campaign?.definition.retry_capped?.times ?? 0
  if (waves === 0) return
  await putBack(deps, id.lane, [{ ulid: id.ulid, record }], { wave: { most: waves, at: cappedUntil } })
}
