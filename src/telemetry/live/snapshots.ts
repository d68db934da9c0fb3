// Takes snapshots of how everything stands, of one account or of the whole installation. What it has seen before it keeps,
// so that a look each second reads only what may have changed; whoever looks once pays for one look.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { campaignId } from '../../campaigns/campaign.ts'
import type { Redis } from '../../redis/connect.ts'
import { historyKey, rootKeys } from '../../redis/keys.ts'
import { FINE } from '../history-fields.ts'
import { boundOf } from '../lane-bound.ts'
import { byTrouble, drainSeconds, laneState } from '../lane-state.ts'
import { LANES_SHOWN, type Snapshot, type SnapshotLane, SPARK_POINTS } from '../snapshot.ts'
import { createCampaignReader } from './campaigns.ts'
import { readFailures } from './failures.ts'
import { type LaneKeys, type LiveLane, laneKeysOf, placesUntil, readLiveLane } from './lane-facts.ts'
import { createMachineryReader, type Machinery } from './machinery.ts'
import { createRateMeter, type RateMeter, type Rates } from './rates.ts'
import { isShown, keyOf, OF_ALL, type Whose } from './whose.ts'

/** Lanes without work that are looked at each time: they can be paused, and have dead letters. */
const IDLE_AT_ONCE = 200
/** Lanes that are asked about in one event-loop tick. */
const LANES_A_TURN = 25
/** Failures by code are read when a look finds new ones, and so often all the same: not every lane is looked at each time. */
const FAILURES_EVERY_MS = 10_000
/** What nobody has looked at for so long is forgotten. */
const KEPT_MS = 60_000

/** What is remembered of a lane from look to look. */
interface Known {
  meter: RateMeter
  head: string
  headSinceMs: number
  live: LiveLane | undefined
  lookedAtMs: number
  keys: LaneKeys
  /** Of `points`, as it is shown. */
  spark: { points: readonly number[]; shown: number[] }
}

/** What is remembered of an account, or of all. */
interface Scope {
  failures: Snapshot['failures']
  failuresAtMs: number
  /** Where the next look at lanes without work begins. */
  idleFrom: number
  lookedAtMs: number
}

/** Nothing seen yet. */
export function createSnapshots(redis: Redis) {
  const lanes = new Map<number, Known>()
  const scopes = new Map<string, Scope>()
  const whole = createRateMeter(SPARK_POINTS)
  const readMachinery = createMachineryReader(redis)
  const campaigns = createCampaignReader(redis)

  /** The same for most lanes of a look. */
  let placesOf: { nowMs: number; byBack: Map<number, ReturnType<typeof placesUntil>> } = { nowMs: 0, byBack: new Map() }
  function placesFor(nowMs: number, back: number): ReturnType<typeof placesUntil> {
    if (placesOf.nowMs !== nowMs) placesOf = { nowMs, byBack: new Map() }
    const known = placesOf.byBack.get(back)
    if (known) return known
    const places = placesUntil(nowMs, back)
    placesOf.byBack.set(back, places)
    return places
  }

  async function look(lane: number, nowMs: number): Promise<void> {
    const known = lanes.get(lane) ?? newlyKnown(lane, nowMs)
    lanes.set(lane, known)
    known.lookedAtMs = nowMs
    const places = placesFor(nowMs, known.meter.placesBack(nowMs))
    const live = await readLiveLane(redis, lane, known.keys, places)
    known.live = live
    if (live === undefined) return
    known.meter.look(
      nowMs,
      places.map(({ atMs }, i) => ({ atMs, counts: live.counts[i] ?? '' })),
    )
    const isHeld = live.isPaused || live.cooldown !== undefined || live.isLimited || live.inFlight > 0
    if (live.head === '' || isHeld || live.head !== known.head) {
      known.head = live.head
      known.headSinceMs = nowMs
    }
  }

  /** In a few turns: asking about all at once would hold up everything else that the process does. */
  async function lookAtAll(some: readonly number[], nowMs: number): Promise<void> {
    const looks: Promise<void>[] = []
    for (const [i, lane] of some.entries()) {
      if (i > 0 && i % LANES_A_TURN === 0) await nextTurn()
      const looking = look(lane, nowMs)
      // It may fail while others are still being asked for; whoever called hears of it below.
      looking.catch(() => undefined)
      looks.push(looking)
    }
    await Promise.all(looks)
  }

  async function lookAtWhole(nowMs: number): Promise<Rates> {
    const places = placesUntil(nowMs, whole.placesBack(nowMs))
    const counts = await Promise.all(
      [...new Set(places.map(({ chunk }) => chunk))].map(async (chunk) => {
        const own = places.filter((each) => each.chunk === chunk)
        const values = await redis.hmget(historyKey(undefined, FINE.name, chunk), ...own.map(({ place }) => place))
        return own.map(({ atMs }, i) => ({ atMs, counts: values[i] ?? '' }))
      }),
    )
    whole.look(nowMs, counts.flat())
    return whole.rates(nowMs)
  }

  /** The lanes to look at: those with work, and some of the others in turn. */
  async function toLookAt(own: ReadonlySet<number>, scope: Scope): Promise<number[]> {
    if (own.size <= IDLE_AT_ONCE) return [...own]
    const [due, withCampaigns] = await Promise.all([
      redis.zrange(rootKeys.dueLanes, '0', '-1'),
      redis.smembers(rootKeys.campaignLanes),
    ])
    const busy = new Set([...due, ...withCampaigns].map(Number).filter((lane) => own.has(lane)))
    const idle = [...own].filter((lane) => !busy.has(lane))
    const turn = Array.from(
      { length: Math.min(IDLE_AT_ONCE, idle.length) },
      (_, i) => (scope.idleFrom + i) % idle.length,
    )
    scope.idleFrom = idle.length === 0 ? 0 : (scope.idleFrom + IDLE_AT_ONCE) % idle.length
    return [...busy, ...turn.flatMap((i) => idle[i] ?? [])]
  }

  function shownOf(known: Known, live: LiveLane, machinery: Machinery, nowMs: number): SnapshotLane {
    const { workers, isRedisFull } = machinery
    const served = machinery.served.get(live.lane)
    const { waiting, rate } = live
    const all = waiting.transactional + waiting.campaign
    const said = laneState({
      ...live,
      waiting: all,
      workers: workers.length,
      isRedisFull,
      sameHeadMs: nowMs - known.headSinceMs,
    })
    return {
      sender: live.lane,
      name: live.name,
      account: live.account,
      state: said.state,
      reason: said.reason,
      by: said.by,
      until: said.untilMs === null ? null : new Date(said.untilMs).toISOString(),
      drain_s: drainSeconds({ waiting: all, rate }),
      waiting,
      oldest_s: oldestSeconds(live),
      rate_per_s: rate,
      sent_per_s: rounded(known.meter.rates(nowMs).sent),
      spark: sparkOf(known, nowMs),
      dead_letters: live.deadLetters,
      in_flight: served?.inFlight ?? live.inFlight,
      answer_p50_s: served?.answerSeconds?.p50 ?? null,
      answer_p99_s: served?.answerSeconds?.p99 ?? null,
      bound: boundOf({
        isPaused: live.isPaused,
        isCoolingDown: live.cooldown !== undefined,
        waiting: all,
        isAtPace: said.state === 'waiting_for_pace',
        byWorkers: served?.bound,
      }),
    }
  }

  function forget(nowMs: number): void {
    for (const [lane, { lookedAtMs }] of lanes) if (nowMs - lookedAtMs > KEPT_MS) lanes.delete(lane)
    for (const [of, { lookedAtMs }] of scopes) if (nowMs - lookedAtMs > KEPT_MS) scopes.delete(of)
  }

  return {
    /** One of what they look at. Rejects when Redis is away. */
    async take(whose: Whose = OF_ALL): Promise<Snapshot> {
      const nowMs = Date.now()
      const { account } = whose
      const scope = scopes.get(keyOf(whose)) ?? newScope(nowMs)
      scopes.set(keyOf(whose), scope)
      scope.lookedAtMs = nowMs
      const owners = Object.entries(await redis.hgetall(rootKeys.lanes))
      const own = new Set(
        owners.flatMap(([lane, owner]) =>
          (account === undefined || Number(owner) === account) && isShown(whose, Number(lane)) ? Number(lane) : [],
        ),
      )
      const [machinery, ofAll] = await Promise.all([
        readMachinery(),
        account === undefined ? lookAtWhole(nowMs) : undefined,
        toLookAt(own, scope).then((some) => lookAtAll(some, nowMs)),
      ])
      const meters = account === undefined ? [whole] : [...own].flatMap((lane) => lanes.get(lane)?.meter ?? [])
      const hasNew = meters.some((meter) => meter.failedRoseAtMs() > scope.failuresAtMs)
      if (hasNew || nowMs - scope.failuresAtMs > FAILURES_EVERY_MS) {
        scope.failures = await readFailures(redis, account === undefined ? 'all' : [...own], nowMs)
        scope.failuresAtMs = nowMs
      }
      const found = [...own].flatMap((lane) => {
        const known = lanes.get(lane)
        return known?.live === undefined ? [] : { known, live: known.live }
      })
      // Looked at or not, it belongs to somebody who looks.
      for (const { known } of found) known.lookedAtMs = nowMs
      const active = found.flatMap(({ live }) =>
        live.campaigns.map((number) => campaignId({ lane: live.lane, number })),
      )
      const accounts = account === undefined ? [...new Set(owners.map(([, owner]) => Number(owner)))] : [account]
      const shown = found.map(({ known, live }) => shownOf(known, live, machinery, nowMs)).sort(byTrouble)
      const snapshot: Snapshot = {
        at: new Date(nowMs).toISOString(),
        totals: {
          ...ratesOf(ofAll ?? sumOf(found.map(({ known }) => known.meter.rates(nowMs)))),
          waiting: shown.reduce((sum, { waiting }) => sum + waiting.transactional + waiting.campaign, 0),
          oldest_waiting_s: shown.reduce<number | null>((most, { oldest_s: age }) => highest(most, age), null),
          unconfirmed: found.reduce((sum, { live }) => sum + live.unconfirmed, 0),
        },
        lanes: shown.slice(0, LANES_SHOWN),
        lanes_total: shown.length,
        campaigns: await campaigns.read(accounts, active, new Map(found.map(({ live }) => [live.lane, live])), whose),
        failures: scope.failures,
        workers: machinery.workers,
        lost_workers: machinery.lost_workers,
        redis: machinery.redis,
      }
      forget(nowMs)
      return snapshot
    },
  }
}

const newlyKnown = (lane: number, nowMs: number): Known => ({
  ...{ meter: createRateMeter(SPARK_POINTS), head: '', headSinceMs: nowMs, live: undefined, lookedAtMs: nowMs },
  ...{ keys: laneKeysOf(lane), spark: { points: [], shown: [] } },
})

function sparkOf(known: Known, nowMs: number): number[] {
  const points = known.meter.spark(nowMs)
  if (known.spark.points !== points) known.spark = { points, shown: points.map(rounded) }
  return known.spark.shown
}
const newScope = (nowMs: number): Scope => ({
  ...{ failures: [], failuresAtMs: Number.NEGATIVE_INFINITY, idleFrom: 0, lookedAtMs: nowMs },
})

const rounded = (perSecond: number): number => Math.round(perSecond * 100) / 100
const highest = (one: number | null, other: number | null): number | null =>
  one === null ? other : other === null ? one : Math.max(one, other)
const oldestSeconds = ({ oldestSinceMs, nowMs }: LiveLane): number | null =>
  oldestSinceMs === undefined ? null : Math.max(0, Math.round((nowMs - oldestSinceMs) / 100) / 10)

function sumOf(all: readonly Rates[]): Rates {
  const sum: Rates = { accepted: 0, sent: 0, delivered: 0, failed: 0 }
  for (const each of all) for (const name of Object.keys(sum) as (keyof Rates)[]) sum[name] += each[name]
  return sum
}

const ratesOf = ({ accepted, sent, delivered, failed }: Rates) => ({
  accepted_per_s: rounded(accepted),
  sent_per_s: rounded(sent),
  delivered_per_s: rounded(delivered),
  failed_per_s: rounded(failed),
})
