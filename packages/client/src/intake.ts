// The transport through the intake queue: adds jobs and waits until a worker has ended them.
//
// The wait is polling with a growing delay, one round trip for all jobs that are still open. BullMQ's own way to wait
// needs a connection that reads every event of every client's jobs, and loses events when it falls behind.
import { randomUUID } from 'node:crypto'
import { INTAKE_VERSION, isAnswer } from './contract.ts'
import { LanewayRefused, LanewayTimeout, LanewayUnavailable, notAsPromised } from './errors.ts'
import { type IntakeJobState, isAway, openIntakeQueue } from './redis.ts'
import { ANSWER_LIMIT_MS, type Lifetime, type Reply, type Transport } from './transport.ts'
import type { IntakeJob, IntakeRequests } from './types.ts'

/** A job that waits behind no other ends within 2 to 5 ms. */
const FIRST_DELAY_MS = 2
const LONGEST_DELAY_MS = 250

/** Connects to the Redis that Laneway runs on, or rejects with LanewayUnavailable. */
export async function openIntake(redisUrl: string, apiKey: string, life: Lifetime): Promise<Transport> {
  const queue = await openIntakeQueue(redisUrl)

  /** The result of `work`, or undefined while Redis is away. */
  async function unlessAway<T>(work: () => Promise<T>): Promise<T | undefined> {
    life.check()
    try {
      return await work()
    } catch (error) {
      life.check()
      if (!isAway(error)) throw error
      return undefined
    }
  }

  async function ask<J extends IntakeJob>(
    name: J,
    requests: readonly IntakeRequests[J][],
    timeoutMs = ANSWER_LIMIT_MS,
  ): Promise<Reply<J>[]> {
    const deadline = performance.now() + timeoutMs
    const addedAtMs = Date.now()
    // Added again under the same id and time after a lost connection, a job does nothing twice.
    const jobs = requests.map((fields) => ({
      id: `client-${randomUUID()}`,
      addedAtMs,
      name,
      data: { v: INTAKE_VERSION, api_key: apiKey, ...fields },
    }))
    const ends = new Map<string, IntakeJobState>()
    let toAdd = jobs
    let away = false

    for (let delay = FIRST_DELAY_MS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MS)) {
      const open = jobs.filter(({ id }) => !ends.has(id))
      const states = await unlessAway(async () => {
        if (toAdd.length > 0) await queue.add(toAdd)
        return queue.read(open.map(({ id }) => id))
      })
      away = states === undefined
      // A job that ended long ago, or one that Redis lost, is added again: its end will be the same.
      toAdd = states ? open.filter((_job, i) => states[i]?.state === 'gone') : toAdd
      for (const [i, state] of (states ?? []).entries()) {
        const job = open[i]
        if (job && (state.state === 'done' || state.state === 'refused')) ends.set(job.id, state)
      }
      if (ends.size === jobs.length || performance.now() + delay > deadline) break
      await life.sleep(delay)
    }
    return jobs.map(({ id }) => replyOf(name, ends.get(id), away))
  }

  return { ask, close: queue.close }
}

function replyOf<J extends IntakeJob>(name: J, end: IntakeJobState | undefined, away: boolean): Reply<J> {
  if (end?.state === 'done') {
    const check = isAnswer[name]
    if (!check(end.answer)) throw notAsPromised(name)
    return { ok: true, answer: end.answer }
  }
  if (end?.state === 'refused') return { ok: false, error: new LanewayRefused(end.refusal) }
  if (away) return { ok: false, error: new LanewayUnavailable('Redis was away until the time was over.') }
  const sentence = 'No worker has taken it in yet. It stays in the queue and may still be done.'
  return { ok: false, error: new LanewayTimeout(sentence) }
}
