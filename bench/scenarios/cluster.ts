// What a message costs on a cluster of three primaries against one server, from accepting to settling: CPU time of
// producer, worker and all servers. A dozen lanes, so that each primary has some. In turns, in one run.
import { type Bench, cpuPer } from '../bench.ts'
import { rateOf, send, sinkGets, watchSink } from '../contender.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { type Figure, withGoal } from '../report.ts'
import { ratioOf, spreadOf } from '../statistics.ts'

const LANES = 12
const CONNECTIONS = 64
const MESSAGES = { full: 50_000, small: 10_000 }
const WARM_UP = 3_000

interface Round {
  /** CPU time a message, in us: of Node's processes and of Redis'. */
  node: number
  redis: number
  /** Messages a second, of accepting and of sending. */
  accepted: number
  sent: number
}

/** CPU time and pace per message on a cluster, against one server. */
export async function cluster(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, profile, progress } = bench
  const size = MESSAGES[bench.full ? 'full' : 'small']
  const started = async (name: string, redis: 'cluster' | 'one') => {
    const laneway = await startLaneway(rig, `${dir}/${redis}`, closing, { lanes: LANES, redis, profile })
    return { name, laneway, rounds: [] as Round[] }
  }
  const contenders = [await started('cluster of 3', 'cluster'), await started('one Redis', 'one')]
  for (let round = 0; round <= bench.rounds; round += 1) {
    for (const { name, laneway, rounds } of contenders) {
      progress(`${round === 0 ? 'warm-up' : `round ${round} of ${bench.rounds}`}, ${name}`)
      const measured = await measure(bench, laneway, round === 0 ? WARM_UP : size)
      if (round > 0) rounds.push(measured)
    }
  }
  const [ours = [], theirs = []] = contenders.map(({ rounds }) => rounds)
  const of = (name: string, what: string, unit: string, values: number[]): Figure => {
    const spread = spreadOf(values)
    return { scenario: 'cluster', what: `${name}, ${what}`, value: spread.median, unit, spread }
  }
  const ratio = (what: string, readingOf: (round: Round) => number): Figure => {
    const spread = ratioOf(ours.map(readingOf), theirs.map(readingOf))
    return { scenario: 'cluster', what: `cluster of 3 / one Redis, ${what}`, value: spread.median, unit: 'x', spread }
  }
  const whole = ({ node, redis }: Round) => node + redis
  return [
    ...contenders.flatMap(({ name, rounds }) => [
      of(name, 'CPU per message', 'us', rounds.map(whole)),
      of(
        name,
        'CPU of Redis per message',
        'us',
        rounds.map(({ redis }) => redis),
      ),
      of(
        name,
        'accepted',
        '/s',
        rounds.map(({ accepted }) => accepted),
      ),
      of(
        name,
        'sent',
        '/s',
        rounds.map(({ sent }) => sent),
      ),
    ]),
    withGoal(ratio('CPU per message', whole), '< 1.25'),
    ratio('CPU of Redis per message', ({ redis }) => redis),
    ratio('accepted a second', ({ accepted }) => accepted),
    ratio('sent a second', ({ sent }) => sent),
  ]
}

async function measure({ rig }: Bench, laneway: Laneway, requests: number): Promise<Round> {
  const { port, traffic, redis, producer, worker } = laneway
  let accepted = 0
  let sent = 0
  let ofRedis = 0
  const node = await cpuPer([producer.pid, worker.pid], async () => {
    ofRedis = await cpuPer(redis.pids, async () => {
      await laneway.hold()
      await watchSink(rig)
      accepted = (await send(rig, { port, connections: CONNECTIONS, traffic, requests })).perSecond
      await laneway.release()
      sent = rateOf(await sinkGets(rig, requests))
      return requests
    })
    return requests
  })
  return { node, redis: ofRedis, accepted, sent }
}
