// How many lookups of the delivery status are answered per second, of messages that were sent, at random; against
// Express with one HGETALL and no credential.
import { z } from 'zod'
import { type Bench, compare, cpuPer, inTurn } from '../bench.ts'
import { startChild } from '../child.ts'
import { send, sinkGets, watchSink } from '../contender.ts'
import { startLaneway } from '../laneway.ts'
import { startRedis } from '../redis.ts'
import type { Figure } from '../report.ts'
import { SOME_KEY, type Traffic } from '../traffic.ts'

const MESSAGES = 20_000
const CONNECTIONS = 64

const accepted = z.object({ results: z.array(z.object({ id: z.string() })) })

export async function lookups(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  bench.progress('sending the messages to look up')
  await watchSink(rig)
  const { port } = laneway
  const load = { port, connections: 4, traffic: laneway.batch(1_000), requests: MESSAGES / 1_000, keep: true }
  const { bodies } = await send(rig, load)
  await sinkGets(rig, MESSAGES)
  const ids = bodies.flatMap((body) => accepted.parse(JSON.parse(body)).results.map(({ id }) => id))

  const redis = await startRedis(`${dir}/hash`, closing)
  const hash = await startChild('baselines/express-hash')
  closing.add(() => hash.stop())
  const hashPort = await hash.ask('listen', redis.url, z.number())
  for (const id of ids) {
    void redis.client.hset(`message:${id}`, { status: 'sent', provider_id: 'x'.repeat(56), to: '491700000000' })
  }
  await redis.client.ping()

  const contenders: { name: string; port: number; traffic: Traffic; pids: number[] }[] = [
    { name: 'Laneway', port, traffic: laneway.lookup(ids), pids: [laneway.producer.pid, laneway.redis.pid] },
    {
      name: 'express + hash',
      port: hashPort,
      traffic: { kind: 'lookup', path: '/lookup', keys: [SOME_KEY], ids },
      pids: [hash.pid, redis.pid],
    },
  ]
  const values = await inTurn(bench, contenders, async (at, isWarmUp) => {
    const { pids, ...contender } = contenders[at] ?? { pids: [], port, traffic: laneway.traffic }
    const ms = (isWarmUp ? 1 : bench.seconds) * 1_000
    let perSecond = 0
    const cpuUs = await cpuPer(pids, async () => {
      const report = await send(rig, { ...contender, connections: CONNECTIONS, ms })
      perSecond = report.perSecond
      return report.messages
    })
    return { perSecond, cpuUs }
  })
  const names = contenders.map(({ name }) => name)
  return compare('lookups', names, values, { 'express + hash': 0.9 })
}
