// Repairs what another program wrote into a job of the intake queue and BullMQ cannot read. Such a job cannot be fetched
// and stalls for ever, without a word; a count of crashes that is no number even keeps BullMQ from finding any other job
// whose worker died. What cannot be read is replaced, so that the next run takes the job in or refuses it.
import { INTAKE_QUEUE } from '../../jobs/intake.ts'
import type { Log } from '../../log.ts'
import { intakeActiveKey, intakeJobKey } from '../../redis/bullmq-layout.ts'
import type { Redis } from '../../redis/connect.ts'

/** Fields that BullMQ reads as JSON, and what takes the place of what is not; '' = the field goes. */
const JSON_FIELDS = { data: '"not JSON"', opts: '{}', progress: '0', parent: '', stacktrace: '[]' } as const
/** Fields that BullMQ counts in: attempts made, attempts started, crashes of workers. */
const COUNTS = ['atm', 'ats', 'stc'] as const
/** Where BullMQ keeps the parent of a job, by its key in Redis. */
const PARENT_KEY = 'parentKey'
/** Jobs that are looked at; more are active only when many workers died, and then each is looked at when it stalls. */
const MOST = 500

/** Repairs the jobs that are active and cannot be read; logs each. */
export async function repairActive(deps: { redis: Redis; log: Log }): Promise<void> {
  for (const id of await deps.redis.lrange(intakeActiveKey(INTAKE_QUEUE), 0, MOST - 1)) await repairJob(deps, id)
}

/** Repairs one job if it needs it, and logs which fields. */
export async function repairJob({ redis, log }: { redis: Redis; log: Log }, id: string): Promise<void> {
  const key = intakeJobKey(INTAKE_QUEUE, id)
  const names = [...Object.keys(JSON_FIELDS), ...COUNTS, PARENT_KEY]
  const values = await redis.hmget(key, ...names)
  const found = new Map(names.map((name, i) => [name, values[i] ?? undefined]))
  const isOrphan = found.get(PARENT_KEY) !== undefined && found.get('parent') === undefined
  const unreadable = Object.entries(JSON_FIELDS).filter(
    ([name]) => !isJson(found.get(name)) || (name === 'parent' && isOrphan),
  )
  const uncountable = COUNTS.filter((name) => !/^\d{0,9}$/.test(found.get(name) ?? ''))
  if (unreadable.length + uncountable.length === 0) return
  const repairing = redis.multi()
  for (const [name, instead] of unreadable) {
    // BullMQ reads the parent of whatever names one.
    if (instead === '') repairing.hdel(key, name, PARENT_KEY)
    else repairing.hset(key, name, instead)
  }
  if (uncountable.length > 0) repairing.hdel(key, ...uncountable)
  await repairing.exec()
  log.warn({ job: id, fields: [...unreadable.map(([name]) => name), ...uncountable] }, 'intake.repaired')
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
