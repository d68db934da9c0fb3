// The intake queue, as one who writes into it sees it: adding jobs, and reading how they ended.
import { z } from 'zod'
import { INTAKE_QUEUE, type IntakeJob, type IntakeRefusal, intakeRefusalSchema } from '../jobs/intake.ts'
import { INTAKE_PREFIX, intakeJobKey, JOB } from '../redis/bullmq-layout.ts'
import type { Redis } from '../redis/connect.ts'
import { jsonText, readRecord } from '../redis/corrupt-record.ts'
import { inTime, openQueue } from '../redis/open-queue.ts'

/** A job to be added. Adding the same one again, with its id and its time, asks for nothing twice. */
export interface NewIntakeJob {
  id: string
  addedAtMs: number
  name: IntakeJob
  data: object
}

/** How a job ended. `gone`: it is not there, because nobody added it or because it ended too long ago. */
export type IntakeJobState =
  | { state: 'waiting' }
  | { state: 'gone' }
  | { state: 'done'; answer: unknown }
  | { state: 'refused'; refusal: IntakeRefusal }

export type IntakeQueue = ReturnType<typeof openIntakeQueue>

/** Opens the queue on a connection that fails fast. */
export function openIntakeQueue(redis: Redis) {
  // Its settings are the workers' to make.
  const queue = openQueue(redis, INTAKE_QUEUE, INTAKE_PREFIX, { toLook: true })

  return {
    /** Adds jobs in one round trip. When it rejects, some may have been added: adding all of them again is safe. */
    async add(jobs: readonly NewIntakeJob[]): Promise<void> {
      const added = jobs.map(({ id, addedAtMs, name, data }) => ({
        name,
        data,
        opts: { jobId: id, timestamp: addedAtMs },
      }))
      await inTime(redis, () => queue.addBulk(added))
    },

    /** How these jobs stand, in their order, in one round trip. */
    async read(ids: readonly string[]): Promise<IntakeJobState[]> {
      const pipeline = redis.pipeline()
      for (const id of ids) pipeline.hmget(intakeJobKey(INTAKE_QUEUE, id), ...FIELDS)
      const replies = (await pipeline.exec()) ?? []
      return replies.map(([error, fields], i) => {
        if (error) throw error
        return stateOf(readRecord(fieldsSchema, `intake job ${ids[i]}`, fields))
      })
    },

    close: (): Promise<void> => queue.close(),
  }
}

const FIELDS = [JOB.name, JOB.finishedOn, JOB.returned, JOB.failedReason] as const
const fieldsSchema = z.tuple([z.string().nullable(), z.string().nullable(), jsonText.nullable(), z.string().nullable()])

function stateOf([name, finishedOn, answer, reason]: z.infer<typeof fieldsSchema>): IntakeJobState {
  if (name === null) return { state: 'gone' }
  if (finishedOn === null) return { state: 'waiting' }
  return reason === null ? { state: 'done', answer } : { state: 'refused', refusal: refusalOf(reason) }
}

const storedRefusal = jsonText.pipe(intakeRefusalSchema)

/** A reason in other words is BullMQ's own, for a job that never reached us. */
function refusalOf(reason: string): IntakeRefusal {
  const stored = storedRefusal.safeParse(reason)
  return stored.success ? stored.data : { code: 'set_aside', message: reason, details: [] }
}
