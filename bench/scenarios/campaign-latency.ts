// How long a transactional message takes, from the moment its request was due until the provider has it, while a
// campaign keeps a lane of 80 per second full: on that lane, and on another one.
import { setLaneRate } from '../../src/lanes/control.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import type { Bench } from '../bench.ts'
import { cancel, createCampaign, fillTag, show, start, takenOf } from '../campaign.ts'
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

export async function campaignLatency(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, progress } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { lanes: 2, profile: bench.profile })
  const { traffic, port, redis } = laneway
  const senders = traffic.kind === 'message' ? traffic.senders : []
  const [busy = '', quiet = ''] = senders
  const queues = openLaneQueues(redis.client)
  await setLaneRate(redis.client, queues, 1, RATE)
  await queues.close()
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

  await cancel(laneway, id)
  await until('nothing is in flight', 60_000, async () => (await show(laneway, id)).progress.sending === 0)
  const { progress: end } = await show(laneway, id)
  await sinkGets(rig, sent + (end.total ?? 0) - (end.cancelled ?? 0))
  const figure = (what: string, value: number): Figure => ({ scenario: 'campaign-latency', what, value, unit: 'ms' })
  return [
    figure('on the lane of the campaign, p50', percentile(same, 0.5)),
    withGoal(figure('on the lane of the campaign, p99', percentile(same, 0.99)), '< 500'),
    figure('on another lane, p50', percentile(other, 0.5)),
    withGoal(figure('on another lane, p99', percentile(other, 0.99)), '< 100'),
  ]
}
