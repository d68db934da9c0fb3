// Takes snapshots of the current state of one account or of the whole installation. It keeps earlier readings,
// so that a snapshot each second reads only what may have changed; a program that takes one pays for one.
import { LRUCache } from 'lru-cache'
import { z } from 'zod'
import { iso } from '../../kernel/instant.ts'
import { mostEntries } from '../../kernel/most-entries.ts'
import { inTurns, type LaneStats, oldestOf, readLaneStats } from '../../lanes/stats.ts'
import { campaignId } from '../../model/campaigns/campaign-id.ts'
import { paceOf } from '../../model/messages/pace.ts'
import { type RuleWaits, whyCampaignsWait } from '../../portfolios/campaign-waits.ts'
import type { RulesOwnerId } from '../../portfolios/rules-owner.ts'
import type { Redis } from '../../redis/connect.ts'
import { rootKeys, senderKey } from '../../redis/keys.ts'
import { FINE, WHOLE } from '../history.ts'
import { boundOf } from '../lane-bound.ts'
import { byTrouble, drainSeconds, laneState } from '../lane-state.ts'
import {
  isInScope,
  LANES_SHOWN,
  SCOPE_OF_ALL,
  type Scope,
  type Snapshot,
  type SnapshotLane,
  SPARK_POINTS,
  scopeKey,
} from '../snapshot.ts'
import { readPeriods } from '../store/history.ts'
import { lanesWithWork } from '../store/installation.ts'
import { createCampaignReader } from './campaigns.ts'
import { createRateMeter, type RateMeter, type Rates, rounded } from './rates.ts'
import { createWorkersAndRedisReader, readFailures, type WorkersAndRedis } from './workers-and-redis.ts'

/** Idle lanes that are read each time: they can be paused, and have dead letters. */
const IDLE_AT_ONCE = 200
/** Lanes that are read in one event-loop tick. */
const LANES_A_TURN = 25
/** Failures by code are read when there are new ones, and at least this often: not every lane is read each time. */
const FAILURES_EVERY_MS = 10_000
/** Unused entries are dropped after this; of more lanes and scopes than these, the most recently used are kept. */
const KEPT_MS = 60_000
const LANES_KEPT = 100_000
const SCOPES_KEPT = 1_000
const kept = { ttl: KEPT_MS, updateAgeOnGet: true, perf: performance }

const text = z.string().nullable()
const senderReply = z.tuple([text, text, text, text, text, text, text, text, text])

const SENDER_FIELDS = [
  ...['account', 'name', 'number', 'rate', 'paused_for', 'paused_by', 'removed_at', 'portfolio', 'paused_at'],
] as const

/** A lane at one moment, with its sender's settings. */
interface LiveLane extends LaneStats {
  account: number
  name: string
  rate: number
  pausedFor: string
  pausedBy: string
  /** Epoch ms; 0 when it is not known. */
  pausedAt: number
  /** What its campaigns wait for by WhatsApp's own rules. */
  resting: RuleWaits | undefined
  /** Of the rules of its sender; undefined while no campaign runs on it. */
  owner: RulesOwnerId | undefined
}

/** What is remembered of a lane from snapshot to snapshot. */
interface Known {
  meter: RateMeter
  head: string
  headSinceMs: number
  /** Undefined when there is no such sender any more. */
  live: LiveLane | undefined
}

/** What is remembered of an account, or of all. */
interface KnownScope {
  failures: Snapshot['failures']
  failuresAtMs: number
  /** Where the next round over idle lanes begins. */
  idleFrom: number
}

/** Nothing seen yet. */
export function createSnapshots(redis: Redis) {
  const lanes = new LRUCache<number, Known>({ ...mostEntries(LANES_KEPT), ...kept })
  const scopes = new LRUCache<string, KnownScope>({ ...mostEntries(SCOPES_KEPT), ...kept })
  const whole = createRateMeter(SPARK_POINTS)
  const readWorkersAndRedis = createWorkersAndRedisReader(redis)
  const campaigns = createCampaignReader(redis)

  async function measure(meter: RateMeter, lane: number, nowMs: number): Promise<void> {
    meter.add(nowMs, await readPeriods(redis, lane, { of: FINE, fromMs: meter.sinceMs(nowMs), nowMs }))
  }

  async function refresh(lane: number, nowMs: number): Promise<void> {
    const known: Known = lanes.get(lane) ?? {
      ...{ meter: createRateMeter(SPARK_POINTS), head: '', headSinceMs: nowMs, live: undefined },
    }
    lanes.set(lane, known)
    const [live] = await Promise.all([readLiveLane(redis, lane), measure(known.meter, lane, nowMs)])
    known.live = live
    if (live === undefined) return
    const isLimited = live.slots.lastUs + paceOf(live.rate || 1).gapUs > live.nowUs
    const isExplained = live.isPaused || live.cooldown !== undefined || isLimited || live.sending > 0
    if (live.head === '' || isExplained || live.head !== known.head) {
      known.head = live.head
      known.headSinceMs = nowMs
    }
  }

  /** The lanes to read: those with work, and some of the others in turn. */
  async function lanesToRead(own: ReadonlySet<number>, scope: KnownScope): Promise<number[]> {
    if (own.size <= IDLE_AT_ONCE) return [...own]
    const busy = new Set((await lanesWithWork(redis)).filter((lane) => own.has(lane)))
    const idle = [...own].filter((lane) => !busy.has(lane))
    const next = [...idle.slice(scope.idleFrom), ...idle.slice(0, scope.idleFrom)].slice(0, IDLE_AT_ONCE)
    scope.idleFrom = idle.length === 0 ? 0 : (scope.idleFrom + IDLE_AT_ONCE) % idle.length
    return [...busy, ...next]
  }

  function shownOf(
    { meter, headSinceMs }: Known,
    live: LiveLane,
    workersAndRedis: WorkersAndRedis,
    nowMs: number,
  ): SnapshotLane {
    const served = workersAndRedis.served.get(live.lane)
    const { rate, cooldown } = live
    const waiting = { transactional: live.waiting.transactional, campaign: live.waiting.campaign + live.places }
    const all = waiting.transactional + waiting.campaign
    const state = laneState({
      ...{ ...live, waiting: all, inFlight: live.sending, paceUsed: paceUsed(live), sameHeadMs: nowMs - headSinceMs },
      ...{ workers: workersAndRedis.workers.length, isRedisFull: workersAndRedis.isRedisFull },
      waitingFirst: waiting.transactional,
    })
    const oldestAt = oldestOf(live)
    return {
      sender: live.lane,
      name: live.name,
      account: live.account,
      ...state,
      drain_s: drainSeconds({ waiting: all, rate }),
      waiting,
      oldest_s: oldestAt === undefined ? null : Math.max(0, Math.round((live.nowMs - oldestAt) / 100) / 10),
      rate_per_s: rate,
      sent_per_s: rounded(meter.rates(nowMs).sent),
      spark: meter.spark(nowMs),
      dead_letters: live.deadLetters,
      in_flight: served?.inFlight ?? live.sending,
      answer_p50_s: served?.answerSeconds?.p50 ?? null,
      answer_p99_s: served?.answerSeconds?.p99 ?? null,
      bound: boundOf({
        isPaused: live.isPaused,
        isCoolingDown: cooldown !== undefined,
        isResting: live.resting !== undefined && waiting.transactional === 0,
        waiting: all,
        isAtPace: state.state === 'waiting_for_pace',
        byWorkers: served?.bound,
      }),
      campaigns_wait: shownWaits(live.resting),
    }
  }

  return {
    /** Takes a snapshot of a scope. Rejects when Redis is away. */
    async take(scope: Scope = SCOPE_OF_ALL): Promise<Snapshot> {
      const nowMs = Date.now()
      const { account } = scope
      const known: KnownScope = scopes.get(scopeKey(scope)) ?? {
        ...{ failures: [], failuresAtMs: Number.NEGATIVE_INFINITY, idleFrom: 0 },
      }
      scopes.set(scopeKey(scope), known)
      const owners = Object.entries(await redis.hgetall(rootKeys.lanes)).map(([lane, owner]) => ({
        ...{ lane: Number(lane), owner: Number(owner) },
      }))
      const own = new Set(
        owners.flatMap(({ lane, owner }) =>
          (account === undefined || owner === account) && isInScope(scope, lane) ? lane : [],
        ),
      )
      const [workersAndRedis] = await Promise.all([
        readWorkersAndRedis(),
        account === undefined ? measure(whole, WHOLE, nowMs) : undefined,
        lanesToRead(own, known).then((some) => inTurns(some, LANES_A_TURN, (lane) => refresh(lane, nowMs))),
      ])
      const meters = account === undefined ? [whole] : [...own].flatMap((lane) => lanes.get(lane)?.meter ?? [])
      const hasNew = meters.some((meter) => meter.failedRoseAtMs() > known.failuresAtMs)
      if (hasNew || nowMs - known.failuresAtMs > FAILURES_EVERY_MS) {
        known.failures = await readFailures(redis, account === undefined ? 'all' : [...own], nowMs)
        known.failuresAtMs = nowMs
      }
      // Read this time or not, its account is in use.
      const found = [...own].flatMap((lane) => {
        const here = lanes.get(lane)
        return here?.live === undefined ? [] : { known: here, live: here.live }
      })
      const active = found.flatMap(({ live }) =>
        live.campaigns.map(({ number }) => campaignId({ lane: live.lane, number })),
      )
      const accounts = account === undefined ? [...new Set(owners.map(({ owner }) => owner))] : [account]
      const shown = found.map((each) => shownOf(each.known, each.live, workersAndRedis, nowMs)).sort(byTrouble)
      const rates =
        account === undefined ? whole.rates(nowMs) : sumOf(found.map((each) => each.known.meter.rates(nowMs)))
      const ages = shown.flatMap(({ oldest_s: age }) => age ?? [])
      const snapshot: Snapshot = {
        at: iso(nowMs),
        totals: {
          accepted_per_s: rounded(rates.accepted),
          sent_per_s: rounded(rates.sent),
          delivered_per_s: rounded(rates.delivered),
          failed_per_s: rounded(rates.failed),
          waiting: shown.reduce((sum, { waiting }) => sum + waiting.transactional + waiting.campaign, 0),
          oldest_waiting_s: ages.length === 0 ? null : Math.max(...ages),
          unconfirmed: found.reduce((sum, { live }) => sum + Math.max(0, live.inDoubt - live.sending), 0),
        },
        lanes: shown.slice(0, LANES_SHOWN),
        lanes_total: shown.length,
        campaigns: await campaigns.read(accounts, active, new Map(found.map(({ live }) => [live.lane, live])), scope),
        failures: known.failures,
        workers: workersAndRedis.workers,
        lost_workers: workersAndRedis.lost_workers,
        node_problems: workersAndRedis.node_problems,
        redis: workersAndRedis.redis,
      }
      lanes.purgeStale()
      scopes.purgeStale()
      return snapshot
    },
  }
}

/** The current state of the lane; undefined when its sender is gone. */
async function readLiveLane(redis: Redis, lane: number): Promise<LiveLane | undefined> {
  const [stats, sender] = await Promise.all([
    readLaneStats(redis, lane),
    redis.hmget(senderKey(lane), ...SENDER_FIELDS),
  ])
  const [account, name, number, rate, pausedFor, pausedBy, removedAt, portfolio, pausedAt] = senderReply.parse(sender)
  if (account === null || removedAt !== null) return undefined
  // Only campaigns rest.
  const runs = stats.campaigns.some(({ state }) => state === 'running')
  const owner = { lane, ...(portfolio && { portfolio: { id: Number(portfolio) } }) }
  return {
    ...stats,
    account: Number(account),
    name: name || (number ?? ''),
    rate: Number(rate ?? 0),
    pausedFor: pausedFor ?? '',
    pausedBy: pausedBy ?? '',
    pausedAt: Number(pausedAt ?? 0),
    resting: runs ? await whyCampaignsWait(redis, owner) : undefined,
    owner: runs ? owner : undefined,
  }
}

/** As a snapshot has it. */
const shownWaits = (waits: RuleWaits | undefined): SnapshotLane['campaigns_wait'] =>
  waits === undefined ? null : { ...waits, until: new Date(waits.until).toISOString() }

/** Slots reserved of those that there were in the time that the list of slots covers. */
function paceUsed({ slots, nowUs, rate }: LiveLane): number {
  if (slots.count === 0 || rate === 0) return 0
  // Slots are reserved a moment ahead, so all of a short list may lie in the future.
  return slots.count / (Math.max((nowUs - slots.firstUs) / 1_000_000, 1 / rate) * rate)
}

function sumOf(all: readonly Rates[]): Rates {
  const sum: Rates = { accepted: 0, sent: 0, delivered: 0, failed: 0 }
  for (const each of all) for (const name of Object.keys(sum) as (keyof Rates)[]) sum[name] += each[name]
  return sum
}
