// What Laneway itself has done to a lane or a campaign, as the activity tells it.
import { readAuditLog } from '../../src/accounts/audit-log.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { eventually } from './wait.ts'

/** Laneway's latest act of this kind on a lane or a campaign, once the activity has it: it is written behind the act. */
export const ownAct = (redis: Redis, action: 'campaign.pause' | 'lane.resume', target: string) =>
  eventually(async () => {
    const page = { account: undefined, limit: 100, cursor: undefined }
    const { entries } = await readAuditLog(redis, page, Date.now())
    return entries.find((each) => each.action === action && each.target === target && 'system' in each.actor)
  }, `the activity tells of ${action} ${target}`)
