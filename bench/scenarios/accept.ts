// How fast single messages are accepted: 64 keep-alive connections, one message per request, the workers held back.
// After each round the backlog is let go, and the sink must get exactly what was accepted.
import { z } from 'zod'
import { type Bench, inTurn } from '../bench.ts'
import { startChild } from '../child.ts'
import { type Contender, send, sinkGets, watchSink } from '../contender.ts'
import { startKannel } from '../kannel.ts'
import { startLaneway } from '../laneway.ts'
import { startPlainBullMq } from '../plain-bullmq.ts'
import { type Figure, withGoal } from '../report.ts'
import { ratioOf, spreadOf } from '../statistics.ts'

const CONNECTIONS = 64

export async function accept(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  const plain = await startPlainBullMq(rig, `${dir}/plain`, closing, { sweep: false, say: bench.say })
  const kannel = await startKannel(rig, `${dir}/kannel`, closing, bench.say)
  const bare = await startBareExpress(bench)
  const contenders = [laneway, plain, bare, ...(kannel ? [kannel] : [])]

  const values = await inTurn(bench, contenders, async (contender, isWarmUp) => {
    await contender.hold()
    await watchSink(rig)
    const ms = (isWarmUp ? 1 : bench.seconds) * 1_000
    const { messages, perSecond } = await send(rig, {
      port: contender.port,
      connections: CONNECTIONS,
      traffic: contender.traffic,
      ms,
    })
    await contender.release()
    if (contender !== bare) await sinkGets(rig, messages)
    return perSecond
  })

  const [ours = [], theirs = [], bares = []] = values
  const ratio = (to: string, of: readonly number[]): Figure => {
    const spread = ratioOf(ours, of)
    return { scenario: 'accept', what: `Laneway / ${to}`, value: spread.median, unit: 'x', spread }
  }
  return [
    ...contenders.map((contender, at) => {
      const spread = spreadOf(values[at] ?? [])
      return { scenario: 'accept', what: contender.name, value: spread.median, unit: '/s', spread }
    }),
    withGoal(ratio('plain BullMQ', theirs), '>= 0.8'),
    ratio('bare express', bares),
    ...(kannel ? [ratio('Kannel', values[3] ?? [])] : []),
  ]
}

async function startBareExpress(bench: Bench): Promise<Contender> {
  const child = await startChild('baselines/bare-express')
  bench.closing.add(() => child.stop())
  return {
    name: 'bare express',
    port: await child.ask('port', undefined, z.number()),
    traffic: { kind: 'message', path: '/send', keys: ['x'.repeat(41)], senders: ['49301000000'] },
    hold: async () => {},
    release: async () => {},
  }
}
