// What many senders cost: the same backlog on 1 lane and spread over 500, through one worker process.
import { type Bench, compare, cpuPer, inTurn } from '../bench.ts'
import { rateOf, send, sinkGets, watchSink } from '../contender.ts'
import { startLaneway } from '../laneway.ts'
import type { Figure } from '../report.ts'

const LANES = 500
const BATCHES = 20

export async function lanes(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { lanes: LANES, profile: bench.profile })
  const cases = [
    { name: `${LANES} lanes`, lanes: LANES },
    { name: '1 lane', lanes: 1 },
  ]
  const values = await inTurn(bench, cases, async (at, isWarmUp) => {
    const requests = isWarmUp ? 5 : BATCHES
    const traffic = laneway.batch(1_000, cases[at]?.lanes ?? 1)
    await laneway.hold()
    await watchSink(rig)
    const { messages } = await send(rig, { port: laneway.port, connections: 4, traffic, requests })
    let perSecond = 0
    const cpuUs = await cpuPer(laneway.sendPids, async () => {
      await laneway.release()
      perSecond = rateOf(await sinkGets(rig, messages))
      return messages
    })
    return { perSecond, cpuUs }
  })
  const names = cases.map(({ name }) => name)
  return compare('lanes', names, values, { '1 lane': 0.7 })
}
