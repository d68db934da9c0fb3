// The election of the sweeper: one worker at a time sweeps, and does what else needs doing once for all workers. If it dies,
// another one is elected within seconds.

import { rootKeys } from '../../redis/keys.ts'
import { ELECTED_MS, holdLease } from '../../redis/lock.ts'
import { clockOffMs } from '../../redis/trusted-clock.ts'
import { every, type StartStop } from '../start-stop.ts'
import { createSweep, SWEEP_MS, type SweepDeps } from './sweep.ts'

/** Takes part in the election, and sweeps while this worker is elected. `worker` is its name. */
export function createSweeper(deps: SweepDeps & { worker: string }): StartStop & { isElected: () => boolean } {
  const { redis, log, worker } = deps
  const sweep = createSweep(deps)
  let isElected = false
  const sweeping = every(
    SWEEP_MS,
    async () => {
      isElected = await holdLease(redis, rootKeys.sweeper, { holder: worker, ms: ELECTED_MS })
      // By a clock that is off, every attempt in flight would be taken for lost.
      return isElected && clockOffMs(redis) === 0 ? sweep.sweep() : sweep.pass()
    },
    log,
  )
  return { ...sweeping, isElected: () => isElected }
}
