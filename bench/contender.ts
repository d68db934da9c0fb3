// What is measured against each other: something that takes messages over HTTP and brings them to the sink.
import { z } from 'zod'
import type { Child } from './child.ts'
import { type LoadReport, loadReport, type runSchema } from './load-contract.ts'
import { type SinkReport, sinkReport } from './sink-contract.ts'
import { messagesPerRequest, type Traffic } from './traffic.ts'

export interface Contender {
  name: string
  /** The port that takes messages. */
  port: number
  /** One message per request. */
  traffic: Traffic
  /** The processes whose CPU time accepting costs, and those whose CPU time sending costs; Redis is among both. */
  acceptPids: readonly number[]
  sendPids: readonly number[]
  /** Holds messages back, so that a backlog builds up; lets them go. */
  hold(): Promise<void>
  release(): Promise<void>
}

/** The two processes that everything is measured with. */
export interface Rig {
  load: Child
  sink: Child
  sinkPort: number
}

export type LoadOptions = Omit<z.input<typeof runSchema>, 'from' | 'keep' | 'ms'> & { ms?: number; keep?: boolean }

let sentSoFar = 0
let accepted = 0

/** All messages that a contender with a way to the sink has accepted. */
export const acceptedInAll = (): number => accepted

/** Sends traffic; every request of a whole run of the bench has its own number. Throws when any is refused. */
export async function send(rig: Rig, options: LoadOptions): Promise<LoadReport> {
  const report = await rig.load.ask('run', { ms: 3_600_000, keep: false, ...options, from: sentSoFar }, loadReport)
  sentSoFar += Math.ceil(report.messages / messagesPerRequest(options.traffic)) + 1
  if (report.firstRefusal !== '') throw new Error(`refused: ${report.firstRefusal} ${JSON.stringify(report.refused)}`)
  return report
}

export async function watchSink(
  rig: Rig,
  what: { latency?: boolean; opaque?: boolean; arrivals?: boolean } = {},
): Promise<void> {
  await rig.sink.ask('watch', { latency: false, opaque: false, ...what }, z.unknown())
}

/** Waits until the sink has the `count` messages that were accepted; throws when it gets more. */
export async function sinkGets(rig: Rig, count: number): Promise<SinkReport> {
  accepted += count
  const report = await sinkHas(rig, count)
  if (report.count > count) throw new Error(`the sink got ${report.count} messages of ${count} that were accepted`)
  return report
}

/** Waits until the sink has at least `count` messages; throws when it gets nothing for 30 s. */
export async function sinkHas(rig: Rig, count: number): Promise<SinkReport> {
  let seen = 0
  let seenAt = performance.now()
  for (;;) {
    const now = await rig.sink.ask('count', undefined, z.number())
    if (now >= count) break
    if (now > seen) [seen, seenAt] = [now, performance.now()]
    if (performance.now() - seenAt > 30_000) throw new Error(`the sink got only ${now} of ${count} accepted messages`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  return rig.sink.ask('report', undefined, sinkReport)
}

/** Messages per second between the first tenth and the last tenth of `count`, where everything runs at full speed. */
export function rateOf(report: SinkReport, count = report.count): number {
  const times = report.everyHundredthAtMs
  const [from, to] = [Math.floor(count * 0.001), Math.ceil(count * 0.009) - 1]
  return ((to - from) * 100 * 1_000) / ((times[to] ?? 0) - (times[from] ?? 0))
}
