// Asking through the intake queue: adds jobs and waits until a worker has ended them.
//
// The wait is polling with a growing delay, one round trip for all jobs that are still open. BullMQ's own way to wait
// needs a connection that reads every event of every client's jobs, and loses events when it falls behind.
import type { IntakeJob } from '../jobs/intake.ts'
import { newUlid } from '../messages/message-id.ts'
import { type IntakeJobState, openIntakeQueue } from '../store/intake-queue.ts'
import type { Connection } from './connection.ts'
import { type LanewayError, LanewayRefused, LanewayTimeout, LanewayUnavailable } from './errors.ts'

/** A job that nobody else has in hand ends within 2 to 5 ms. */
const FIRST_DELAY_MS = 2
const LONGEST_DELAY_MS = 250

export type Reply = { ok: true; answer: unknown } | { ok: false; error: LanewayError }

/** Asks for several things at once and resolves to their replies, in their order. */
export type Ask = (name: IntakeJob, payloads: readonly object[], timeoutMs: number) => Promise<Reply[]>

export function openAsk(connection: Connection): { ask: Ask; close(): Promise<void> } {
  const queue = openIntakeQueue(connection.redis)

  const ask: Ask = async (name, payloads, timeoutMs) => {
    const deadline = performance.now() + timeoutMs
    const addedAtMs = Date.now()
    // Added again under the same id and time after a lost connection, a job asks for nothing twice.
    const jobs = payloads.map((data) => ({ id: `client-${newUlid(addedAtMs)}`, addedAtMs, name, data }))
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
  return { ask, close: queue.close }
}

function replyOf(end: IntakeJobState | undefined, isAway: boolean): Reply {
  if (end?.state === 'done') return { ok: true, answer: end.answer }
  if (end?.state === 'refused') return { ok: false, error: new LanewayRefused(end.refusal) }
  if (isAway) return { ok: false, error: new LanewayUnavailable('Redis was away until the time was over.') }
  const sentence = 'No worker has taken it in yet. It stays in the queue and may still be done.'
  return { ok: false, error: new LanewayTimeout(sentence) }
}
