// Gauges of the whole installation for Prometheus. Every process exports the same, so that scraping any one of them is
// enough: read from Redis at most every 5 s, however often it is scraped.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Gauge, type Registry } from 'prom-client'
import type { Redis } from '../redis/connect.ts'
import { withTimeout } from '../redis/errors.ts'
import { LANE_MEASURES, type LabelledLanes, labelled, textOfMeasure } from './lane-measures.ts'
import type { LaneLabels } from './metrics.ts'
import { type Installation, readInstallation } from './store/installation.ts'
import type { PortfolioGauges, RuleGauges } from './store/provider-rules.ts'

/** How long a reading is exported. */
const FRESH_MS = 5_000
/** A Redis that has not answered by then is taken to be away; a scrape must end. */
const ANSWER_MS = 8_000

const ofEvents =
  (figure: string) =>
  ({ events }: Installation): number =>
    Number(events[figure] ?? 0)

/** Gauges of the installation: name, help, value. */
const INSTALLATION_GAUGES: readonly (readonly [name: string, help: string, value: (all: Installation) => number])[] = [
  ['laneway_workers', 'Workers that are alive.', ({ workers }) => workers],
  ['laneway_lanes', 'All lanes.', ({ owners }) => owners.size],
  ['laneway_lanes_with_work', 'Lanes with anything to do.', ({ lanes }) => lanes.length],
  ['laneway_intake_waiting', 'Jobs of other services to take in.', ({ intake }) => intake.waiting],
  [
    'laneway_intake_oldest_seconds',
    'How long the next of them has waited; 0: none waits.',
    ({ intake }) => intake.oldestSeconds,
  ],
  ['laneway_events_endpoints', 'Endpoints that get events.', ofEvents('enabled')],
  ['laneway_events_endpoints_failing', 'Of these, those that took nothing at their last try.', ofEvents('failing')],
  ['laneway_events_endpoints_disabled', 'Endpoints that are disabled and get no events.', ofEvents('disabled')],
  ['laneway_events_retrying', 'Deliveries that wait to be tried again.', ofEvents('retrying')],
  [
    'laneway_events_oldest_seconds',
    'Age of the oldest event that was not delivered to an enabled endpoint at all; 0: none.',
    ofEvents('oldest_seconds'),
  ],
  [
    'laneway_received_media_waiting',
    'Files of received messages that are to be fetched into galleries.',
    ({ receivedMedia }) => receivedMedia,
  ],
  [
    'laneway_redis_safe',
    '0 when a setting of Redis can lose messages, it evicted keys, its clock leapt, or replicas are missing.',
    ({ redis }) => Number(redis.problems === 0),
  ],
  ['laneway_redis_used_bytes', 'Memory that Redis uses.', ({ redis }) => redis.usedBytes],
  ['laneway_redis_limit_bytes', 'Memory that Redis may use; 0: no limit.', ({ redis }) => redis.limitBytes],
]

/** Gauges of each portfolio: name, help, value; null is not exported. */
const OF_PORTFOLIOS: readonly (readonly [name: string, help: string, value: (of: PortfolioGauges) => number | null])[] =
  [
    [
      'laneway_portfolio_people',
      'People who count against the daily limit of a portfolio now.',
      ({ people, dailyLimit }) => (dailyLimit === null ? null : people),
    ],
    [
      'laneway_portfolio_daily_limit',
      'People in a moving 24 hours to whom its numbers may write first; missing without a limit.',
      ({ dailyLimit }) => dailyLimit,
    ],
  ]

/** The gauges of a process, in its registry; `clock` in ms. `refresh` brings them up to date. */
export function createGauges(registry: Registry, labelOf: LaneLabels, clock: () => number) {
  const registers = [registry]
  const ofAll = INSTALLATION_GAUGES.map(([name, help, value]) => ({
    value,
    gauge: new Gauge({ name, help, registers }),
  }))
  const campaigns = new Gauge({
    name: 'laneway_campaigns',
    help: 'Active campaigns by state.',
    labelNames: ['state'],
    registers,
  })
  const ofPortfolios = OF_PORTFOLIOS.map(([name, help, value]) => ({
    value,
    gauge: new Gauge({ name, help, labelNames: ['portfolio'], registers }),
  }))
  const held = new Gauge({
    name: 'laneway_held',
    help: 'Messages that WhatsApp holds, of a portfolio or of a lane whose sender belongs to none.',
    labelNames: ['portfolio', 'lane'],
    registers,
  })
  const heldFor = new Gauge({
    name: 'laneway_held_oldest_seconds',
    help: 'How long it has held the first of them.',
    labelNames: ['portfolio', 'lane'],
    registers,
  })
  const up = new Gauge({ name: 'laneway_redis_up', help: '0 when Redis does not answer.', registers })
  const took = new Gauge({
    name: 'laneway_gauges_read_seconds',
    help: 'How long it took to read these gauges from Redis.',
    registers,
  })

  let readAt = Number.NEGATIVE_INFINITY
  let reading: Promise<void> | undefined
  let owners: ReadonlyMap<number, number> = new Map()
  let portfolioOwners: ReadonlyMap<number, number> = new Map()
  let lanes: LabelledLanes = new Map()
  let lanesText: string | undefined

  function clear(): void {
    lanes = new Map()
    lanesText = undefined
    // Without labels, a reset would leave a 0.
    for (const { gauge } of ofAll) gauge.remove()
    campaigns.reset()
    for (const { gauge } of ofPortfolios) gauge.reset()
    held.reset()
    heldFor.reset()
  }

  function publish(all: Installation): void {
    clear()
    for (const { gauge, value } of ofAll) gauge.set(value(all))
    lanes = labelled(all.lanes, all.served, labelOf)
    for (const { campaigns: active } of all.lanes) for (const { state } of active) campaigns.inc({ state })
    publishRules(all.rules)
  }

  function publishRules({ portfolios, holdingLanes }: RuleGauges): void {
    for (const portfolio of portfolios) {
      const labels = { portfolio: String(portfolio.id) }
      for (const { gauge, value } of ofPortfolios) {
        const current = value(portfolio)
        if (current !== null) gauge.set(labels, current)
      }
      held.set(labels, portfolio.held.count)
      heldFor.set(labels, portfolio.held.seconds)
    }
    for (const { lane, held: here } of holdingLanes) {
      const labels = { lane: labelOf(lane) }
      held.inc(labels, here.count)
      heldFor.set(labels, Math.max(here.seconds, 0))
    }
  }

  async function read(redis: Redis): Promise<void> {
    const beganAt = clock()
    try {
      const all = await withTimeout(ANSWER_MS, readInstallation(redis))
      owners = all.owners
      portfolioOwners = new Map(all.rules.portfolios.map(({ id, account }) => [id, account]))
      publish(all)
      up.set(1)
    } catch {
      // Old values are not exported as if they were current.
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

    /** The lanes' figures as text; written once per reading. */
    async textOfLanes(): Promise<string> {
      if (lanesText !== undefined) return lanesText
      const before = lanes
      const text = await written(before)
      if (before === lanes) lanesText = text
      return text
    },

    /** The same of the lanes of one account. */
    textOfOwn(account: number): Promise<string> {
      return written(new Map([...lanes].filter(([label]) => ownerOf(label) === account)))
    },

    /** The account of a series with a label `lane` or `portfolio`; undefined of any other. */
    accountOf({ lane, portfolio }: Partial<Record<string, string | number>>): number | undefined {
      if (lane !== undefined) return ownerOf(String(lane))
      return portfolio === undefined ? undefined : portfolioOwners.get(Number(portfolio))
    },
  }

  /** The account of a lane, by its label; undefined for `other` and for a lane that is not known. */
  function ownerOf(label: string): number | undefined {
    return owners.get(Number(label))
  }
}

/** One metric a turn: the text of a thousand lanes would hold up everything else. */
async function written(lanes: LabelledLanes): Promise<string> {
  const blocks: string[] = []
  for (const measure of LANE_MEASURES) {
    blocks.push(textOfMeasure(measure, lanes))
    await nextTurn()
  }
  return blocks.join('\n')
}
