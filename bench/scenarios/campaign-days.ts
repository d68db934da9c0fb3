// One campaign to 1,000,000 people (100,000 without --full, or as many as --people says) whose portfolio may write to a tenth of
// them in a moving 24 hours. The clock jumps ahead whenever all that may leave has left: how many days it takes, whether
// any 24 hours hold more than the limit, whether all figures add up at each reading, and what the worker needs of memory.
import { mkdirSync } from 'node:fs'
import { findSender } from '../../src/accounts/senders.ts'
import { createPortfolio, findPortfolio, joinPortfolio, newPortfolioId } from '../../src/portfolios/portfolios.ts'
import { showPortfolio } from '../../src/portfolios/usage.ts'
import type { Bench } from '../bench.ts'
import { createCampaign, fillTag, type Progress, show, start, sumOf } from '../campaign.ts'
import { sinkGets, watchSink } from '../contender.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { rssMb } from '../process-usage.ts'
import { type Figure, withGoal } from '../report.ts'
import { canShiftClocks, createShiftedClock, type ShiftedClock } from '../shifted-clock.ts'

const FULL = 1_000_000
const SMALL = 100_000
const DAYS = 10
const DAY_MS = 86_400_000
const READ_EVERY_MS = 200
/** The clock stops so long before the first place is free: the rest of the wait passes as it does. */
const STOPS_BEFORE_MS = 5_000
/** A campaign without a word for so long is stuck. */
const STUCK_MS = 60_000

export async function campaignDays(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, progress } = bench
  if (!canShiftClocks()) {
    bench.say('campaign-days is passed over: there is no libfaketime here (Debian: apt-get install libfaketime).')
    return []
  }
  const people = bench.people ?? (bench.full ? FULL : SMALL)
  const limit = Math.ceil(people / DAYS)
  mkdirSync(dir, { recursive: true })
  const clock = createShiftedClock(`${dir}/offset`)
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, clock)
  const portfolio = await limitTo(laneway, limit)
  const tag = await fillTag(laneway, people, (done) => progress(`${done} contacts`))
  const sender = laneway.traffic.kind === 'message' ? (laneway.traffic.senders[0] ?? '') : ''
  // Without it the validity of campaign messages would end it before.
  const valid_until = new Date(Date.now() + 2 * DAYS * DAY_MS).toISOString()
  const id = await createCampaign(laneway, sender, tag, { valid_until })
  const { preflight } = await show(laneway, id)

  await watchSink(rig, { arrivals: true })
  const startedAt = performance.now()
  await start(laneway, id)
  const watched = await follow(bench, laneway, { id, people, limit, portfolio }, clock)
  const seconds = (performance.now() - startedAt) / 1_000
  const { arrivals } = await sinkGets(rig, people)
  const times = arrivals.map((atMs) => atMs + (clock.offsetAt(atMs) ?? Number.NaN)).sort((a, b) => a - b)
  if (times.some(Number.isNaN)) throw new Error('a message left while the clock was set')
  const days = Math.ceil(((times.at(-1) ?? 0) - (times[0] ?? 0)) / DAY_MS)
  const most = mostWithin(times, DAY_MS)

  const figure = (what: string, value: number, unit: string): Figure => ({
    scenario: 'campaign-days',
    what,
    value,
    unit,
  })
  return [
    figure('recipients', people, ''),
    figure('people whom the portfolio may write to in 24 hours', limit, ''),
    withGoal(figure('days by the preflight', preflight?.days ?? 0, ''), '< 11'),
    withGoal(figure('days that it took', days, ''), '< 11'),
    withGoal(figure('most people in any 24 hours, over the limit', Math.max(0, most - limit), ''), '< 1'),
    figure('readings that added up', watched.readings, ''),
    withGoal(figure('worker memory, most', watched.workerMb, 'MB'), '< 250'),
    figure('real time', seconds, 's'),
  ]
}

/** Puts the sender into a portfolio with this limit and no reserve. */
async function limitTo({ redis: { client }, laneIds }: Laneway, limit: number): Promise<number> {
  const sender = await findSender(client, laneIds[0] ?? 0)
  if (sender === undefined) throw new Error('no sender')
  const id = await newPortfolioId(client)
  const { account } = sender
  await createPortfolio(client, { id, account, name: 'bench', daily_limit: limit, reserve_percent: 0 })
  await joinPortfolio(client, sender, id)
  // Parts know senders and portfolios for a second each.
  await new Promise((resolve) => setTimeout(resolve, 2_500))
  return id
}

/** Reads the campaign until it is done, sets the clock ahead when it waits for the limit, and throws when a figure is wrong. */
async function follow(
  { progress }: Bench,
  laneway: Laneway,
  { id, people, limit, portfolio }: { id: string; people: number; limit: number; portfolio: number },
  clock: ShiftedClock,
): Promise<{ readings: number; workerMb: number }> {
  const { client } = laneway.redis
  let readings = 0
  let workerMb = 0
  let movedAt = performance.now()
  let last = -1
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, READ_EVERY_MS))
    const now = await show(laneway, id)
    if (sumOf(now) !== people) throw new Error(`the figures add up to ${sumOf(now)}: ${JSON.stringify(now.progress)}`)
    const found = await findPortfolio(client, portfolio)
    const { used } = found === undefined ? { used: -1 } : await showPortfolio(client, found)
    if (used < 0 || used > limit) throw new Error(`${used} people are counted, and ${limit} may be`)
    readings += 1
    workerMb = Math.max(workerMb, rssMb(laneway.worker.pid))
    const sent = now.progress.sent ?? 0
    progress(`${sent} of ${people}, ${used} counted`)
    if (now.state === 'done') return { readings, workerMb }
    if (now.state !== 'running') throw new Error(`the campaign is ${now.state}`)
    if (sent !== last) [last, movedAt] = [sent, performance.now()]
    if (performance.now() - movedAt > STUCK_MS) throw new Error(`nothing moves: ${JSON.stringify(now)}`)
    const waitMs = waitOf(now, clock)
    if (waitMs < 2 * STOPS_BEFORE_MS || performance.now() - movedAt < 1_000) continue
    if (used !== limit) throw new Error(`it waits, and only ${used} of ${limit} people are counted`)
    await clock.advance(client, waitMs - STOPS_BEFORE_MS)
    movedAt = performance.now()
  }
}

/** How long it waits for the limit. */
function waitOf({ waits }: Progress, clock: ShiftedClock): number {
  if (waits?.why !== 'portfolio_limit' || waits.until === null) return 0
  const realMs = Date.now()
  return Date.parse(waits.until) - realMs - (clock.offsetAt(realMs) ?? 0)
}

/** The most of these times (ascending) that lie within any span of so many ms. */
export function mostWithin(times: readonly number[], spanMs: number): number {
  let most = 0
  let from = 0
  for (const [to, time] of times.entries()) {
    while (time - (times[from] ?? time) >= spanMs) from += 1
    most = Math.max(most, to - from + 1)
  }
  return most
}
