// Plain BullMQ as a contender: baselines/plain-bullmq-*.ts on a Redis of the same settings, one process each. Its
// worker's concurrency and connections are the best of a printed sweep.
import { Queue } from 'bullmq'
import { z } from 'zod'
import { addBacklog } from './campaign-backlog.ts'
import { type Child, startChild, WORKER_FLAGS } from './child.ts'
import type { Closing } from './closing.ts'
import { type Contender, type Rig, rateOf, sinkGets, watchSink } from './contender.ts'
import { type BenchRedis, startRedis } from './redis.ts'
import { median } from './statistics.ts'
import { SOME_KEY, type Traffic } from './traffic.ts'

export interface PlainBullMq extends Contender {
  redis: BenchRedis
  queue: Queue
  worker: Child
  /** Many messages per request. */
  batch: (size: number) => Traffic
}

export async function startPlainBullMq(
  rig: Rig,
  dir: string,
  closing: Closing,
  options: { sweep: boolean; say: (line: string) => void; progress: (doing: string) => void },
): Promise<PlainBullMq> {
  const redis = await startRedis(dir, closing)
  const producer = await startChild('baselines/plain-bullmq-producer')
  closing.add(() => producer.stop())
  const startWorker = async (): Promise<Child> => {
    const child = await startChild('baselines/plain-bullmq-worker', WORKER_FLAGS)
    closing.add(() => child.stop())
    return child
  }
  const worker = await startWorker()
  const queue = new Queue('send', { connection: redis.client })
  closing.add(() => queue.close())

  const traffic: Traffic = { kind: 'message', path: '/send', keys: [SOME_KEY], senders: ['49301000000'] }
  const self: PlainBullMq = {
    name: 'plain BullMQ',
    port: await producer.ask('listen', redis.url, z.number()),
    redis,
    queue,
    worker,
    traffic,
    batch: (size) => ({ kind: 'batch', path: '/batch', keys: [SOME_KEY], senders: ['49301000000'], size }),
    acceptPids: [producer.pid, redis.pid],
    sendPids: [worker.pid, redis.pid],
    hold: () => queue.pause(),
    release: () => queue.resume(),
  }
  const work = (setting: WorkerSetting) =>
    self.worker.ask('start', { redisUrl: redis.url, sinkPort: rig.sinkPort, ...setting }, z.unknown())
  if (!options.sweep) {
    await work({ concurrency: 100, connections: 0, autoPipelining: true })
    return self
  }
  // There and back, so that neither the first nor the last has the warmer process or the quieter minute.
  const order = [...SETTINGS, ...SETTINGS.toReversed()]
  const rates = new Map(SETTINGS.map((setting): [WorkerSetting, number[]] => [setting, []]))
  for (const [at, setting] of order.entries()) {
    options.progress(`sweep of plain BullMQ, ${at + 1} of ${order.length}`)
    await work(setting)
    // The first backlog warms up.
    for (const requests of [3_000, SWEPT]) {
      await self.hold()
      await watchSink(rig)
      await addBacklog(queue, requests)
      await self.release()
      const rate = rateOf(await sinkGets(rig, requests))
      if (requests === SWEPT) rates.get(setting)?.push(rate)
    }
    await self.worker.ask('end', undefined, z.unknown())
  }
  const tried = SETTINGS.map((setting) => ({ setting, rate: median(rates.get(setting) ?? []) }))
  for (const { setting, rate } of tried) {
    const connections = `${setting.connections || 'no limit of'} connections`
    const pipelining = setting.autoPipelining ? ', commands of one turn sent together' : ''
    options.say(
      `  sweep of plain BullMQ: concurrency ${setting.concurrency}, ${connections}${pipelining}: ${Math.round(rate)}/s`,
    )
  }
  const best = tried.reduce((a, b) => (b.rate > a.rate ? b : a))
  // Begun anew, as cold as what it is measured against: V8 has optimized it for 276,000 messages by now.
  await self.worker.stop()
  self.worker = await startWorker()
  await work(best.setting)
  return self
}

/** Messages that each setting is timed with, each time: with 10,000 once, chance chose another one in every second run. */
const SWEPT = 20_000

interface WorkerSetting {
  concurrency: number
  connections: number
  autoPipelining: boolean
}
const SETTINGS: readonly WorkerSetting[] = [
  { concurrency: 50, connections: 0, autoPipelining: false },
  { concurrency: 100, connections: 0, autoPipelining: false },
  { concurrency: 100, connections: 0, autoPipelining: true },
  { concurrency: 200, connections: 0, autoPipelining: true },
  { concurrency: 200, connections: 64, autoPipelining: true },
  { concurrency: 400, connections: 128, autoPipelining: true },
]
