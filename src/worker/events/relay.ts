// The relay: one worker at a time sees to it that what happens is written down for those who want to know, and told.
import type { Config } from '../../config.ts'
import { listeningAccounts, tend } from '../../events/store/listening.ts'
import { isSweeper, resignAsSweeper } from '../../lanes/sweeper.ts'
import type { Log } from '../../log.ts'
import type { Redis } from '../../redis/connect.ts'
import { rootKeys } from '../../redis/keys.ts'
import { withTimeout } from '../../redis/with-timeout.ts'
import { repeatedly } from '../../repeatedly.ts'

/** How often a worker asks whether it is the relay. */
const ELECT_MS = 1_000
/** How often outboxes are looked after. */
const TEND_MS = 5_000
/** A stop waits for Redis so long. */
const LAST_WORDS_MS = 500

/** What telling needs. `worker` is the name of this process. */
export interface RelayDeps {
  redis: Redis
  config: Pick<Config, 'events'>
  log: Log
  worker: string
}

/** Takes part in the election, and works while it is elected. */
export function startRelay({ redis, config, log, worker }: RelayDeps) {
  let isRelay = false
  const electing = repeatedly(
    ELECT_MS,
    async () => {
      isRelay = await isSweeper(redis, worker, rootKeys.relay)
    },
    log,
  )
  const tending = repeatedly(
    TEND_MS,
    async () => {
      if (!isRelay) return
      for (const account of await listeningAccounts(redis)) await tend(redis, account, config.events.retentionMs)
    },
    log,
  )
  return {
    /** Lets another worker be the relay. */
    async stop(_limitMs: number): Promise<void> {
      electing.stop()
      tending.stop()
      if (isRelay) await withTimeout(LAST_WORDS_MS, resignAsSweeper(redis, worker, rootKeys.relay)).catch(() => {})
    },
  }
}
