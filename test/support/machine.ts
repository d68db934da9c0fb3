// How fast this machine is, now. A limit of time that a test holds the service to is multiplied by it: the limits are for
// two quiet cores, and what the machine does beside, or how old it is, says nothing of the service.
import { createHash } from 'node:crypto'
import { availableParallelism, loadavg } from 'node:os'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** CPU time (ms) that the piece of work takes on two quiet cores. */
const WORK_MS = 20
const TURNS = 10
const TRIES = 3

/** A bit of what the service does: JSON, hashes, small objects. */
function work(): void {
  const items = Array.from({ length: 250 }, (_, i) => ({ id: `m${i}`, to: `49151${i}`, values: ['a', 'b', String(i)] }))
  const text = JSON.stringify(items)
  createHash('sha256').update(text).digest('hex')
  JSON.parse(text)
}

const cpuMs = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1_000
}

/** The smallest of a few tries, since whatever comes between them only adds to one. */
async function smallestOf(clock: () => number): Promise<number> {
  const tries: number[] = []
  for (let i = 0; i < TRIES; i += 1) {
    const before = clock()
    for (let turn = 0; turn < TURNS; turn += 1) {
      for (let n = 0; n < 5; n += 1) work()
      await nextTurn()
    }
    tries.push(clock() - before)
  }
  return Math.min(...tries)
}

/** How many times the CPU time of two quiet cores work takes here; at least 1. */
export const cpuSlowness = async (): Promise<number> => Math.max(1, (await smallestOf(cpuMs)) / WORK_MS)

/** How many times as long as on two quiet cores work takes here and now, with all that runs beside it; at least 1. */
export async function slowness(): Promise<number> {
  const took = (await smallestOf(() => performance.now())) / WORK_MS
  return Math.max(1, took, waitingForCores())
}

/** How many processes want each core, over the last minute. */
const waitingForCores = (): number => (loadavg()[0] ?? 0) / availableParallelism()

/** Whether more wants to run than there are cores. */
export const isBusy = (): boolean => waitingForCores() > 1
