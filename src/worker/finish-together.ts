// Makes the BullMQ Worker of a lane's messages finish all jobs that end in the same turn of the event loop together, and
// take the next ones in the same step. Everything else stays BullMQ's: waiting for jobs, locks and their renewal, delayed
// and failed jobs, and jobs whose worker died.
import type { Job, Worker } from 'bullmq'
import { finishAndTake, type Next } from '../lanes/finish-and-take.ts'
import type { Redis } from '../redis/connect.ts'

/** What BullMQ's backend answers when it takes a job: the job, its id, ms that nothing may be taken, when one is due. */
type NextJob = [job: object | null, id: string | number, limitMs: number, dueMs: number]

/**
 * Changes a Worker that takes messages of `lane`: from now on it finishes plain jobs this way. They are removed, and what
 * they return is dropped. Locks hold for `lockMs`.
 */
export function finishTogether({ backend }: Worker, redis: Redis, { lane, lockMs }: { lane: number; lockMs: number }) {
  const finishAlone = backend.moveToCompleted.bind(backend)
  backend.moveToCompleted = async (job, returned, removal, token, takes) => {
    if (job.id === undefined || !isPlain(job)) return finishAlone(job, returned, removal, token, takes)
    const { id } = job
    const { isLost, next } = await finishAndTake(redis, { lane, id, token, takes, lockMs })
    // Another worker has the job, or had it: there is nothing to finish here, and BullMQ asks for the next job anew.
    if (isLost) throw new Error(`The lock of job ${id} was lost`)
    const finishedOn = Date.now()
    if (!takes) return { result: undefined, finishedOn }
    return { result: next.kind === 'other' ? await backend.moveToActive(token) : answerOf(next), finishedOn }
  }
}

/** Whether the job is a payload and nothing else, with no other job that waits for it. */
const isPlain = ({ parent, parentKey, repeatJobKey, deduplicationId }: Pick<Job, Special>): boolean =>
  !(parent || parentKey || repeatJobKey || deduplicationId)
type Special = 'parent' | 'parentKey' | 'repeatJobKey' | 'deduplicationId'

function answerOf(next: Exclude<Next, { kind: 'other' }>): NextJob {
  switch (next.kind) {
    case 'none':
      // The Worker compares it with the clock of the machine.
      return [null, 0, 0, next.dueInMs === 0 ? 0 : Date.now() + next.dueInMs]
    case 'limited':
      return [null, 0, next.ms, 0]
    case 'job': {
      const { id, name, data, addedAt, crashes } = next.job
      // The settings of a message's job are its id, its time and its place: none matters once it was taken.
      const fields = { id, name, data, opts: {}, timestamp: addedAt, stalledCounter: crashes }
      return [fields, id, 0, 0]
    }
  }
}
