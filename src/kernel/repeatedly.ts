// Work that a process repeats in the background.
import type { Log } from './log.ts'

/** Runs `work` at once and then again `ms` after each run has ended, until stopped. A failure is logged and tried again. */
export function repeatedly(ms: number, work: () => Promise<unknown>, log: Log): { stop: () => void } {
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  const run = async (): Promise<void> => {
    try {
      await work()
    } catch (error) {
      if (!stopped) log.warn({ err: error }, 'background_task.failed')
    }
    if (!stopped) timer = setTimeout(run, ms)
  }
  void run()
  return {
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}
