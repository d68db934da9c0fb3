// What Laneway itself does to lanes and campaigns, in the activity of their account.
import { LANEWAY_ITSELF } from '../model/accounts/audit-log.ts'
import type { Redis } from '../redis/connect.ts'
import { appendToAuditLog } from './audit-log.ts'
import { findSender } from './senders.ts'

/** Writes Laneway's own act on a lane into the activity. Dying before it leaves the act out of the log. */
export async function logOwnAct(
  redis: Redis,
  lane: number,
  act: { action: string; target: string; detail: string },
): Promise<void> {
  const sender = await findSender(redis, lane)
  if (sender === undefined) return
  await appendToAuditLog(redis, { actor: LANEWAY_ITSELF, account: sender.account, ...act }, Date.now())
}
