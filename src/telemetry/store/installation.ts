// The state of the whole installation, read for metrics by the scraped process, and for the history by the sweeper; only lanes
// with work are read, so idle lanes cost nothing.
import { countWaitingMedia } from '../../gallery/received-media.ts'
import { INTAKE_QUEUE } from '../../jobs/intake.ts'
import { intakeJobKey, intakeKeys, JOB } from '../../lanes/bullmq/layout.ts'
import { inTurns, oldestOf, readLaneStats } from '../../lanes/stats.ts'
import type { Redis } from '../../redis/connect.ts'
import { readLiveWorkers } from '../../redis/heartbeats.ts'
import { rootKeys, senderKey } from '../../redis/keys.ts'
import { readReported } from '../../redis/newest.ts'
import { memoryOf, redisProblems } from '../../redis/safety.ts'
import { type HistoryBuffer, WHOLE } from '../history.ts'
import { type Served, servedLanes } from '../lane-bound.ts'
import type { LaneGauges } from '../lane-measures.ts'
import { type RuleGauges, readRuleGauges, restingCampaigns } from './provider-rules.ts'

/** The state of the installation at one moment. */
export interface Installation {
  workers: number
  /** Lane → account, of every lane that there is. */
  owners: ReadonlyMap<number, number>
  /** Lanes with something waiting, in doubt, to poll, or an active campaign. */
  lanes: LaneGauges[]
  /** What the workers say of the lanes that they have open. */
  served: ReadonlyMap<number, Served>
  intake: { waiting: number; oldestSeconds: number }
  /** Figures of events, as written by the relay; undefined without listeners. */
  events: Readonly<Record<string, string>>
  /** Files of received messages that wait to be fetched. */
  receivedMedia: number
  redis: { problems: number; usedBytes: number; limitBytes: number }
  /** The state of WhatsApp's own rules. */
  rules: RuleGauges
}

/** Reads it. Rejects when Redis does not answer. */
export async function readInstallation(redis: Redis): Promise<Installation> {
  const [lanes, owners, workers, problems, memory, intake, events, rules, receivedMedia] = await Promise.all([
    lanesWithWork(redis).then((lanes) => readGaugesOf(redis, lanes)),
    redis.hgetall(rootKeys.lanes),
    readLiveWorkers(redis),
    redisProblems(redis),
    memoryOf(redis),
    readIntake(redis),
    redis.hgetall(rootKeys.eventStatus),
    readRuleGauges(redis),
    countWaitingMedia(redis),
  ])
  return {
    workers: workers.count,
    served: servedLanes(workers.workers),
    owners: new Map(Object.entries(owners).map(([lane, account]) => [Number(lane), Number(account)])),
    lanes,
    intake,
    events,
    receivedMedia,
    redis: { problems: problems.length, usedBytes: memory.usedBytes, limitBytes: memory.limitBytes },
    rules,
  }
}

/** Lanes with something waiting, in doubt or to poll, and those of active campaigns. */
export async function lanesWithWork(redis: Redis): Promise<number[]> {
  const [due, ofCampaigns] = await Promise.all([
    redis.zrange(rootKeys.dueLanes, '0', '-1'),
    redis.smembers(rootKeys.campaignLanes),
  ])
  return [...new Set([...due, ...ofCampaigns].map(Number))]
}

/** Lanes that are read in one turn of the event loop. */
const LANES_A_TURN = 100

const readGaugesOf = (redis: Redis, lanes: readonly number[]): Promise<LaneGauges[]> =>
  inTurns(lanes, LANES_A_TURN, async (lane) => {
    const [stats, [rate, portfolio, quality, block]] = await Promise.all([
      readLaneStats(redis, lane),
      redis.hmget(senderKey(lane), 'rate', 'portfolio', 'told_quality', 'told_block'),
    ])
    // Not copied: a thousand lanes are read in one scrape.
    return Object.assign(stats, {
      rate: Number(rate ?? 0),
      isFlagged: Boolean(readReported(quality)?.value),
      isRestricted: Boolean(readReported(block)?.value),
      resting:
        stats.campaigns.length === 0 ? {} : await restingCampaigns(redis, stats, Number(portfolio ?? '') || undefined),
    })
  })

/** Jobs of other services that wait to be taken in, and how long the next of them has waited. */
async function readIntake(redis: Redis): Promise<Installation['intake']> {
  const key = intakeKeys(INTAKE_QUEUE).waiting
  const [waiting, next] = await Promise.all([redis.llen(key), redis.lindex(key, -1)])
  const addedAt = next === null ? null : await redis.hget(intakeJobKey(INTAKE_QUEUE, next), JOB.addedAt)
  return { waiting, oldestSeconds: addedAt === null ? 0 : Math.max(0, Date.now() - Number(addedAt)) / 1_000 }
}

/** Adds to the history how many messages wait on each lane with work, and how old the oldest is. */
export async function measureLanes(redis: Redis, history: HistoryBuffer): Promise<void> {
  const lanes = (await redis.zrange(rootKeys.dueLanes, '0', '-1')).map(Number)
  const whole = { backlog: 0, oldestSeconds: 0 }
  for (const { lane, nowMs, waiting, oldest } of await inTurns(lanes, LANES_A_TURN, (each) =>
    readLaneStats(redis, each),
  )) {
    const backlog = waiting.transactional + waiting.campaign
    if (backlog === 0) continue
    const oldestAt = oldestOf({ oldest: { ...oldest, place: undefined } }) ?? nowMs
    const oldestSeconds = Math.max(0, nowMs - oldestAt) / 1_000
    history.measure(lane, backlog, oldestSeconds)
    whole.backlog += backlog
    whole.oldestSeconds = Math.max(whole.oldestSeconds, oldestSeconds)
  }
  if (whole.backlog > 0) history.measure(WHOLE, whole.backlog, whole.oldestSeconds)
}
