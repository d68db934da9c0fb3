// How long work holds the event loop at most, in CPU time: a machine that is busy with something else proves nothing.
import { setImmediate as nextTurn } from 'node:timers/promises'

/** Does the work and tells its result and the longest event-loop tick meanwhile, in ms of CPU time. */
export async function longestTurn<T>(work: () => Promise<T>): Promise<{ result: T; turnMs: number }> {
  let turnMs = 0
  let isOver = false
  const watch = async (): Promise<void> => {
    while (!isOver) {
      const wallBefore = performance.now()
      const before = process.cpuUsage()
      await nextTurn()
      const { user, system } = process.cpuUsage(before)
      // Other threads count in CPU time, waiting for a processor in wall time: the turn took neither.
      turnMs = Math.max(turnMs, Math.min((user + system) / 1_000, performance.now() - wallBefore))
    }
  }
  const watching = watch()
  const result = await work().finally(() => {
    isOver = true
  })
  await watching
  return { result, turnMs }
}
