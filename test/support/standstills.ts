// How long this process could not run: its machine stood still, or gave the cores to others. That says nothing of what a
// test measures meanwhile, so it takes it off.

const LOOK_MS = 20
/** What timers and neighbours cost all the time is left to `slowness()`. */
const LEAST_MS = 200

/** Watches from now on. What the process itself works on in one go is no standstill: that takes CPU time. */
export function watchStandstills(): { ms(): number; stop(): void } {
  let last = performance.now()
  let cpu = process.cpuUsage()
  let stoodMs = 0
  const look = (): void => {
    const now = performance.now()
    const { user, system } = process.cpuUsage(cpu)
    const lostMs = now - last - LOOK_MS - (user + system) / 1_000
    if (lostMs >= LEAST_MS) stoodMs += lostMs
    last = now
    cpu = process.cpuUsage()
  }
  const timer = setInterval(look, LOOK_MS)
  return {
    /** How long it stood still so far (ms). */
    ms() {
      look()
      return stoodMs
    },
    stop: () => clearInterval(timer),
  }
}
