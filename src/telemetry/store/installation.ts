// How the whole installation stands. Read by whoever is asked for metrics, and by the worker that sweeps for the history;
// only lanes with work are looked at, so idle lanes cost nothing.
import { INTAKE_QUEUE } from '../../jobs/intake.ts'
import { type LaneGauges, readGaugesOf } from '../../queue/lane/stats.ts'
import { intakeJobKey, intakeKeys, JOB } from '../../queue/layout.ts'
import type { Redis } from '../../redis/connect.ts'
import { readLiveWorkers } from '../../redis/heartbeats.ts'
import { rootKeys } from '../../redis/keys.ts'
import { memoryOf, redisProblems } from '../../redis/safety.ts'
import { type Served, servedLanes } from '../lane-bound.ts'

/** How the installation stands at one moment. */
export interface Installation {
  workers: number
  /** Lane → account, of every lane that there is. */
  owners: ReadonlyMap<number, number>
  /** Lanes with something waiting, in doubt, to poll, or an active campaign. */
  lanes: LaneGauges[]
  /** What the workers say of the lanes that they have open. */
  served: ReadonlyMap<number, Served>
  intake: { waiting: number; oldestSeconds: number }
  /** As the relay has written it lately; nothing where nobody listens. */
  events: { enabled: number; failing: number; disabled: number; retrying: number; oldestSeconds: number }
  redis: { problems: number; usedBytes: number; limitBytes: number }
}

/**
 * Reads it in one piece as long as the lanes with work are those of `known`, which it brings up to date; lanes that are
 * new among them take a second one. Rejects when Redis does not answer.
 */
export async function readInstallation(redis: Redis, known: Set<number>): Promise<Installation> {
  const expected = [...known]
  const [due, campaignLanes, owners, workers, problems, memory, intake, events, first] = await Promise.all([
    redis.zrange(rootKeys.dueLanes, '0', '-1'),
    redis.smembers(rootKeys.campaignLanes),
    redis.hgetall(rootKeys.lanes),
    readLiveWorkers(redis),
    redisProblems(redis),
    memoryOf(redis),
    readIntake(redis),
    redis.hgetall(rootKeys.eventStatus),
    readGaugesOf(redis, expected),
  ])
  const now = new Set([...due, ...campaignLanes].map(Number))
  const more = [...now].filter((lane) => !known.has(lane))
  const lanes = [...first.filter(({ lane }) => now.has(lane)), ...(await readGaugesOf(redis, more))]
  known.clear()
  for (const lane of now) known.add(lane)
  return {
    workers: workers.count,
    served: servedLanes(workers.workers),
    owners: new Map(Object.entries(owners).map(([lane, account]) => [Number(lane), Number(account)])),
    lanes,
    intake,
    events: {
      enabled: Number(events.enabled ?? 0),
      failing: Number(events.failing ?? 0),
      disabled: Number(events.disabled ?? 0),
      retrying: Number(events.retrying ?? 0),
      oldestSeconds: Number(events.oldest_seconds ?? 0),
    },
    redis: { problems: problems.length, usedBytes: memory.usedBytes, limitBytes: memory.limitBytes },
  }
}

/** Jobs of other services that wait to be taken in, and how long the next of them has waited. */
async function readIntake(redis: Redis): Promise<Installation['intake']> {
  const key = intakeKeys(INTAKE_QUEUE).waiting
  const [waiting, next] = await Promise.all([redis.llen(key), redis.lindex(key, -1)])
  const addedAt = next === null ? null : await redis.hget(intakeJobKey(INTAKE_QUEUE, next), JOB.addedAt)
  return { waiting, oldestSeconds: addedAt === null ? 0 : Math.max(0, Date.now() - Number(addedAt)) / 1_000 }
}
