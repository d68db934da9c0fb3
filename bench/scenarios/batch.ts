// How fast messages are accepted in batches of a thousand, against Express with `queue.addBulk()`. After each round the
// backlog is let go, and the sink must get exactly what was accepted.
import { type Bench, compare, inTurn } from '../bench.ts'
import { sinkGets } from '../contender.ts'
import { acceptHeldBack } from '../held-back.ts'
import { startLaneway } from '../laneway.ts'
import { startPlainBullMq } from '../plain-bullmq.ts'
import { type Figure, withGoal } from '../report.ts'

const SIZE = 1_000
const BATCHES = 30
const CONNECTIONS = 4

export async function batch(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, say, progress } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  const plain = await startPlainBullMq(rig, `${dir}/plain`, closing, { sweep: false, say, progress })
  const contenders = [laneway, plain]

  const values = await inTurn(bench, contenders, async (at, isWarmUp) => {
    const contender = contenders[at] ?? laneway
    const requests = isWarmUp ? 5 : BATCHES
    const load = { connections: CONNECTIONS, traffic: contender.batch(SIZE), requests }
    const { perSecond, cpuUs } = await acceptHeldBack(rig, contender, load)
    await contender.release()
    await sinkGets(rig, requests * SIZE)
    return { perSecond, cpuUs }
  })
  const [ours, ...others] = compare('batch', ['Laneway', 'plain BullMQ, addBulk'], values, {})
  return ours ? [withGoal(ours, '>= 15000'), ...others] : others
}
