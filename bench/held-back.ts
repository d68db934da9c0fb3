// Messages that are accepted while a contender holds them back, and let go afterwards: what each of both costs.
import { type Bench, cpuPer, inTurn, type Measured } from './bench.ts'
import { type Contender, type LoadOptions, type Rig, send, sinkGets, watchSink } from './contender.ts'

type Accepting = Pick<Contender, 'port' | 'acceptPids' | 'hold'>

/** Has it hold messages back and accept this load: how many it accepted, how fast, and with how much CPU time of each. */
export async function acceptHeldBack(rig: Rig, contender: Accepting, load: Omit<LoadOptions, 'port'>) {
  await contender.hold()
  await watchSink(rig)
  let report = { perSecond: 0, messages: 0 }
  const cpuUs = await cpuPer(contender.acceptPids, async () => {
    report = await send(rig, { port: contender.port, ...load })
    return report.messages
  })
  return { perSecond: report.perSecond, accepted: report.messages, cpuUs }
}

/** Lets them go, and waits until the sink has exactly those: how much CPU time each took. */
const sendHeldBack = (rig: Rig, contender: Pick<Contender, 'sendPids' | 'release'>, accepted: number) =>
  cpuPer(contender.sendPids, async () => {
    await contender.release()
    await sinkGets(rig, accepted)
    return accepted
  })

/** In turn has each contender accept single messages and then send them: what accepting costs, and sending (µs a message). */
export async function acceptAndSend(bench: Bench, contenders: readonly Contender[], connections: number) {
  const sendingUs = contenders.map((): number[] => [])
  const accepting = await inTurn(bench, contenders, async (at, isWarmUp): Promise<Measured> => {
    const contender = contenders[at]
    if (contender === undefined) throw new Error(`no contender ${at}`)
    const ms = (isWarmUp ? 1 : bench.seconds) * 1_000
    const load = { connections, traffic: contender.traffic, ms }
    const { perSecond, accepted, cpuUs } = await acceptHeldBack(bench.rig, contender, load)
    const us = await sendHeldBack(bench.rig, contender, accepted)
    if (!isWarmUp) sendingUs[at]?.push(us)
    return { perSecond, cpuUs }
  })
  return { accepting, sendingUs }
}
