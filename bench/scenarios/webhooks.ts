// How many updates that WhatsApp reports are settled per second: signed webhooks with one update each, and with
// a hundred. Every update is of another message and changes it.
import { type Bench, cpuPer } from '../bench.ts'
import { send, sinkGets, watchSink } from '../contender.ts'
import { APP_SECRET, startLaneway } from '../laneway.ts'
import { type Figure, withGoal } from '../report.ts'
import { spreadOf } from '../statistics.ts'
import type { Traffic } from '../traffic.ts'

const MESSAGES = 20_000
const CONNECTIONS = 64

export async function webhooks(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  const { port } = laneway
  const pids = [laneway.producer.pid, laneway.redis.pid]
  const rates = new Map<number, number[]>([
    [1, []],
    [100, []],
  ])
  const cpu = new Map<number, number[]>([
    [1, []],
    [100, []],
  ])
  for (let round = 0; round <= bench.rounds; round += 1) {
    bench.progress(round === 0 ? 'warm-up' : `round ${round} of ${bench.rounds}`)
    await watchSink(rig, { opaque: true })
    await send(rig, { port, connections: 4, traffic: laneway.batch(1_000), requests: MESSAGES / 1_000 })
    const { opaque } = await sinkGets(rig, MESSAGES)
    for (const [size, status] of [
      [1, 'delivered'],
      [100, 'read'],
    ] as const) {
      const traffic: Traffic = {
        kind: 'webhook',
        path: '/webhooks/cloud-api',
        appSecret: APP_SECRET,
        opaque,
        status,
        size,
      }
      const connections = size === 1 ? CONNECTIONS : 4
      let perSecond = 0
      const cpuUs = await cpuPer(pids, async () => {
        const report = await send(rig, { port, connections, traffic, requests: MESSAGES / size })
        perSecond = report.perSecond
        return report.messages
      })
      if (round > 0) {
        rates.get(size)?.push(perSecond)
        cpu.get(size)?.push(cpuUs)
      }
    }
  }
  return [1, 100].flatMap((size) => {
    const rate = spreadOf(rates.get(size) ?? [])
    const us = spreadOf(cpu.get(size) ?? [])
    const what = `updates settled, ${size} in a webhook`
    return [
      withGoal({ scenario: 'webhooks', what, value: rate.median, unit: '/s', spread: rate }, '>= 5000'),
      { scenario: 'webhooks', what: `${what}, CPU per update`, value: us.median, unit: 'us', spread: us },
    ]
  })
}
