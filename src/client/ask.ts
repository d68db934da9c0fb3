// Asking through the intake queue: adds jobs and waits until a worker has ended them.
//
// The wait is polling with a growing delay, one round trip for all jobs that are still open. BullMQ's own way to wait
// needs a connection that reads every event of every client's jobs, and loses events when it falls behind.
import type { z } from 'zod'
import { INTAKE_VERSION, type IntakeJob } from '../jobs/intake.ts'
import { newUlid } from '../messages/message-id.ts'
import type { Connection } from './connection.ts'
import { type LanewayError, LanewayRefused, LanewayTimeout, LanewayUnavailable } from './errors.ts'
import { type IntakeJobState, openIntakeQueue } from './intake-queue.ts'

/** A job that nobody else has in hand ends within 2 to 5 ms. */
const FIRST_DELAY_MS = 2
const LONGEST_DELAY_MS = 250

export type Reply = { ok: true; answer: unknown } | { ok: false; error: LanewayError }

/** Longest wait for a worker to take something in, unless the caller says otherwise. */
const ANSWER_LIMIT_MS = 30_000

export type Asking = ReturnType<typeof openAsking>

export function openAsking(connection: Connection, apiKey: string) {
  const queue = openIntakeQueue(connection.redis)

  /** Asks for several things at once and resolves to their replies, in their order. */
  async function ask(name: IntakeJob, requests: readonly object[], timeoutMs = ANSWER_LIMIT_MS): Promise<Reply[]> {
    const deadline = performance.now() + timeoutMs
    const addedAtMs = Date.now()
    // Added again under the same id and time after a lost connection, a job asks for nothing twice.
    const jobs = requests.map((fields) => ({
      id: `client-${newUlid(addedAtMs)}`,
      addedAtMs,
      name,
      data: { v: INTAKE_VERSION, api_key: apiKey, ...fields },
    }))
    const ends = new Map<string, IntakeJobState>()
    let toAdd = jobs
    let isAway = false

    for (let delay = FIRST_DELAY_MS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MS)) {
      const open = jobs.filter(({ id }) => !ends.has(id))
      const states = await connection.unlessAway(async () => {
        if (toAdd.length > 0) await queue.add(toAdd)
        return queue.read(open.map(({ id }) => id))
      })
      isAway = states === undefined
      // A job that ended long ago, or one that Redis lost, is added again: its end will be the same.
      toAdd = states ? open.filter((_job, i) => states[i]?.state === 'gone') : toAdd
      for (const [i, state] of (states ?? []).entries()) {
        const job = open[i]
        if (job && (state.state === 'done' || state.state === 'refused')) ends.set(job.id, state)
      }
      if (ends.size === jobs.length || performance.now() + delay > deadline) break
      await connection.sleep(delay)
    }
    return jobs.map(({ id }) => replyOf(ends.get(id), isAway))
  }

  return {
    ask,

    /** Asks for one thing and resolves to its answer, or rejects with its error. */
    async askOne<S extends z.ZodType>(
      name: IntakeJob,
      answer: S,
      request: object,
      timeoutMs?: number,
    ): Promise<z.output<S>> {
      const [reply] = await ask(name, [request], timeoutMs)
      if (!reply?.ok) throw reply?.error ?? new LanewayUnavailable('There was no reply.')
      return answer.parse(reply.answer)
    },

    close: queue.close,
  }
}

function replyOf(end: IntakeJobState | undefined, isAway: boolean): Reply {
  if (end?.state === 'done') return { ok: true, answer: end.answer }
  if (end?.state === 'refused') return { ok: false, error: new LanewayRefused(end.refusal) }
  if (isAway) return { ok: false, error: new LanewayUnavailable('Redis was away until the time was over.') }
  const sentence = 'No worker has taken it in yet. It stays in the queue and may still be done.'
  return { ok: false, error: new LanewayTimeout(sentence) }
}
