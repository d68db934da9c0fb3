// Jobs that a worker left behind when it died. One of them may be what killed it; the others only happened to be in the
// same process, up to a hundred of them, and would be taken up together again and again. So suspects are run one at a
// time, over all lanes of this process, and which one it is stands in Redis before it begins: when the process dies
// once more, that one is to blame and no other. BullMQ's own count of stalls would set all of them aside.
import type { Job } from 'bullmq'
import { parseMessageId } from '../messages/message-id.ts'
import { beginLoneRun, endLoneRun } from '../store/lone-runs.ts'
import type { Redis } from '../store/redis.ts'
import type { JobEnd } from './bullmq.ts'

/** So many workers may die over a job that they ran alone; after that it is set aside. */
const MOST_DEATHS = 3

export type Suspects = ReturnType<typeof createSuspects>

export function createSuspects(redis: Redis) {
  let last: Promise<unknown> = Promise.resolve()

  async function runAlone(job: Job, work: () => Promise<JobEnd>): Promise<JobEnd> {
    const id = parseMessageId(job.id ?? '')
    if (!id) return work()
    const deaths = await beginLoneRun(redis, id)
    try {
      if (deaths < MOST_DEATHS) return await work()
      return { kind: 'unusable', reason: `${deaths} workers died while they worked on it alone` }
    } finally {
      // Dying here blames the job once too often, which it survives unless it happens three times.
      await endLoneRun(redis, id)
    }
  }

  return {
    /** Runs the job's work at once, or in its turn when an earlier worker died while it had the job. */
    run(job: Job, work: () => Promise<JobEnd>): Promise<JobEnd> {
      if (job.stalledCounter === 0) return work()
      const turn = last.then(() => runAlone(job, work))
      last = turn.catch(() => {})
      return turn
    },
  }
}
