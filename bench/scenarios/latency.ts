// How long a message takes from the moment its request was due until the provider has it, with accepting and sending at
// once at half of what the whole can sustain.
import type { Bench } from '../bench.ts'
import { send, sinkGets, watchSink } from '../contender.ts'
import { startLaneway } from '../laneway.ts'
import { type Figure, withGoal } from '../report.ts'
import { percentile, spreadOf } from '../statistics.ts'

const CONNECTIONS = 64

export async function latency(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  const { port, traffic } = laneway
  const sustained = async (ms: number): Promise<number> => {
    await watchSink(rig)
    const began = performance.now()
    const { messages } = await send(rig, { port, connections: CONNECTIONS, traffic, ms })
    await sinkGets(rig, messages)
    return (messages * 1_000) / (performance.now() - began)
  }
  bench.progress('warm-up')
  await sustained(3_000)
  bench.progress('what the whole sustains')
  const most = await sustained(bench.seconds * 1_000)

  const p50: number[] = []
  const p99: number[] = []
  for (let round = 1; round <= bench.rounds; round += 1) {
    bench.progress(`round ${round} of ${bench.rounds}, ${Math.round(most / 2)} messages a second`)
    await watchSink(rig, { latency: true })
    const load = { port, connections: CONNECTIONS, traffic, ms: bench.seconds * 1_000, rate: most / 2 }
    const { messages } = await send(rig, load)
    const { latencies } = await sinkGets(rig, messages)
    p50.push(percentile(latencies, 0.5))
    p99.push(percentile(latencies, 0.99))
  }
  const figure = (what: string, values: readonly number[]): Figure => {
    const spread = spreadOf(values)
    return { scenario: 'latency', what, value: spread.median, unit: 'ms', spread }
  }
  return [
    { scenario: 'latency', what: 'accepted and sent at once, most', value: most, unit: '/s' },
    withGoal(figure('request due to provider at half of that, p50', p50), '< 5'),
    withGoal(figure('request due to provider at half of that, p99', p99), '< 40'),
  ]
}
