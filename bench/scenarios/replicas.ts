// What waiting for a replica costs accepting: the same service on a Redis with one replica, which waits for it
// (LANEWAY_REDIS_MIN_REPLICAS=1) and which does not. The workers are held back while messages are accepted.
import { type Bench, compare } from '../bench.ts'
import { acceptAndSend } from '../held-back.ts'
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
  const { accepting } = await acceptAndSend(bench, contenders, CONNECTIONS)
  const names = contenders.map(({ name }) => name)
  return compare('replicas', names, accepting, { 'does not wait': 0.7 })
}
