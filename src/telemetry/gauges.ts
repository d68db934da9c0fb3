// How the whole installation stands, as Prometheus takes it. Every process that is asked tells the same, so that any one
// of them is enough: read from Redis at most every 5 s, however often and by how many it is asked.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Gauge, type Registry } from 'prom-client'
import type { Redis } from '../redis/connect.ts'
import { withTimeout } from '../redis/with-timeout.ts'
import type { LaneLabels } from './lane-labels.ts'
import { type Installation, readInstallation } from './store/installation.ts'
import type { LaneGauges } from './store/lane-gauges.ts'

/** What was read is told for so long. */
const FRESH_MS = 5_000
/** A Redis that has not answered by then is taken to be away; a scrape must end. */
const ANSWER_MS = 8_000

/** How lanes of one label are told together. */
type Together = 'sum' | 'max'

/** What is told of a lane. Without a class it has one series, otherwise one per class. */
const OF_LANES: readonly {
  name: string
  help: string
  together: Together
  value: (lane: LaneGauges, of: 'transactional' | 'campaign') => number
  byClass?: true
}[] = [
  {
    name: 'laneway_lane_waiting',
    help: 'Messages that wait for their turn.',
    together: 'sum',
    value: ({ waiting }, of) => waiting[of],
    byClass: true,
  },
  {
    name: 'laneway_lane_oldest_waiting_seconds',
    help: 'Age of the message that is next; of a campaign message, since its campaign was started. 0: none waits.',
    together: 'max',
    value: ({ oldestSeconds }, of) => oldestSeconds[of],
    byClass: true,
  },
  {
    name: 'laneway_lane_delayed',
    help: 'Messages that wait for a time: a retry, or the cooldown of their recipient.',
    together: 'sum',
    value: ({ delayed }) => delayed,
  },
  {
    name: 'laneway_lane_active',
    help: 'Messages that a worker has in flight.',
    together: 'sum',
    value: (l) => l.active,
  },
  {
    name: 'laneway_lane_seconds_to_drain',
    help: 'What waits, at the pace of the lane.',
    together: 'max',
    value: ({ waiting, rate }) => (rate === 0 ? 0 : (waiting.transactional + waiting.campaign) / rate),
  },
  {
    name: 'laneway_lane_pace_per_second',
    help: 'Messages per second that may leave.',
    together: 'sum',
    value: ({ rate }) => rate,
  },
  {
    name: 'laneway_lane_paused',
    help: '1 while it is paused.',
    together: 'max',
    value: ({ paused }) => Number(paused),
  },
  {
    name: 'laneway_lane_cooldown_seconds',
    help: 'Until its cooldown ends; 0 without one.',
    together: 'max',
    value: ({ cooldownSeconds }) => cooldownSeconds,
  },
  {
    name: 'laneway_lane_in_doubt',
    help: 'Messages that are being sent, or unconfirmed.',
    together: 'sum',
    value: ({ inDoubt }) => inDoubt,
  },
  {
    name: 'laneway_unconfirmed',
    help: 'Unconfirmed messages, at least: those in doubt that no worker has in flight.',
    together: 'sum',
    value: ({ inDoubt, active }) => Math.max(0, inDoubt - active),
  },
  {
    name: 'laneway_lane_requeueable',
    help: 'Messages that failed, expired, were cancelled or are unknown, and are still listed.',
    together: 'sum',
    value: ({ requeueable }) => requeueable,
  },
  {
    name: 'laneway_lane_dead_letters',
    help: 'Jobs that could not be processed.',
    together: 'sum',
    value: ({ deadLetters }) => deadLetters,
  },
  {
    name: 'laneway_lane_reopened',
    help: 'Times that a worker reopened it because nothing left it, lately.',
    together: 'sum',
    value: ({ reopened }) => reopened,
  },
  {
    name: 'laneway_lane_polls_waiting',
    help: 'Messages whose status is to be polled.',
    together: 'sum',
    value: ({ pollsWaiting }) => pollsWaiting,
  },
  {
    name: 'laneway_lane_polls_late_seconds',
    help: 'How late the next status poll is; its budget is used up, or its provider is slow.',
    together: 'max',
    value: ({ pollsLateSeconds }) => pollsLateSeconds,
  },
  {
    name: 'laneway_campaign_remaining',
    help: 'Recipients of its active campaigns that have no outcome yet.',
    together: 'sum',
    value: ({ campaignRemaining }) => campaignRemaining,
  },
  {
    name: 'laneway_campaign_seconds_to_finish',
    help: 'These recipients, at the pace of the lane.',
    together: 'max',
    value: ({ campaignRemaining, rate }) => (rate === 0 ? 0 : campaignRemaining / rate),
  },
]

/** What is told of the installation. */
const OF_ALL: readonly { name: string; help: string; value: (all: Installation) => number }[] = [
  { name: 'laneway_workers', help: 'Workers that are alive.', value: ({ workers }) => workers },
  { name: 'laneway_lanes', help: 'Lanes that there are.', value: ({ owners }) => owners.size },
  { name: 'laneway_lanes_with_work', help: 'Lanes with anything to do.', value: ({ lanes }) => lanes.length },
  { name: 'laneway_intake_waiting', help: 'Jobs of other services to take in.', value: ({ intake }) => intake.waiting },
  {
    name: 'laneway_intake_oldest_seconds',
    help: 'How long the next of them has waited; 0: none waits.',
    value: ({ intake }) => intake.oldestSeconds,
  },
  {
    name: 'laneway_events_endpoints',
    help: 'Endpoints that are told of events.',
    value: ({ events }) => events.enabled,
  },
  {
    name: 'laneway_events_endpoints_failing',
    help: 'Of these, those that took nothing at their last try.',
    value: ({ events }) => events.failing,
  },
  {
    name: 'laneway_events_endpoints_disabled',
    help: 'Endpoints that are told nothing.',
    value: ({ events }) => events.disabled,
  },
  {
    name: 'laneway_events_retrying',
    help: 'Deliveries that wait to be tried again.',
    value: ({ events }) => events.retrying,
  },
  {
    name: 'laneway_events_oldest_seconds',
    help: 'Age of the oldest event that an enabled endpoint was not told of at all; 0: none.',
    value: ({ events }) => events.oldestSeconds,
  },
  {
    name: 'laneway_redis_safe',
    help: '0 when a setting of Redis can lose messages.',
    value: ({ redis }) => Number(redis.problems === 0),
  },
  { name: 'laneway_redis_used_bytes', help: 'Memory that Redis uses.', value: ({ redis }) => redis.usedBytes },
  {
    name: 'laneway_redis_limit_bytes',
    help: 'Memory that Redis may use; 0: no limit.',
    value: ({ redis }) => redis.limitBytes,
  },
]

export type Gauges = ReturnType<typeof createGauges>

/** The gauges of a process, in its registry; `clock` in ms. `refresh` brings them up to date. */
export function createGauges(registry: Registry, labelOf: LaneLabels, clock: () => number) {
  const registers = [registry]
  const ofLanes = OF_LANES.map((each) => {
    const labelNames = each.byClass ? ['lane', 'class'] : ['lane']
    return { ...each, gauge: new Gauge({ name: each.name, help: each.help, labelNames, registers }) }
  })
  const ofAll = OF_ALL.map((each) => ({ ...each, gauge: new Gauge({ name: each.name, help: each.help, registers }) }))
  const campaigns = new Gauge({
    name: 'laneway_campaigns',
    help: 'Active campaigns by state.',
    labelNames: ['state'],
    registers,
  })
  const up = new Gauge({ name: 'laneway_redis_up', help: '0 when Redis does not answer.', registers })
  const took = new Gauge({
    name: 'laneway_gauges_read_seconds',
    help: 'How long it took to read these gauges from Redis.',
    registers,
  })

  const known = new Set<number>()
  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  let owners: ReadonlyMap<number, number> = new Map()

  function clear(): void {
    for (const { gauge } of ofLanes) gauge.reset()
    // Without labels, a reset would leave a 0.
    for (const { gauge } of ofAll) gauge.remove()
    campaigns.reset()
  }

  /** One metric a turn: a thousand lanes would hold up everything else for 20 ms. */
  async function tell(all: Installation): Promise<void> {
    clear()
    for (const { gauge, value } of ofAll) gauge.set(value(all))
    for (const { gauge, together, value, byClass } of ofLanes) {
      await nextTurn()
      for (const of of byClass ? (['transactional', 'campaign'] as const) : (['transactional'] as const)) {
        const byLabel = new Map<string, number>()
        for (const lane of all.lanes) {
          const label = labelOf(lane.lane)
          const before = byLabel.get(label)
          const now = value(lane, of)
          byLabel.set(label, before === undefined ? now : together === 'sum' ? before + now : Math.max(before, now))
        }
        for (const [lane, now] of byLabel) gauge.set(byClass ? { lane, class: of } : { lane }, now)
      }
    }
    for (const { campaigns: states } of all.lanes) for (const [state, count] of states) campaigns.inc({ state }, count)
  }

  async function read(redis: Redis): Promise<void> {
    const beganAt = clock()
    try {
      const all = await withTimeout(ANSWER_MS, readInstallation(redis, known))
      owners = all.owners
      await tell(all)
      up.set(1)
    } catch {
      // What was true a while ago is not told as if it still were.
      clear()
      up.set(0)
    }
    took.set((clock() - beganAt) / 1_000)
    readAt = clock()
  }

  return {
    /** Reads Redis, unless that was done within the last 5 s or is under way. Never rejects. */
    async refresh(redis: Redis): Promise<void> {
      if (clock() - readAt < FRESH_MS) return
      reading ??= read(redis).finally(() => {
        reading = undefined
      })
      await reading
    },

    /** The account of a lane, by its label; undefined for `other` and for a lane that is not known. */
    ownerOf: (label: string): number | undefined => owners.get(Number(label)),
  }
}
