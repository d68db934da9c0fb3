// A clock that jumps ahead: what runs under it sees the time of the machine plus an offset, by libfaketime. So days pass within
// minutes, in Redis as in Node. Timers and `performance.now()` go on as they do.
import { existsSync, writeFileSync } from 'node:fs'
import type { Redis } from '../src/redis/connect.ts'
import { until } from './part.ts'

/** Where Debian's package libfaketime has it. */
const LIBRARY = '/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1'
/** Redis' own allocator asks for the time before libfaketime is ready; that of the C library does not. */
const PLAIN_ALLOCATOR = '/usr/lib/x86_64-linux-gnu/libc_malloc_debug.so.0'
/** How often a process reads the offset. */
const LOOK_SECONDS = 1

/** Whether clocks can be shifted on this machine. */
export const canShiftClocks = (): boolean => existsSync(LIBRARY) && existsSync(PLAIN_ALLOCATOR)

export interface ShiftedClock {
  /** Environment of a Node process under it, and the command that Redis is to run under. */
  settings: Record<string, string>
  beforeRedis: readonly string[]
  /** The offset at a time of the machine (epoch ms); undefined while it changed. */
  offsetAt(realMs: number): number | undefined
  /** Sets it ahead, and waits until all have seen it. */
  advance(redis: Redis, ms: number): Promise<void>
}

/** `file` holds the offset. */
export function createShiftedClock(file: string): ShiftedClock {
  const offsets = [{ fromMs: 0, offsetMs: 0 }]
  const changes: { fromMs: number; toMs: number }[] = []
  writeFileSync(file, '+0')
  const common = {
    FAKETIME_TIMESTAMP_FILE: file,
    FAKETIME_CACHE_DURATION: String(LOOK_SECONDS),
    FAKETIME_DONT_FAKE_MONOTONIC: '1',
    DONT_FAKE_MONOTONIC: '1',
  }
  const ofRedis = { ...common, LD_PRELOAD: `${PLAIN_ALLOCATOR} ${LIBRARY}` }
  return {
    settings: { ...common, LD_PRELOAD: LIBRARY },
    beforeRedis: ['env', ...Object.entries(ofRedis).map(([name, value]) => `${name}=${value}`)],
    offsetAt(realMs) {
      if (changes.some(({ fromMs, toMs }) => realMs >= fromMs && realMs <= toMs)) return undefined
      return offsets.findLast(({ fromMs }) => fromMs <= realMs)?.offsetMs
    },
    async advance(redis, ms) {
      const offsetMs = (offsets.at(-1)?.offsetMs ?? 0) + ms
      const fromMs = Date.now()
      writeFileSync(file, `+${(offsetMs / 1_000).toFixed(3)}`)
      const isThere = async () => {
        const [seconds] = await redis.time()
        return Number(seconds) * 1_000 > Date.now() + offsetMs - 2_000
      }
      await until('the clock of Redis is ahead', 10_000, isThere)
      // The others look as often.
      await new Promise((resolve) => setTimeout(resolve, 2_000 * LOOK_SECONDS))
      const toMs = Date.now()
      changes.push({ fromMs, toMs })
      offsets.push({ fromMs: toMs, offsetMs })
    },
  }
}
