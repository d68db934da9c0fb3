// The numbered table of migrations: how what an older release wrote to Redis becomes what this one reads. Every part
// runs it before it reads anything else (start/checks.ts, cli/session.ts).
//
// One part at a time migrates, under a lease that expires when its process dies. A step may run again after such a
// death, or beside a process that was frozen and woke up, so each must be safe to repeat at any time.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from './connect.ts'
import { rootKeys } from './keys.ts'
import { deleteIf, holdLease, newHolder } from './lock.ts'
import { removeChunkQueues } from './remove-chunk-queues.ts'

/** One step from the layout before it to the layout of its number. */
export interface Migration {
  /** Rises by one from step to step. */
  number: number
  /** What the step does, for people. */
  says: string
  up(redis: Redis): Promise<void>
}

/** All steps in their order. What was released is never changed; a new layout is a new step. */
export const MIGRATIONS: readonly Migration[] = [
  { number: 1, says: 'notes the number of the layout', up: async () => {} },
  { number: 2, says: 'removes the queues in which messages of campaigns waited', up: removeChunkQueues },
]

/** A newer release wrote to this Redis. The message is for the person at the terminal. */
export class NewerLayoutError extends Error {
  override name = 'NewerLayoutError'

  constructor(found: number, known: number) {
    super(
      `A newer release of Laneway has used this Redis (layout ${found}, this release knows ${known}): run that release.`,
    )
  }
}

/** A migration whose process died goes on elsewhere after this. */
const LEASE_MS = 5_000
const PROLONG_MS = 1_000
const ASK_AGAIN_MS = 100

/**
 * Brings the layout up to date, or waits until another part has. Rejects with a NewerLayoutError, before anything was
 * changed, when the layout is newer than the steps.
 */
export async function migrate(redis: Redis, steps: readonly Migration[] = MIGRATIONS): Promise<void> {
  const known = steps.at(-1)?.number ?? 0
  const holder = newHolder()
  for (let found = await layoutOf(redis); found !== known; found = await layoutOf(redis)) {
    if (found > known) throw new NewerLayoutError(found, known)
    if (await holdLease(redis, rootKeys.layoutLease, { holder, ms: LEASE_MS })) {
      return runSteps(redis, steps, holder).finally(() =>
        deleteIf(redis, rootKeys.layoutLease, holder).catch(() => undefined),
      )
    }
    await sleep(ASK_AGAIN_MS)
  }
}

/** Runs the steps that the layout lacks. The lease is prolonged only while it is still this holder's. */
async function runSteps(redis: Redis, steps: readonly Migration[], holder: string): Promise<void> {
  const prolonging = setInterval(() => {
    holdLease(redis, rootKeys.layoutLease, { holder, ms: LEASE_MS, mayTake: false }).catch(() => undefined)
  }, PROLONG_MS)
  try {
    for (const { number, up } of steps) {
      // Read again for each step: this process may have been frozen while another one went on.
      if (number <= (await layoutOf(redis))) continue
      await up(redis)
      await redis.zadd(rootKeys.layout, 'GT', number, LAYOUT)
    }
  } finally {
    clearInterval(prolonging)
  }
}

const LAYOUT = 'layout'

/** The number of the last step that was done; 0 in an empty Redis. */
export const layoutOf = async (redis: Redis): Promise<number> =>
  Number((await redis.zscore(rootKeys.layout, LAYOUT)) ?? 0)
