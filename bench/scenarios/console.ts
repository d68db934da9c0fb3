// What it costs that people look: 200 lanes with a long backlog and a campaign that runs. How soon the overview can be
// used, how old its figures are, what a snapshot costs, and how much less is sent while five tabs are open.
import { setTimeout as sleep } from 'node:timers/promises'
import { setLaneRate } from '../../src/lanes/control.ts'
import type { Bench } from '../bench.ts'
import { cancel, createCampaign, fillTag, show, start, takenOf } from '../campaign.ts'
import { hasBrowser, timesUntilUsable } from '../console-browser.ts'
import { type ConsoleReader, openConsole } from '../console-reader.ts'
import { send, sinkGets, sinkHas, watchSink } from '../contender.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { until } from '../part.ts'
import { cpuMs } from '../process-usage.ts'
import { type Figure, withGoal } from '../report.ts'
import { percentile, ratioOf, spreadOf } from '../statistics.ts'

const LANES = 200
const TABS = 5
const BATCH = 1_000
const PEOPLE = 20_000
const CAMPAIGN_RATE = 80
/** How often the page is opened. */
const OPENINGS = 10
/** How long snapshots are watched while nothing is sent but the campaign. */
const WATCH_MS = 20_000
/** A stretch is counted from here on: what a tab costs when it is opened is no matter of dispatch. */
const SETTLE_MS = 1_000
/** Pairs of stretches with --full; a difference of 2 % is less than one pair varies by. */
const PAIRS_FULL = 12

const figure = (what: string, value: number, unit: string): Figure => ({ scenario: 'console', what, value, unit })

export async function consoleScenario(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, progress } = bench
  const backlog = bench.full ? 1_000_000 : 300_000
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { lanes: LANES + 1, profile: bench.profile })
  const campaignLane = laneway.laneIds[LANES] ?? 0
  const campaign = await readyCampaign(bench, laneway, campaignLane)
  await watchSink(rig)
  await laneway.hold()
  progress(`filling up to ${backlog}`)
  const traffic = laneway.batch(BATCH, LANES)
  await send(rig, { port: laneway.port, connections: 4, traffic, requests: backlog / BATCH })
  await laneway.queues.resume(campaignLane)
  await start(laneway, campaign)
  await until('the campaign sends', 60_000, async () => takenOf(await show(laneway, campaign)) > CAMPAIGN_RATE)

  const figures = [...(await page(bench, laneway)), ...(await snapshots(bench, laneway))]
  await laneway.release()
  figures.push(...(await dispatch(bench, laneway, backlog)))

  progress('sending what is left')
  await cancel(laneway, campaign)
  await until('the campaign is over', 60_000, async () => (await show(laneway, campaign)).progress.sending === 0)
  const { progress: end } = await show(laneway, campaign)
  await sinkGets(rig, backlog + (end.total ?? 0) - (end.cancelled ?? 0))
  return figures
}

async function readyCampaign({ progress }: Bench, laneway: Laneway, lane: number): Promise<string> {
  await setLaneRate(laneway.redis.client, laneway.queues, lane, CAMPAIGN_RATE)
  const tag = await fillTag(laneway, PEOPLE, (done) => progress(`${done} contacts`))
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
  const tabs = openTabs(port, key)
  await sleep(SETTLE_MS)
  for (const tab of tabs) tab.ages.length = tab.gaps.length = 0
  const looked = await watched()
  await closeTabs(tabs)
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

/** Stretches in turn without and with tabs, while all lanes send as fast as they can. */
async function dispatch(bench: Bench, { port, key, sendPids }: Laneway, backlog: number): Promise<Figure[]> {
  const pairs = bench.full ? PAIRS_FULL : bench.rounds
  const rates: { with: number[]; without: number[] } = { with: [], without: [] }
  const cpus: typeof rates = { with: [], without: [] }
  let [sentInAll, mostInPair] = [0, 0]
  for (let pair = 0; pair <= pairs; pair += 1) {
    if (backlog - sentInAll < 1.5 * mostInPair) {
      bench.say(`console: ${pair - 1} pairs instead of ${pairs}, since the backlog ends.`)
      break
    }
    const before = sentInAll
    // The first tab pays for whatever is new; who goes first changes, since a backlog that shrinks is faster.
    for (const how of pair % 2 === 0 ? (['without', 'with'] as const) : (['with', 'without'] as const)) {
      bench.progress(`${how} tabs, ${pair === 0 ? 'warm-up' : `pair ${pair} of ${pairs}`}`)
      const tabs = how === 'with' ? openTabs(port, key) : []
      await sleep(SETTLE_MS)
      const [count, cpu, at] = [(await sinkHas(bench.rig, 0)).count, cpuMs(sendPids), performance.now()]
      await sleep(bench.seconds * 1_000)
      const sent = (await sinkHas(bench.rig, 0)).count - count
      const seconds = (performance.now() - at) / 1_000
      const used = cpuMs(sendPids) - cpu
      await closeTabs(tabs)
      sentInAll = count + sent
      if (pair === 0) continue
      rates[how].push(sent / seconds)
      cpus[how].push((used * 1_000) / sent)
    }
    mostInPair = Math.max(mostInPair, sentInAll - before)
  }
  const ratio = ratioOf(rates.with, rates.without)
  const spread = (values: readonly number[]) => ({ value: spreadOf(values).median, spread: spreadOf(values) })
  return [
    { ...figure('sent without tabs', 0, '/s'), ...spread(rates.without) },
    { ...figure(`sent with ${TABS} tabs`, 0, '/s'), ...spread(rates.with) },
    withGoal({ ...figure(`${TABS} tabs / none`, ratio.median, 'x'), spread: ratio }, '>= 0.98'),
    { ...figure('CPU per message without tabs', 0, 'us'), ...spread(cpus.without) },
    { ...figure(`CPU per message with ${TABS} tabs`, 0, 'us'), ...spread(cpus.with) },
  ]
}

const openTabs = (port: number, key: string): ConsoleReader[] =>
  Array.from({ length: TABS }, () => openConsole(port, key))
const closeTabs = async (tabs: readonly ConsoleReader[]): Promise<void> =>
  void (await Promise.all(tabs.map((tab) => tab.close())))
