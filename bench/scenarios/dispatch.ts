// How fast an accepted backlog reaches the provider through one worker process. The backlog is built up while the
// worker is held back, then let go; what counts is the pace at which the sink gets it: between the first and the last
// tenth, and over the whole from the release to the last arrival, which also counts who is slow to begin or to end.
import { type Bench, compare, cpuPer, inTurn } from '../bench.ts'
import { type Contender, rateOf, send, sinkGets, watchSink } from '../contender.ts'
import { startKannel } from '../kannel.ts'
import { startLaneway } from '../laneway.ts'
import { startPlainBullMq } from '../plain-bullmq.ts'
import type { Figure } from '../report.ts'
import { ratioOf, spreadOf } from '../statistics.ts'

const BACKLOG = 20_000
const WARM_UP = 5_000

export async function dispatch(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  const plain = await startPlainBullMq(rig, `${dir}/plain`, closing, { sweep: true, say: bench.say })
  const kannel = await startKannel(rig, `${dir}/kannel`, closing, bench.say)
  const contenders: Contender[] = [laneway, plain, ...(kannel ? [kannel] : [])]
  const names = contenders.map(({ name }) => name)

  const whole: number[][] = contenders.map(() => [])
  const values = await inTurn(bench, contenders, async (at, isWarmUp) => {
    const contender = contenders[at] ?? laneway
    const requests = isWarmUp ? WARM_UP : BACKLOG
    await contender.hold()
    await watchSink(rig)
    await send(rig, { port: contender.port, connections: 64, traffic: contender.traffic, requests })
    let perSecond = 0
    const cpuUs = await cpuPer(contender.sendPids, async () => {
      const releasedAt = performance.now()
      await contender.release()
      perSecond = rateOf(await sinkGets(rig, requests))
      if (!isWarmUp) whole[at]?.push((requests * 1_000) / (performance.now() - releasedAt))
      return requests
    })
    return { perSecond, cpuUs }
  })
  const figures = compare('dispatch', names, values, { [plain.name]: 0.85, Kannel: 1.5 })
  for (const [at, name] of names.entries()) {
    const rate = spreadOf(whole[at] ?? [])
    figures.push({ scenario: 'dispatch', what: `${name}, whole backlog`, value: rate.median, unit: '/s', spread: rate })
  }
  const ratio = ratioOf(whole[0] ?? [], whole[1] ?? [])
  const what = `${laneway.name} / ${plain.name}, whole backlog`
  return [...figures, { scenario: 'dispatch', what, value: ratio.median, unit: 'x', spread: ratio }]
}
