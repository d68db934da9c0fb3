// How quick a lane of 80 per second stays while a campaign keeps it full: how long a transactional message takes, from the
// moment its request was due until the provider has it, on that lane and on another one; how evenly two campaigns share
// it; and for how long messages still arrive after a pause or a cancel was answered.
import { setTimeout as sleep } from 'node:timers/promises'
import { setSenderRate } from '../../src/accounts/senders.ts'
import type { Bench } from '../bench.ts'
import { cancel, createCampaign, fillTag, pause, resume, show, start, takenOf } from '../campaign.ts'
import { send, sinkGets, sinkHas, watchSink } from '../contender.ts'
import { startLaneway } from '../laneway.ts'
import { until } from '../part.ts'
import { type Figure, withGoal } from '../report.ts'
import { percentile } from '../statistics.ts'

const PEOPLE = 20_000
const RATE = 80
/** Transactional messages per lane, and how many a second. */
const MESSAGES = 200
const PER_SECOND = 5

/** How long two campaigns share the lane. */
const SHARED_MS = 10_000
/** How often the campaign is paused, and how long messages are looked for after that. */
const STOPS = 5
const WATCHED_MS = 2_500

const larger = (shares: readonly number[]): number => Math.max(...shares) / Math.min(...shares)

export async function campaignLatency(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, progress } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { lanes: 2, profile: bench.profile })
  const { traffic, port, redis } = laneway
  const senders = traffic.kind === 'message' ? traffic.senders : []
  const [busy = '', quiet = ''] = senders
  await setSenderRate(redis.client, 1, RATE)
  const tag = await fillTag(laneway, PEOPLE, (done) => progress(`${done} contacts`))
  const id = await createCampaign(laneway, busy, tag)

  await watchSink(rig, { latency: true })
  await start(laneway, id)
  await until('the lane is full', 60_000, async () => takenOf(await show(laneway, id)) > RATE)
  let sent = 0
  const latenciesOf = async (what: string, sender: string): Promise<number[]> => {
    progress(what)
    const load = {
      port,
      // Another one would idle, and a server closes idle connections.
      connections: 1,
      traffic: { ...traffic, senders: [sender] },
      requests: MESSAGES,
      rate: PER_SECOND,
    }
    sent += (await send(rig, load)).messages
    const before = sent - MESSAGES
    await until('they are sent', 60_000, async () => (await sinkHas(rig, 0)).latencies.length >= sent)
    return (await sinkHas(rig, 0)).latencies.slice(before)
  }
  const same = await latenciesOf('transactional messages on the lane of the campaign', busy)
  const other = await latenciesOf('transactional messages on another lane', quiet)

  progress('two campaigns on one lane')
  const second = await createCampaign(laneway, busy, tag)
  await start(laneway, second)
  await until('both are sent', 60_000, async () => takenOf(await show(laneway, second)) > RATE)
  const taken = () => Promise.all([id, second].map(async (each) => takenOf(await show(laneway, each))))
  const before = await taken()
  await sleep(SHARED_MS)
  const shares = (await taken()).map((now, at) => now - (before[at] ?? 0))

  /** How long after the answer to `stop` the last message arrives at the sink. */
  async function arrivesAfter(stop: () => Promise<unknown>): Promise<number> {
    await stop()
    const answeredAt = performance.now()
    let [seen, seenAt] = [(await sinkHas(rig, 0)).count, answeredAt]
    while (performance.now() - answeredAt < WATCHED_MS) {
      await sleep(10)
      const now = (await sinkHas(rig, 0)).count
      if (now > seen) [seen, seenAt] = [now, performance.now()]
    }
    return seenAt - answeredAt
  }
  progress('pause and cancel')
  await cancel(laneway, second)
  await until('the first is sent alone', 60_000, async () => (await show(laneway, second)).progress.sending === 0)
  const paused: number[] = []
  for (let i = 0; i < STOPS; i += 1) {
    paused.push(await arrivesAfter(() => pause(laneway, id)))
    const at = (await sinkHas(rig, 0)).count
    await resume(laneway, id)
    await until('it goes on', 60_000, async () => (await sinkHas(rig, 0)).count > at + RATE)
  }
  const cancelled = await arrivesAfter(() => cancel(laneway, id))
  await until('nothing is in flight', 60_000, async () => (await show(laneway, id)).progress.sending === 0)
  for (const each of [id, second]) {
    const { progress: end } = await show(laneway, each)
    sent += (end.total ?? 0) - (end.cancelled ?? 0)
  }
  await sinkGets(rig, sent)
  const figure = (what: string, value: number): Figure => ({ scenario: 'campaign-latency', what, value, unit: 'ms' })
  return [
    figure('on the lane of the campaign, p50', percentile(same, 0.5)),
    withGoal(figure('on the lane of the campaign, p99', percentile(same, 0.99)), '< 60'),
    figure('on another lane, p50', percentile(other, 0.5)),
    withGoal(figure('on another lane, p99', percentile(other, 0.99)), '< 100'),
    withGoal({ ...figure('two campaigns, the larger share over 10 s', larger(shares)), unit: 'x' }, '< 1.05'),
    withGoal(figure('the last message after a pause was answered, most of five', Math.max(...paused)), '< 1000'),
    withGoal(figure('the last message after a cancel was answered', cancelled), '< 1000'),
  ]
}
