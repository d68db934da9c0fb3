// Whether a long queue slows sending down: the pace of 10,000 messages when no more wait, and while very many wait.
import { type Bench, compare, cpuPer, inTurn } from '../bench.ts'
import { rateOf, send, sinkGets, sinkHas, watchSink } from '../contender.ts'
import { startLaneway } from '../laneway.ts'
import type { Figure } from '../report.ts'

const SHORT = 10_000
const BATCH = 1_000

export async function growth(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const long = bench.full ? 1_000_000 : 100_000
  const cases = [`${long.toLocaleString('en')} waiting`, `${SHORT.toLocaleString('en')} waiting`]
  const laneways = await Promise.all(
    ['long', 'short'].map((name) => startLaneway(rig, `${dir}/${name}`, closing, { profile: bench.profile })),
  )
  const [deep, shallow] = laneways
  if (!deep || !shallow) throw new Error('two are needed')
  const fill = async (laneway: typeof deep, messages: number): Promise<void> => {
    const traffic = laneway.batch(BATCH)
    await send(rig, { port: laneway.port, connections: 4, traffic, requests: messages / BATCH })
  }
  await deep.hold()
  bench.progress(`filling up to ${cases[0]}`)
  await fill(deep, long)
  let left = long

  const names = cases.map((name) => ({ name }))
  const values = await inTurn(bench, names, async (at) => {
    let perSecond = 0
    if (at === 0) {
      await watchSink(rig)
      const cpuUs = await cpuPer(deep.sendPids, async () => {
        await deep.release()
        perSecond = rateOf(await sinkHas(rig, SHORT), SHORT)
        return SHORT
      })
      await deep.hold()
      const sent = await stillCount(bench)
      await sinkGets(rig, sent)
      left -= sent
      return { perSecond, cpuUs }
    }
    await shallow.hold()
    await watchSink(rig)
    await fill(shallow, SHORT)
    const cpuUs = await cpuPer(shallow.sendPids, async () => {
      await shallow.release()
      perSecond = rateOf(await sinkGets(rig, SHORT))
      return SHORT
    })
    return { perSecond, cpuUs }
  })
  bench.progress('sending what is left')
  await watchSink(rig)
  await deep.release()
  await sinkGets(rig, left)
  return compare('growth', cases, values, { [cases[1] ?? '']: 0.9 })
}

/** What the sink has once nothing more arrives: a lane that is held back still finishes what is in flight. */
async function stillCount({ rig }: Bench): Promise<number> {
  for (let before = -1; ; ) {
    const { count } = await sinkHas(rig, 0)
    if (count === before) return count
    before = count
    await new Promise((resolve) => setTimeout(resolve, 300))
  }
}
