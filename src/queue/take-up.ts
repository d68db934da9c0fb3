// Has jobs taken up now that nobody would: those that wait for their time, and those that were given up.
import { hasJobMovedOn } from './errors.ts'
import type { Queue } from './open-queue.ts'

/** Has a job taken up that waits for its time. False when it does not, or is gone. */
export const promote = (queue: Queue, id: string): Promise<boolean> =>
  unlessMovedOn(async () => {
    const job = await queue.getJob(id)
    await job?.promote()
    return job !== undefined
  })

/** Has a job taken up with this data that was given up. False when it was not, or somebody else was faster. */
export const retry = (queue: Queue, id: string, data: object): Promise<boolean> =>
  unlessMovedOn(async () => {
    const job = await queue.getJob(id)
    if (job === undefined || !(await job.isFailed())) return false
    await job.updateData(data)
    await job.retry('failed')
    return true
  })

async function unlessMovedOn(work: () => Promise<boolean>): Promise<boolean> {
  try {
    return await work()
  } catch (error) {
    if (!hasJobMovedOn(error)) throw error
    return false
  }
}
