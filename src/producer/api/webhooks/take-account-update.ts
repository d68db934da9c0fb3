// Applies what a webhook reports besides messages: about a number, an account at WhatsApp, a template.
import { senderOfPhoneNumberId } from '../../../accounts/senders.ts'
import type { Config } from '../../../kernel/config.ts'
import type { LaneQueues } from '../../../lanes/queues.ts'
import { outcomeOfReport } from '../../../model/messages/outcome.ts'
import type { AccountUpdate } from '../../../providers/account-updates.ts'
import type { Redis } from '../../../redis/connect.ts'
import { actOn } from '../../../reports/act-on-problem.ts'
import { applyAccountUpdate } from '../../../reports/apply-account-update.ts'
import type { ReportDeps } from '../../../reports/apply-report.ts'
import type { RareWarnings } from './rare-warnings.ts'

export interface UpdateDeps {
  redis: Redis
  queues: LaneQueues
  config: Pick<Config, 'retentionMs'>
  rareWarnings: RareWarnings
  reports: ReportDeps
}

/** Acts on it and keeps a notice of it. */
export async function takeAccountUpdate(
  deps: UpdateDeps,
  update: AccountUpdate,
  account: number | undefined,
): Promise<void> {
  if (!update.isKnown) deps.rareWarnings.otherField(update.field)
  const { redis, queues, config } = deps
  await actOnNumber(deps, update, account)
  const kept = await applyAccountUpdate({ redis, queues, retentionMs: config.retentionMs }, update, account)
  if (kept.includes('missed')) deps.rareWarnings.missedNotice(update.field)
}

/** An error of a number stops or slows it as the same error of one of its messages would. Before the notice, so that it is repeated. */
async function actOnNumber(
  deps: UpdateDeps,
  { problem, phoneNumberId, atMs }: AccountUpdate,
  account: number | undefined,
): Promise<void> {
  const outcome = problem && outcomeOfReport(problem)
  if (outcome === undefined || phoneNumberId === undefined) return
  const sender = await senderOfPhoneNumberId(deps.redis, phoneNumberId)
  if (sender === undefined || sender.account !== (account ?? sender.account)) return
  const nowMs = Date.now()
  await actOn(deps.reports, { lane: sender.id }, outcome, { atMs: Math.min(atMs ?? nowMs, nowMs), isRepeated: false })
}
