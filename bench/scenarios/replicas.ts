// What waiting for a replica costs accepting: the same service on a Redis with one replica, which waits for it
// (LANEWAY_REDIS_MIN_REPLICAS=1) and which does not. The workers are held back while messages are accepted.
import { type Bench, compare, cpuPer, inTurn, type Measured } from '../bench.ts'
import { send, sinkGets, watchSink } from '../contender.ts'
import { startLaneway } from '../laneway.ts'
import type { Figure } from '../report.ts'

const CONNECTIONS = 64

/** Accepting with and without waiting for a replica, single messages. */
export async function replicas(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, profile } = bench
  const started = async (name: string, least: string) => {
    const settings = { LANEWAY_REDIS_MIN_REPLICAS: least }
    const laneway = await startLaneway(rig, `${dir}/${least}`, closing, { redis: 'replicated', settings, profile })
    return { ...laneway, name }
  }
  const contenders = [await started('waits for a replica', '1'), await started('does not wait', '0')]
  const values = await inTurn(bench, contenders, async (at, isWarmUp): Promise<Measured> => {
    const contender = contenders[at]
    if (contender === undefined) throw new Error(`no contender ${at}`)
    const { port, traffic, acceptPids } = contender
    await contender.hold()
    await watchSink(rig)
    let perSecond = 0
    let accepted = 0
    const cpuUs = await cpuPer(acceptPids, async () => {
      const ms = (isWarmUp ? 1 : bench.seconds) * 1_000
      const report = await send(rig, { port, connections: CONNECTIONS, traffic, ms })
      ;({ perSecond, messages: accepted } = report)
      return accepted
    })
    await contender.release()
    await sinkGets(rig, accepted)
    return { perSecond, cpuUs }
  })
  const names = contenders.map(({ name }) => name)
  return compare('replicas', names, values, { 'does not wait': 0.7 })
}
