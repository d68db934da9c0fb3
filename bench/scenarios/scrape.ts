// What a scrape of /metrics costs while a thousand lanes have messages that wait: on a clock and in CPU time, the first of
// 5 s, which reads Redis, and those that follow it. Real: a producer with a metrics port, a worker, Redis.
import type { Bench } from '../bench.ts'
import { send } from '../contender.ts'
import { startLaneway } from '../laneway.ts'
import { until } from '../part.ts'
import { cpuMs } from '../process-usage.ts'
import { type Figure, withGoal } from '../report.ts'
import { spreadOf } from '../statistics.ts'

const SCENARIO = 'scrape'
const LANES = 1_000
/** What was read from Redis is served for 5 s. */
const FRESH_MS = 5_100
const ROUNDS = 6
/** Scrapes of a round that read nothing. */
const REPEATED = 10
const LIMIT_MS = 100

export async function scrape(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, profile, lanes = LANES } = bench
  bench.progress('starting')
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { lanes, profile, hasMetricsPort: true })
  // They wait to the end: only what waits is measured.
  await laneway.hold()
  const perRequest = Math.min(lanes, 1_000)
  const requests = Math.ceil(lanes / perRequest)
  await send(rig, { port: laneway.port, connections: 1, traffic: laneway.batch(perRequest), requests })
  const address = `http://127.0.0.1:${laneway.metricsPort}/metrics`
  const series = async (): Promise<number> =>
    (await (await fetch(address)).text()).split('\nlaneway_lane_waiting{').length - 1
  await until('all lanes are told', 30_000, async () => (await series()) >= 2 * lanes)

  const [looking, repeated, producer, redis]: [number[], number[], number[], number[]] = [[], [], [], []]
  let bytes = 0
  for (let round = 1; round <= ROUNDS; round += 1) {
    bench.progress(`round ${round} of ${ROUNDS}`)
    await new Promise((resolve) => setTimeout(resolve, FRESH_MS))
    const before = [cpuMs([laneway.producer.pid]), cpuMs([laneway.redis.pid])] as const
    const ms = await timed(async () => {
      bytes = (await (await fetch(address)).arrayBuffer()).byteLength
    })
    producer.push(cpuMs([laneway.producer.pid]) - before[0])
    redis.push(cpuMs([laneway.redis.pid]) - before[1])
    looking.push(ms)
    for (let i = 0; i < REPEATED; i += 1) {
      repeated.push(await timed(async () => void (await (await fetch(address)).arrayBuffer())))
    }
  }

  // Whatever else the machine does only adds to it: the best of the rounds is what it costs.
  const best = (what: string, times: readonly number[]): Figure => {
    const spread = spreadOf(times)
    return { scenario: SCENARIO, what, value: spread.low, unit: 'ms', spread }
  }
  const of = `${lanes.toLocaleString('en')} lanes`
  return [
    withGoal(best(`${of}, a scrape that reads Redis, best of ${ROUNDS}`, looking), `< ${LIMIT_MS}`),
    withGoal(best(`${of}, one within 5 s of it, best of ${repeated.length}`, repeated), `< ${LIMIT_MS}`),
    withGoal(best(`${of}, CPU of the producer for the first, in steps of 10`, producer), `< ${LIMIT_MS}`),
    best(`${of}, CPU of Redis for it, in steps of 10`, redis),
    { scenario: SCENARIO, what: `${of}, text`, value: bytes / 1_024, unit: 'KB' },
  ]
}

async function timed(work: () => Promise<void>): Promise<number> {
  const from = performance.now()
  await work()
  return performance.now() - from
}
