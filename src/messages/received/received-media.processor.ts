// Fetches the files of received messages into galleries, for accounts that keep them (`keep_received_media`): soon after they arrive, and
// again with a growing wait until WhatsApp has removed them. One try is fetch-medium.ts. A worker that dies leaves a file due again a
// minute later.

import {
  endReceivedMedium,
  HOLD_AGAIN_MS,
  holdReceivedMedium,
  retryReceivedMedium,
  type TakenMedium,
  takeReceivedMedium,
} from '../../gallery/received-media.ts'
import { waitAtMost } from '../../kernel/deadline.ts'
import { repeatedly } from '../../kernel/repeatedly.ts'
import { HOUR_MS } from '../../kernel/time-units.ts'
import { isRedisAway } from '../../redis/errors.ts'
import { AT_ONCE, type FetchDeps, type FetchEnd, fetchMedium } from './fetch-medium.ts'

const CHECK_EVERY_MS = 1_000
/** Of AT_ONCE, the most for one account. */
const AT_ONCE_EACH = 3
/** Wait after a failed try, doubled each time up to the last, with up to half subtracted at random. */
const FIRST_WAIT_MS = 5_000
const MOST_WAIT_MS = HOUR_MS

/** Starts polling for due files, once a second and after each file. */
export function startReceivedMedia(deps: FetchDeps): { stop: (limitMs: number) => Promise<void> } {
  const { redis, log } = deps
  const stopping = new AbortController()
  const running = new Map<Promise<void>, number>()
  let checking: Promise<void> | undefined

  async function check(): Promise<void> {
    while (running.size < AT_ONCE && !stopping.signal.aborted) {
      const accounts = [...running.values()]
      const busy = [...new Set(accounts)].filter((each) => accounts.filter((a) => a === each).length >= AT_ONCE_EACH)
      const taken = await takeReceivedMedium(redis, busy)
      if (taken === undefined) return
      const work = run(taken).finally(() => {
        running.delete(work)
        checkOnce().catch(() => {})
      })
      running.set(work, taken.account)
    }
  }

  function checkOnce(): Promise<void> {
    checking ??= check().finally(() => {
      checking = undefined
    })
    return checking
  }

  async function run(taken: TakenMedium): Promise<void> {
    const holding = setInterval(() => void holdReceivedMedium(redis, taken).catch(() => {}), HOLD_AGAIN_MS)
    try {
      await settle(deps, taken, await fetchMedium(deps, taken, stopping.signal))
    } catch (error) {
      // It stays leased until the lease ends, and is due again then.
      if (isRedisAway(error)) return
      log.error({ account: taken.account, lane: taken.lane, err: error }, 'received_media.broken')
      await settle(deps, taken, { kind: 'again', why: 'fault' }).catch(() => {})
    } finally {
      clearInterval(holding)
    }
  }

  const repeating = repeatedly(CHECK_EVERY_MS, checkOnce, log)
  return {
    /** Aborts tries in progress, which are due again at once; waits for that at most `limitMs`. */
    async stop(limitMs: number): Promise<void> {
      repeating.stop()
      stopping.abort()
      await waitAtMost(limitMs, Promise.allSettled(running.keys()))
    },
  }
}

async function settle({ redis, log }: FetchDeps, taken: TakenMedium, end: FetchEnd): Promise<void> {
  const { account, lane, tries } = taken
  if (end.kind === 'again') {
    const waitMs = end.waitMs ?? Math.min(MOST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(20, tries))
    const againMs = Math.round(waitMs * (1 - Math.random() / 2))
    await retryReceivedMedium(redis, taken, { againMs, backoffMs: end.backoffMs ?? 0 })
    log.info({ account, lane, why: end.why, tries, wait_ms: againMs }, 'received_media.waits')
    return
  }
  await endReceivedMedium(redis, taken)
  if (end.kind === 'kept') log.info({ account, lane, file: end.file, bytes: end.bytes }, 'received_media.kept')
  else log.warn({ account, lane, why: end.why, tries }, 'received_media.not_kept')
}
