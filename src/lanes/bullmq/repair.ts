// Repairs jobs of the intake queue that another program wrote and BullMQ cannot read. Such a job cannot be fetched and stalls
// for ever. If its count of crashes is no number, BullMQ's check for stalled jobs fails after it has removed the job from its
// list, and the job is lost. Fields that cannot be read are replaced, so that the next run accepts or refuses the job.
import { z } from 'zod'
import type { Log } from '../../kernel/log.ts'
import type { Redis } from '../../redis/connect.ts'
import { intakeJobKey, intakeKeys } from './layout.ts'

/** Fields that BullMQ reads as JSON, and what takes the place of what is not. */
const JSON_FIELDS = { data: '"not JSON"', opts: '{}', progress: '0', stacktrace: '[]' } as const
/** The fields by which BullMQ ends a job in a flow. Both go when they do not name another job. */
const PARENT_FIELDS = ['parent', 'parentKey'] as const
const parentSchema = z.object({ id: z.string().min(1), queueKey: z.string().min(1) })
/** Fields that BullMQ counts in: attempts made, attempts started, crashes of workers. */
const COUNTS = ['atm', 'ats', 'stc'] as const
/** Jobs that are checked; more are active only when many workers died, and then each is checked when it stalls. */
const MOST = 500

interface RepairDeps {
  redis: Redis
  log: Log
}

/** Repairs the jobs of the queue that are active and cannot be read; logs each. */
export async function repairActive(deps: RepairDeps, queue: string): Promise<void> {
  for (const id of await deps.redis.lrange(intakeKeys(queue).active, 0, MOST - 1)) await repairJob(deps, queue, id)
}

/** Repairs the jobs that the next check for dead workers will requeue; normally there are none. */
export async function repairStalled(deps: RepairDeps, queue: string): Promise<void> {
  for (const id of await deps.redis.smembers(intakeKeys(queue).stalled)) await repairJob(deps, queue, id)
}

/** Repairs one job if it needs it, and logs which fields. */
export async function repairJob({ redis, log }: RepairDeps, queue: string, id: string): Promise<void> {
  const key = intakeJobKey(queue, id)
  const names = [...Object.keys(JSON_FIELDS), ...PARENT_FIELDS, ...COUNTS]
  const values = await redis.hmget(key, ...names)
  const found = new Map(names.map((name, i) => [name, values[i] ?? undefined]))
  const unreadable = Object.entries(JSON_FIELDS).filter(([name]) => !isJson(found.get(name)))
  const uncountable = COUNTS.filter((name) => !/^\d{0,9}$/.test(found.get(name) ?? ''))
  const gone = [...uncountable, ...(isParent(found.get('parent'), found.get('parentKey')) ? [] : PARENT_FIELDS)]
  if (unreadable.length + gone.length === 0) return
  const repairing = redis.multi()
  for (const [name, instead] of unreadable) repairing.hset(key, name, instead)
  if (gone.length > 0) repairing.hdel(key, ...gone)
  await repairing.exec()
  log.warn({ job: id, fields: [...unreadable.map(([name]) => name), ...gone] }, 'intake.repaired')
}

/** Whether the fields name a parent, the same one twice, or none at all. */
function isParent(parent: string | undefined, parentKey: string | undefined): boolean {
  if (parent === undefined && parentKey === undefined) return true
  if (parent === undefined || !isJson(parent)) return false
  const named = parentSchema.safeParse(JSON.parse(parent))
  return named.success && parentKey === `${named.data.queueKey}:${named.data.id}`
}

function isJson(text: string | undefined): boolean {
  if (text === undefined) return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
