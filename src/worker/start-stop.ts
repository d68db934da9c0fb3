// Parts that a process starts in order and stops in reverse.
//
// A start that fails stops what was started before, so that no half-started process remains. A stop that fails keeps no other
// part from being stopped.

import type { Log } from '../kernel/log.ts'
import { repeatedly } from '../kernel/repeatedly.ts'

/** Something that is started once and stopped once. */
export interface StartStop {
  /** Resolves once it works. */
  start: () => unknown
  /** Called only when `start` has not failed. */
  stop: () => unknown
}

/** A part made of others: started in order; in reverse, each is stopped once the one after it has stopped. */
export const oneByOne = (parts: readonly StartStop[]): StartStop =>
  composed(parts, async (started) => {
    const ends: PromiseSettledResult<unknown>[] = []
    for (const part of started) ends.push(...(await Promise.allSettled([stopped(part)])))
    return ends
  })

/** The same, but all are stopped at once: each may take most of the time that a stop has. */
export const sideBySide = (parts: readonly StartStop[]): StartStop =>
  composed(parts, (started) => Promise.allSettled(started.map(stopped)))

/** `stopAll` stops those that were started, the last one first. */
function composed(
  parts: readonly StartStop[],
  stopAll: (started: readonly StartStop[]) => Promise<PromiseSettledResult<unknown>[]>,
): StartStop {
  let started: StartStop[] = []

  async function stop(): Promise<void> {
    const last = started.reverse()
    started = []
    const ends = await stopAll(last)
    const errors: unknown[] = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason] : []))
    if (errors.length > 1) throw new AggregateError(errors, `${errors.length} parts could not be stopped`)
    if (errors.length === 1) throw errors[0]
  }

  return {
    async start() {
      for (const part of parts) {
        try {
          await part.start()
        } catch (error) {
          // The caller must get the reason of the failed start, not that of a failed stop.
          await stop().catch(() => {})
          throw error
        }
        started.push(part)
      }
    },
    stop,
  }
}

/** Also turns an error thrown before the first await into a rejection. */
const stopped = async (part: StartStop): Promise<unknown> => part.stop()

/** A part with the value that its start returned. */
export interface Part<T> extends StartStop {
  /** Throws before the start. */
  running: () => T
}

/** A part from the function that starts it; `stop` gets the value that it returned. */
export function part<T extends object>(begin: () => T | Promise<T>, stop: (running: T) => unknown): Part<T> {
  let made: T | undefined
  return {
    async start() {
      made = await begin()
    },
    stop() {
      if (made !== undefined) return stop(made)
    },
    running() {
      if (made === undefined) throw new Error('a part is needed before it was started')
      return made
    },
  }
}

/** Work that is done at once and then again `ms` after each time. When it is stopped, a run under way is finished. */
export const every = (ms: number, work: () => Promise<unknown>, log: Log): StartStop =>
  part(
    () => repeatedly(ms, work, log),
    (task) => task.stop(),
  )

/** Something that needs no start. */
export const closing = (stop: () => unknown): StartStop => ({ start: () => undefined, stop })
