// The intake queue as the dashboard shows it. Jobs of all accounts stand in it, and the board can hide a queue, not a
// job: so of a refusal it shows the code and which fields were wrong, not the sentence, which may quote what came.
import { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import type { Job } from 'bullmq'
import { INTAKE_QUEUE, intakeRefusalSchema } from '../jobs/intake.ts'
import { jsonText } from '../store/broken-record.ts'
import { openQueue } from '../store/open-queue.ts'
import type { Redis } from '../store/redis.ts'
import { INTAKE_PREFIX } from '../store/redis-keys.ts'

/** The board's view of the queue; what its jobs hold is masked by whoever mounts it. */
export function intakeBoard(redis: Redis): BullMQAdapter {
  const queue = openQueue(redis, INTAKE_QUEUE, INTAKE_PREFIX, { toLook: true })
  const board = new IntakeBoard(queue, { readOnlyMode: true })
  board.setFormatter('returnValue', (answer: unknown) => (answer === null ? null : '•••'))
  return board
}

class IntakeBoard extends BullMQAdapter {
  override async getJob(id: string): Promise<Job | undefined> {
    const job = await super.getJob(id)
    return job && withBareReason(job)
  }

  override async getJobs(...which: Parameters<BullMQAdapter['getJobs']>): Promise<Job[]> {
    return (await super.getJobs(...which)).map(withBareReason)
  }
}

const storedReason = jsonText.pipe(intakeRefusalSchema)

function withBareReason(job: Job): Job {
  if (job.failedReason !== undefined) job.failedReason = bare(job.failedReason)
  return job
}

function bare(reason: string): string {
  const refusal = storedReason.safeParse(reason)
  if (!refusal.success) return 'refused'
  const { code, details } = refusal.data
  return details.length === 0 ? code : `${code}: ${details.map(({ path }) => path).join(', ')}`
}
