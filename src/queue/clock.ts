// Has a Worker of BullMQ go by Redis' clock. BullMQ takes the time from the process wherever it delays a job, looks for
// jobs that are due or waits for the next one, and renews locks by it: with a clock that is an hour ahead, jobs ran an hour
// early, and one that was set back let go of every lock.
import type { Worker } from 'bullmq'
import { z } from 'zod'
import { runningRedisClock } from '../redis/clock.ts'
import type { Redis } from '../redis/connect.ts'

/** Where the time stands in what BullMQ gives to a script of this name: behind its keys, as the second argument. */
const TIME_AT: Readonly<Record<string, number>> = { moveToActive: 12, moveToDelayed: 12, moveToFinished: 15 }
/** What a script answers that takes the next job; in the end when the next one is due (epoch ms), 0 without one. */
const nextJob = z.tuple([z.unknown(), z.unknown(), z.unknown(), z.number().positive()])

/** Changes a Worker: from now on all that it delays, and all that it takes, is due by the clock of its queue's Redis. */
export function goByRedisClock(worker: Worker, redis: Redis): void {
  const { backend } = worker
  const nowMs = runningRedisClock(redis, worker.toKey(''))
  const run = backend.execCommand.bind(backend)
  async function runInTime(client: Parameters<typeof run>[0], name: string, given: unknown[], at: number) {
    // What is due a moment too early would only be put off again: the time is never ahead of Redis.
    const answer: unknown = await run(client, name, given.with(at, await nowMs()))
    const next = nextJob.safeParse(answer)
    if (!next.success) return answer
    // The Worker compares it with the clock of the machine.
    const [job, id, limitMs, dueMs] = next.data
    return [job, id, limitMs, dueMs - (await nowMs()) + Date.now()]
  }
  backend.execCommand = (client, name, given: unknown[]) => {
    const at = TIME_AT[name]
    return at === undefined ? run(client, name, given) : runInTime(client, name, given, at)
  }

  const waitForJob = backend.waitForJob.bind(backend)
  backend.waitForJob = async (seconds) => {
    const woken = await waitForJob(seconds)
    // When a job is due, on Redis' clock: the Worker is to look now, and is told then how long it has to wait.
    return woken && { ...woken, score: 0 }
  }
}

/**
 * Keeps the locks of jobs in hand, which last for `lockMs`, by a timer: BullMQ looks at the clock of the machine for it.
 * Stop it in the end.
 */
export function keepLocks(lockMs: number, extend: (ids: string[], tokens: string[]) => void) {
  const tokens = new Map<string, string>()
  /** In hand the last time already: the locks of all others are new. */
  let known: ReadonlySet<string> = new Set()
  const timer = setInterval(() => {
    const old = [...tokens].filter(([id]) => known.has(id))
    known = new Set(tokens.keys())
    if (old.length > 0)
      extend(
        old.map(([id]) => id),
        old.map(([, token]) => token),
      )
  }, lockMs / 4).unref()
  return {
    async during<T>(id: string, token: string, work: () => Promise<T>): Promise<T> {
      tokens.set(id, token)
      try {
        return await work()
      } finally {
        // The same job may have been taken again meanwhile, by a run that holds it now.
        if (tokens.get(id) === token) tokens.delete(id)
      }
    },
    stop: (): void => clearInterval(timer),
  }
}
