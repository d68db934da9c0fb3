// How many requeue jobs of an account are open, that is asked for and not done. Each is a piece of work as long as the
// account's history, and a worker takes turns among them: without a bound the turns of the others would come ever later.
import type { Redis } from '../../redis/connect.ts'
import { openRequeuesKey } from '../../redis/keys.ts'
import { defineScript } from '../../redis/lua.ts'
import { findRequeueJob, KEEP_MS } from './jobs.ts'

/** More have no use: one filter finds as much as five. */
export const MOST_OPEN = 5
/** One that was counted and has no record after this long was never begun: its process died in between. */
const BEGUN_WITHIN_MS = 60_000

const openScript = defineScript(import.meta.url, 'requeue-open')

/**
 * Counts the job among the account's open ones; false when it has too many. One that is open already, or was, is taken
 * again. Dying after this leaves a name that stands for no job; it is dropped when its place is needed.
 */
export async function openRequeue(redis: Redis, account: number, job: string, nowMs: number): Promise<boolean> {
  if ((await findRequeueJob(redis, job)) !== undefined) return true
  const args = { job, nowMs, mostOpen: MOST_OPEN, keepMs: KEEP_MS }
  const open = async () => (await openScript(redis, { open: openRequeuesKey(account) }, args)) === 1
  if (await open()) return true
  await dropEnded(redis, account, nowMs)
  return open()
}

/** The job is done. Should the process die before this, it is dropped when its place is needed. */
export async function closeRequeue(redis: Redis, account: number, job: string): Promise<void> {
  await redis.zrem(openRequeuesKey(account), job)
}

async function dropEnded(redis: Redis, account: number, nowMs: number): Promise<void> {
  const names = await redis.zrange(openRequeuesKey(account), 0, '-1', 'WITHSCORES')
  for (let i = 0; i < names.length; i += 2) {
    const job = names[i] ?? ''
    const found = await findRequeueJob(redis, job)
    const wasNeverBegun = found === undefined && nowMs - Number(names[i + 1]) > BEGUN_WITHIN_MS
    if (wasNeverBegun || found?.state === 'done' || found?.state === 'failed') await closeRequeue(redis, account, job)
  }
}
