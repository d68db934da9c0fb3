// Applies a status of a message that a webhook brings.
import { cachedSender } from '../../../accounts/senders.ts'
import { parseMessageId } from '../../../kernel/message-id.ts'
import type { OpaqueIds } from '../../../providers/cloud-api.ts'
import type { StatusUpdate } from '../../../providers/cloud-statuses.ts'
import type { Redis } from '../../../redis/connect.ts'
import { assertGaveOutLane } from '../../../redis/installation.ts'
import { applyReport, type ReportDeps } from '../../../reports/apply-report.ts'
import type { RareWarnings } from './rare-warnings.ts'

export interface StatusDeps {
  redis: Redis
  opaqueIds: OpaqueIds
  rareWarnings: RareWarnings
  reports: ReportDeps
}

/** Stores it for the message, if that is one of ours and of the account that the webhook is for. */
export async function applyStatus(deps: StatusDeps, update: StatusUpdate, account: number | undefined): Promise<void> {
  // Not ours: another app on the same number, or a forgery. It must change nothing.
  if (update.opaque === undefined) return deps.rareWarnings.statusWithoutId()
  const ours = deps.opaqueIds.verify(update.opaque)
  const id = ours && parseMessageId(ours.id)
  if (!ours || !id) return
  const sender = await cachedSender(deps.redis, id.lane)
  if (sender === undefined) return assertGaveOutLane(deps.redis, id.lane)
  if (sender.account !== (account ?? sender.account)) return
  const { status, problem, atMs, providerId, pricing } = update
  await applyReport(deps.reports, sender, { id, attempt: ours.attempt, status, problem, atMs, providerId, pricing })
}
