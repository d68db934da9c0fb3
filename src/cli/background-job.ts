// Waits on the terminal for a job that a worker does.
import { setTimeout as sleep } from 'node:timers/promises'
import { CliFailure } from './failure.ts'

const ASK_EVERY_MS = 50
/** A worker takes a job up at once; without one the job waits. */
const NO_WORKER_MS = 5_000

/** What `find` returns of a job once it is done. A job that nobody takes up is left to the next worker. */
export async function followJob<T extends { state: string }>(
  job: string,
  find: () => Promise<T | undefined>,
  progress?: (found: T) => Promise<void>,
): Promise<T> {
  for (const begunAt = performance.now(); ; await sleep(ASK_EVERY_MS)) {
    const found = await find()
    if (found === undefined || found.state === 'failed') {
      throw new CliFailure(`The job ${job} failed; see the log of the worker.`)
    }
    if (found.state === 'done') return found
    if (found.state === 'waiting' && performance.now() - begunAt > NO_WORKER_MS) {
      throw new CliFailure(`No worker is running. The job ${job} is queued and starts with the next one.`)
    }
    await progress?.(found)
  }
}
