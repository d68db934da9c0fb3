// How fast a worker takes in the jobs of other services, written by the typed client from this process. The lanes are
// held meanwhile, so that nothing is sent; after each round they are let go, and the sink must get exactly what was
// accepted.
import { connectLaneway } from '../../packages/client/src/index.ts'
import { type Bench, cpuPer } from '../bench.ts'
import { phoneOf } from '../campaign.ts'
import { sinkGets, watchSink } from '../contender.ts'
import { startLaneway } from '../laneway.ts'
import type { Figure } from '../report.ts'
import { spreadOf } from '../statistics.ts'
import { TEMPLATE } from '../traffic.ts'

const JOBS = 10_000
const WARM_UP = 2_000
const TEXT = 'Your parcel left our house today and will reach you soon. '.repeat(4).slice(0, 170).trim()

export async function intake(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, progress, rounds } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  const sender = laneway.traffic.kind === 'message' ? (laneway.traffic.senders[0] ?? '') : ''
  const client = await connectLaneway({ redisUrl: laneway.redis.url, apiKey: laneway.key })
  closing.add(() => client.close())
  const itemOf = (n: number) => {
    const parameters = [String(n).padStart(8, '0'), TEXT].map((text) => ({ type: 'text', text }))
    const components = [{ type: 'BODY', parameters }]
    const template = { name: TEMPLATE.name, language: { code: TEMPLATE.language }, components }
    return { message: { type: 'template' as const, sender, to: `+${phoneOf(n)}`, template } }
  }

  const perSecond: number[] = []
  const cpuUs: number[] = []
  for (let round = 0; round <= rounds; round += 1) {
    progress(round === 0 ? 'warm-up' : `round ${round} of ${rounds}`)
    const items = Array.from({ length: round === 0 ? WARM_UP : JOBS }, (_none, n) => itemOf(n))
    await laneway.hold()
    await watchSink(rig)
    const startedAt = performance.now()
    const cpu = await cpuPer(laneway.sendPids, async () => {
      const results = await client.sendMany(items)
      const refused = results.find((result) => !result.ok)
      if (refused && !refused.ok) throw refused.error
      return items.length
    })
    const seconds = (performance.now() - startedAt) / 1_000
    if (round > 0) {
      perSecond.push(items.length / seconds)
      cpuUs.push(cpu)
    }
    await laneway.release()
    await sinkGets(rig, items.length)
  }
  const figure = (what: string, values: readonly number[], unit: string): Figure => {
    const spread = spreadOf(values)
    return { scenario: 'intake', what, value: spread.median, unit, spread }
  }
  return [
    figure('jobs of other services taken in by one worker', perSecond, '/s'),
    figure('worker and Redis, CPU per job', cpuUs, 'us'),
  ]
}
