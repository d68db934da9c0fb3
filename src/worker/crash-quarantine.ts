// Jobs that a worker left behind when it died. One of them may be what killed it; the others only happened to be in the
// same process, up to a thousand of them, and would be taken up together again and again. So each that is begun is
// written down in Redis first: few at a time, over all lanes of this process, and the lanes in turn. When the process
// dies once more, one of those few is to blame, and each of them runs alone from then on, until one has killed its worker
// again. One at a time from the beginning would be simpler, but a thousand of them would wait hours for a provider that
// does not answer. BullMQ's own count of stalls would make dead letters of all of them.
import type { Job } from 'bullmq'
import { beginIsolatedRetry, endIsolatedRetry, isolatedCrashes } from '../lanes/isolated-retries.ts'
import { type MessageId, parseMessageId } from '../messages/message-id.ts'
import type { Redis } from '../redis/connect.ts'
import type { JobEnd } from './bullmq.ts'

/** So many workers may die over a job, all but the first while they ran it alone; after that it is a dead letter. */
const MAX_CRASHES = 3
/** Jobs that no second worker has died over are run so many at a time. */
const TOGETHER = 20

export type CrashQuarantine = ReturnType<typeof createCrashQuarantine>

/** The quarantine of this process. Over all workers, a job that kills its worker costs at most MAX_CRASHES of them. */
export function createCrashQuarantine(redis: Redis) {
  /** What waits for its turn, by lane; the lane that had its turn goes to the end. */
  const waiting = new Map<number, (() => void)[]>()
  /** What runs alone, one after the other, once nothing else runs. */
  const alone: (() => void)[] = []
  let running = 0
  let runsAlone = false

  function next(): void {
    while (!runsAlone && running < TOGETHER && waiting.size > 0) {
      for (const [lane, begins] of waiting) {
        waiting.delete(lane)
        const begin = begins.shift()
        if (begins.length > 0) waiting.set(lane, begins)
        running += 1
        begin?.()
        break
      }
    }
    if (running > 0 || waiting.size > 0) return
    const begin = alone.shift()
    if (!begin) return
    running += 1
    runsAlone = true
    begin()
  }

  /** Resolves when it is this job's turn. */
  function turn(lane: number, isAlone: boolean): Promise<void> {
    return new Promise((begin) => {
      if (isAlone) alone.push(begin)
      else if (!waiting.get(lane)?.push(begin)) waiting.set(lane, [begin])
      next()
    })
  }

  async function runInTurn(id: MessageId, work: () => Promise<JobEnd>): Promise<JobEnd> {
    const isAlone = (await isolatedCrashes(redis, id)) > 0
    await turn(id.lane, isAlone)
    try {
      const deaths = await beginIsolatedRetry(redis, id)
      try {
        if (deaths < MAX_CRASHES) return await work()
        return {
          kind: 'dead_letter',
          reason: `${deaths} workers died while they worked on it, the last ones on it alone`,
        }
      } finally {
        // Dying here blames the job once too often, which it survives unless it happens three times.
        await endIsolatedRetry(redis, id)
      }
    } finally {
      running -= 1
      if (isAlone) runsAlone = false
      next()
    }
  }

  return {
    /** Runs the job's work at once, or in its turn when an earlier worker died while it had the job. */
    run(job: Pick<Job, 'id' | 'stalledCounter'>, work: () => Promise<JobEnd>): Promise<JobEnd> {
      const id = parseMessageId(job.id ?? '')
      return job.stalledCounter === 0 || !id ? work() : runInTurn(id, work)
    },
  }
}
