// How fast single messages are accepted: 64 keep-alive connections, one message per request, the workers held back.
// After each round the backlog is let go, and the sink must get exactly what was accepted.
import { z } from 'zod'
import { type Bench, compare, inTurn } from '../bench.ts'
import { startChild } from '../child.ts'
import { type Contender, sinkGets } from '../contender.ts'
import { acceptHeldBack } from '../held-back.ts'
import { startKannel } from '../kannel.ts'
import { startLaneway } from '../laneway.ts'
import { startPlainBullMq } from '../plain-bullmq.ts'
import type { Figure } from '../report.ts'
import { SOME_KEY } from '../traffic.ts'

const CONNECTIONS = 64

export async function accept(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, say, progress } = bench
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  const plain = await startPlainBullMq(rig, `${dir}/plain`, closing, { sweep: false, say, progress })
  const bare = await startBareExpress(bench)
  const kannel = await startKannel(rig, `${dir}/kannel`, closing, bench.say)
  const contenders: Contender[] = [laneway, plain, bare, ...(kannel ? [kannel] : [])]
  const names = contenders.map(({ name }) => name)

  const values = await inTurn(bench, contenders, async (at, isWarmUp) => {
    const contender = contenders[at] ?? laneway
    const { traffic } = contender
    const ms = (isWarmUp ? 1 : bench.seconds) * 1_000
    const { perSecond, accepted, cpuUs } = await acceptHeldBack(rig, contender, {
      connections: CONNECTIONS,
      traffic,
      ms,
    })
    await contender.release()
    if (contender !== bare) await sinkGets(rig, accepted)
    return { perSecond, cpuUs }
  })
  return compare('accept', names, values, { [plain.name]: 0.8 })
}

async function startBareExpress(bench: Bench): Promise<Contender> {
  const child = await startChild('baselines/bare-express')
  bench.closing.add(() => child.stop())
  return {
    name: 'bare express',
    port: await child.ask('port', undefined, z.number()),
    traffic: { kind: 'message', path: '/send', keys: [SOME_KEY], senders: ['49301000000'] },
    acceptPids: [child.pid],
    sendPids: [],
    hold: async () => {},
    release: async () => {},
  }
}
