// How fast an accepted backlog reaches the provider through one worker process. The backlog is built up while the
// worker is held back, then let go; what counts is the pace at which the sink gets it.
import { type Bench, compare, cpuPer, inTurn } from '../bench.ts'
import { type Contender, rateOf, send, sinkGets, watchSink } from '../contender.ts'
import { startKannel } from '../kannel.ts'
import { startLaneway } from '../laneway.ts'
import { startPlainBullMq } from '../plain-bullmq.ts'
import type { Figure } from '../report.ts'

const BACKLOG = 20_000
const WARM_UP = 5_000

export async function dispatch(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  const plain = await startPlainBullMq(rig, `${dir}/plain`, closing, { sweep: true, say: bench.say })
  const kannel = await startKannel(rig, `${dir}/kannel`, closing, bench.say)
  const contenders: Contender[] = [laneway, plain, ...(kannel ? [kannel] : [])]
  const names = contenders.map(({ name }) => name)

  const values = await inTurn(bench, contenders, async (at, isWarmUp) => {
    const contender = contenders[at] ?? laneway
    const requests = isWarmUp ? WARM_UP : BACKLOG
    await contender.hold()
    await watchSink(rig)
    await send(rig, { port: contender.port, connections: 64, traffic: contender.traffic, requests })
    let perSecond = 0
    const cpuUs = await cpuPer(contender.sendPids, async () => {
      await contender.release()
      perSecond = rateOf(await sinkGets(rig, requests))
      return requests
    })
    return { perSecond, cpuUs }
  })
  return compare('dispatch', names, values, { [plain.name]: 0.85, Kannel: 1.5 })
}
