// How the whole installation stands, as Prometheus takes it. Every process that is asked tells the same, so that any one
// of them is enough: read from Redis at most every 5 s, however often and by how many it is asked.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Gauge, type Registry } from 'prom-client'
import type { Redis } from '../redis/connect.ts'
import { withTimeout } from '../redis/with-timeout.ts'
import { LANE_SERIES, type LabelledLanes, textOfSeries } from './lane-series.ts'
import type { LaneLabels } from './metrics.ts'
import { type LabelledServed, labelled, SERVED_SERIES, textOfServed } from './served-series.ts'
import { type Installation, readInstallation } from './store/installation.ts'
import type { LaneGauges } from './store/lane-gauges.ts'

/** What was read is told for so long. */
const FRESH_MS = 5_000
/** A Redis that has not answered by then is taken to be away; a scrape must end. */
const ANSWER_MS = 8_000

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
    help: '0 when a setting of Redis can lose messages, or replicas are missing.',
    value: ({ redis }) => Number(redis.problems === 0),
  },
  { name: 'laneway_redis_used_bytes', help: 'Memory that Redis uses.', value: ({ redis }) => redis.usedBytes },
  {
    name: 'laneway_redis_limit_bytes',
    help: 'Memory that Redis may use; 0: no limit.',
    value: ({ redis }) => redis.limitBytes,
  },
]

/** The gauges of a process, in its registry; `clock` in ms. `refresh` brings them up to date. */
export function createGauges(registry: Registry, labelOf: LaneLabels, clock: () => number) {
  const registers = [registry]
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
  let lanes: LabelledLanes = new Map()
  let served: LabelledServed = new Map()
  let lanesText: string | undefined

  function clear(): void {
    lanes = new Map()
    served = new Map()
    lanesText = undefined
    // Without labels, a reset would leave a 0.
    for (const { gauge } of ofAll) gauge.remove()
    campaigns.reset()
  }

  function tell(all: Installation): void {
    clear()
    for (const { gauge, value } of ofAll) gauge.set(value(all))
    const byLabel = new Map<string, [LaneGauges, ...LaneGauges[]]>()
    for (const lane of all.lanes) {
      const label = labelOf(lane.lane)
      const known = byLabel.get(label)
      if (known) known.push(lane)
      else byLabel.set(label, [lane])
    }
    lanes = byLabel
    served = labelled(all.lanes, all.served, labelOf)
    for (const { campaigns: states } of all.lanes) for (const [state, count] of states) campaigns.inc({ state }, count)
  }

  async function read(redis: Redis): Promise<void> {
    const beganAt = clock()
    try {
      const all = await withTimeout(ANSWER_MS, readInstallation(redis, known))
      owners = all.owners
      tell(all)
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

    /** How the lanes stand, as text; written once for what was read once. */
    async textOfLanes(): Promise<string> {
      if (lanesText !== undefined) return lanesText
      const before = lanes
      const text = await written(before, served)
      if (before === lanes) lanesText = text
      return text
    },

    /** The same of the lanes of one account. */
    textOfOwn(account: number): Promise<string> {
      const own = <T>(all: ReadonlyMap<string, T>) => new Map([...all].filter(([label]) => ownerOf(label) === account))
      return written(own(lanes), own(served))
    },

    ownerOf,
  }

  /** The account of a lane, by its label; undefined for `other` and for a lane that is not known. */
  function ownerOf(label: string): number | undefined {
    return owners.get(Number(label))
  }
}

/** One metric a turn: the text of a thousand lanes would hold up everything else. */
async function written(lanes: LabelledLanes, served: LabelledServed): Promise<string> {
  const blocks: string[] = []
  for (const series of LANE_SERIES) {
    blocks.push(textOfSeries(series, lanes))
    await nextTurn()
  }
  for (const series of SERVED_SERIES) {
    blocks.push(textOfServed(series, served))
    await nextTurn()
  }
  return blocks.join('\n')
}
