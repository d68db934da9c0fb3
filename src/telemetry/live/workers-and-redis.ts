// What a snapshot shows besides lanes and campaigns: workers, Redis, failures by code.
import { iso } from '../../kernel/instant.ts'
import { nodeProblem } from '../../kernel/node-line.ts'
import { HOUR_MS } from '../../kernel/time-units.ts'
import type { Redis } from '../../redis/connect.ts'
import { type KnownWorker, readWorkers } from '../../redis/heartbeats.ts'
import { memoryOf, type RedisSetting, redisSettings } from '../../redis/safety.ts'
import { meaningOf } from '../codes.ts'
import { COARSE, WHOLE } from '../history.ts'
import { type Served, servedLanes } from '../lane-bound.ts'
import type { Snapshot } from '../snapshot.ts'
import { readStats } from '../store/history.ts'

/** Settings of Redis change when a person changes them; asking costs it two long answers. */
const SETTINGS_EVERY_MS = 30_000

/** What runs the lanes at one moment. */
export interface WorkersAndRedis {
  workers: Snapshot['workers']
  /** What the workers say of the lanes that they have open. */
  served: ReadonlyMap<number, Served>
  lost_workers: Snapshot['lost_workers']
  node_problems: Snapshot['node_problems']
  redis: Snapshot['redis']
  isRedisFull: boolean
}

/** Reads it for snapshots of this process. */
export function createWorkersAndRedisReader(redis: Redis) {
  let settings: readonly RedisSetting[] = []
  let settingsAt = Number.NEGATIVE_INFINITY

  return async (): Promise<WorkersAndRedis> => {
    if (performance.now() - settingsAt > SETTINGS_EVERY_MS) {
      settings = await redisSettings(redis)
      settingsAt = performance.now()
    }
    const [workers, memory] = await Promise.all([readWorkers(redis), memoryOf(redis)])
    return {
      workers: workers.alive.map((worker) => ({
        ...shown(worker),
        lanes: worker.facts?.lanes ?? 0,
        in_flight: worker.facts?.inFlight ?? null,
        max_in_flight: worker.facts?.maxInFlight ?? null,
        seen_s: seconds(worker),
      })),
      served: servedLanes(workers.alive),
      lost_workers: workers.lost.map((worker) => ({ ...shown(worker), lost_s: seconds(worker) })),
      node_problems: nodeProblems(workers.alive),
      redis: {
        used_bytes: memory.usedBytes,
        max_bytes: memory.limitBytes === 0 ? null : memory.limitBytes,
        safety: settings.map(({ name, ok, sentence }) => ({ name, ok, sentence })),
      },
      isRedisFull: memory.isFull,
    }
  }
}

/** What is wrong with the Node of this process, and of workers that say which one they have. */
function nodeProblems(workers: readonly KnownWorker[]): string[] {
  const versions = new Set([process.versions.node, ...workers.flatMap(({ facts }) => facts?.node ?? [])])
  return [...versions].flatMap((version) => nodeProblem(version, new Date().toISOString().slice(0, 10)) ?? [])
}

const shown = ({ id, facts }: KnownWorker) => ({
  ...{ id, host: facts?.host ?? '', version: facts?.version ?? '', pid: facts?.pid ?? null },
  started_at: facts === undefined ? null : iso(facts.startedAt),
})
const seconds = ({ seenMs }: KnownWorker): number => Number((seenMs / 1_000).toFixed(1))

/** Failures of the last hour by code, of these lanes together or of the whole installation; the most frequent first. */
export async function readFailures(
  redis: Redis,
  lanes: readonly number[] | 'all',
  nowMs: number,
): Promise<Snapshot['failures']> {
  const of = { sinceMs: nowMs - HOUR_MS, nowMs, resolution: COARSE }
  const { points } = await readStats(redis, lanes === 'all' ? [WHOLE] : lanes, of)
  const byCode = new Map<string, number>()
  for (const { failedBy } of points) {
    for (const [code, count] of Object.entries(failedBy)) byCode.set(code, (byCode.get(code) ?? 0) + count)
  }
  return [...byCode]
    .sort(([a, one], [b, other]) => other - one || a.localeCompare(b))
    .map(([code, count]) => ({ code, meaning: meaningOf(code), count }))
}
