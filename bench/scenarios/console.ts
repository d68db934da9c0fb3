// What it costs that people look: 200 lanes with a long backlog and a campaign that runs. How soon the overview can be
// used, how old its figures are, what a snapshot costs, and how much less is sent while five tabs are open.
import { setTimeout as sleep } from 'node:timers/promises'
import { setSenderRate } from '../../src/accounts/senders.ts'
import type { Bench } from '../bench.ts'
import { cancel, createCampaign, fillTag, show, start, takenOf } from '../campaign.ts'
import { hasBrowser, timesUntilUsable } from '../console-browser.ts'
import { send, sinkGets, sinkHas, watchSink } from '../contender.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { chromiumTabs, closeReaders, openReaders, readers, TABS } from '../onlookers.ts'
import { until } from '../part.ts'
import { cpuMs } from '../process-usage.ts'
import { type Figure, withGoal } from '../report.ts'
import { percentile, spreadOf } from '../statistics.ts'
import { whileLookedAt } from '../while-looked-at.ts'

const LANES = 200
const BATCH = 1_000
/** As many batches of a lane at a time. */
const CONNECTIONS = 4
/** A worker opens 200 lanes first: the stretches begin once so many more were sent. */
const RUNNING_AFTER = 2_000
/** The campaign runs all the time: longer than the rest takes. */
const PEOPLE = 100_000
const CAMPAIGN_RATE = 80
/** How often the page is opened. */
const OPENINGS = 10
/** How long snapshots are watched while nothing is sent but the campaign. */
const WATCH_MS = 20_000
/** Requests before the count: the first snapshot reads what the others have cached. */
const SETTLE_MS = 1_000

const figure = (what: string, value: number, unit: string): Figure => ({ scenario: 'console', what, value, unit })

export async function consoleScenario(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, progress } = bench
  const backlog = bench.people ?? (bench.full ? 1_000_000 : 300_000)
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { lanes: LANES + 1, profile: bench.profile })
  const campaignLane = laneway.laneIds[LANES] ?? 0
  const campaign = await readyCampaign(bench, laneway, campaignLane)
  await watchSink(rig)
  await laneway.hold()
  const filled = await fill(bench, laneway, backlog)
  await laneway.queues.resume(campaignLane)
  await start(laneway, campaign)
  await until('the campaign sends', 60_000, async () => takenOf(await show(laneway, campaign)) > CAMPAIGN_RATE)

  const figures = [figure('messages waiting on 200 lanes', filled, '')]
  figures.push(...(await page(bench, laneway)), ...(await snapshots(bench, laneway)))
  await laneway.release()
  progress('waiting until all lanes send')
  await sinkHas(rig, (await sinkHas(rig, 0)).count + RUNNING_AFTER)
  const kinds = [readers(laneway)]
  if (hasBrowser()) kinds.push(await chromiumTabs(laneway, closing.add))
  figures.push(...(await whileLookedAt(bench, laneway, kinds, filled)))
  await addUp(bench, laneway, campaign, filled)
  return figures
}

/** Lane by lane: a batch for all of them at once would be a write for each. Returns how many wait then. */
async function fill({ rig, progress }: Bench, { port, batch }: Laneway, backlog: number): Promise<number> {
  const each = Math.ceil(backlog / LANES)
  const requests = Math.ceil(each / BATCH)
  const traffic = batch(Math.ceil(each / requests), LANES)
  const senders = 'senders' in traffic ? traffic.senders : []
  let filled = 0
  for (const [at, sender] of senders.entries()) {
    if (at % (LANES / 10) === 0) progress(`filling up to ${backlog}, ${filled} so far`)
    const connections = Math.min(CONNECTIONS, requests)
    const load = { port, connections, traffic: { ...traffic, senders: [sender] }, requests }
    filled += (await send(rig, load)).messages
  }
  return filled
}

async function readyCampaign({ progress }: Bench, laneway: Laneway, lane: number): Promise<string> {
  progress(`a campaign for ${PEOPLE} contacts`)
  await setSenderRate(laneway.redis.client, lane, CAMPAIGN_RATE)
  const tag = await fillTag(laneway, PEOPLE, () => {})
  const senders = laneway.traffic.kind === 'message' ? laneway.traffic.senders : []
  return createCampaign(laneway, senders[LANES] ?? '', tag)
}

/** How soon the overview can be used. */
async function page({ say, progress, closing }: Bench, { port, key }: Laneway): Promise<Figure[]> {
  if (!hasBrowser()) {
    say('console: no Chromium here, so the page itself is not measured (apt-get install chromium).')
    return []
  }
  progress('opening the overview')
  const times = await timesUntilUsable(`http://127.0.0.1:${port}`, key, OPENINGS, closing)
  const spread = spreadOf(times)
  return [withGoal({ ...figure('overview usable', spread.median, 'ms'), spread }, '< 1000')]
}

/** How old what a tab shows is, and what taking it costs. */
async function snapshots({ progress }: Bench, laneway: Laneway): Promise<Figure[]> {
  progress('watching snapshots')
  const { producer, redis, port, key } = laneway
  const cpu = () => [cpuMs([producer.pid]), cpuMs([redis.pid])] as const
  const watched = async (): Promise<readonly [number, number]> => {
    const before = cpu()
    await sleep(WATCH_MS)
    const after = cpu()
    return [after[0] - before[0], after[1] - before[1]]
  }
  const quiet = await watched()
  const tabs = openReaders(port, key)
  await sleep(SETTLE_MS)
  for (const tab of tabs) tab.ages.length = tab.gaps.length = 0
  const looked = await watched()
  await closeReaders(tabs)
  const count = Math.max(1, tabs[0]?.ages.length ?? 0)
  const ages = tabs.flatMap(({ ages }) => ages)
  const gaps = tabs.flatMap(({ gaps }) => gaps)
  return [
    withGoal(figure('age of figures when they come, p99', percentile(ages, 0.99), 'ms'), '< 1000'),
    figure('time between figures, p99', percentile(gaps, 0.99), 'ms'),
    figure(`a snapshot for ${TABS} tabs, CPU of the producer`, (looked[0] - quiet[0]) / count, 'ms'),
    figure(`a snapshot for ${TABS} tabs, CPU of Redis`, (looked[1] - quiet[1]) / count, 'ms'),
  ]
}

/** Nothing is lost and nothing is doubled: what the sink has and what still waits are all that was accepted. */
async function addUp({ rig, progress }: Bench, laneway: Laneway, campaign: string, filled: number): Promise<void> {
  progress('ending')
  await cancel(laneway, campaign)
  await laneway.hold()
  await until('nothing is in flight', 120_000, async () => {
    const { progress: now } = await show(laneway, campaign)
    return (now.sending ?? 0) === 0 && (await inFlight(laneway)) === 0
  })
  const { progress: end } = await show(laneway, campaign)
  await sinkGets(rig, filled - (await waiting(laneway)) + (end.total ?? 0) - (end.cancelled ?? 0))
}

const waiting = (laneway: Laneway): Promise<number> => ofLanes(laneway, ['wait', 'prioritized', 'delayed'])
const inFlight = (laneway: Laneway): Promise<number> => ofLanes(laneway, ['active'])

async function ofLanes({ queues, laneIds }: Laneway, states: readonly string[]): Promise<number> {
  const counts = await Promise.all(laneIds.slice(0, LANES).map((lane) => queues.counts(lane)))
  return counts.flatMap((each) => states.map((state) => each[state] ?? 0)).reduce((sum, count) => sum + count, 0)
}
