// The contenders that send from many numbers at their pace, and the provider that they send to: Laneway, and plain BullMQ as its
// best user would write it.
import { Queue } from 'bullmq'
import { z } from 'zod'
import { MAX_RATE } from '../src/model/accounts/sender.ts'
import { type Certificate, makeCertificate } from '../test/testbed/certificate.ts'
import type { Bench } from './bench.ts'
import { type Child, startChild, WORKER_FLAGS } from './child.ts'
import type { Closing } from './closing.ts'
import { type Rig, send } from './contender.ts'
import { startLaneway } from './laneway.ts'
import { meanMs } from './provider-contract.ts'
import { startRedis } from './redis.ts'
import { messagesOf } from './traffic.ts'

/**
 * Jobs that a number of plain BullMQ works on at once without a limit: 25 were as fast as 10 and 50 at 30 numbers with
 * answers after 20 ms. With slower ones it is as many as 6,000 a second need: with answers after 1 s what Laneway has in flight at most.
 */
const UNLIMITED_AT_ONCE = 25
const UNLIMITED_A_SECOND = 6_000
const BATCH = 1_000
/** Of the first number; the others follow. */
export const PHONE_NUMBER_ID = 1_000

/** A worker with a backlog for each number that it holds back until `release`. */
export interface NumbersContender {
  /** Begins to send; resolves at once. */
  release(): Promise<void>
  workers: readonly number[]
  /** Process id of its Redis, and where that is. */
  redis: number
  redisUrl: string
}

/** A provider that takes its time to answer. */
export interface Provider {
  child: Child
  url: string
  certificate: Certificate | undefined
}

/** What a contender is started with. */
export interface Setting {
  rig: Rig
  many: Bench['many']
  /** Messages that wait for each number. */
  backlog: number
  provider: Provider
  /** For the files of what is started. */
  dir: string
  closing: Closing
  profile?: string | undefined
}

export type Start = (setting: Setting) => Promise<NumbersContender>

/** Starts it; over TLS its certificate is made in `dir`. */
export async function startProvider(tls: Bench['many']['tls'], dir: string, closing: Closing): Promise<Provider> {
  const child = await startChild('provider')
  closing.add(() => child.stop())
  const certificate = tls === 'none' ? undefined : makeCertificate(dir)
  const protocols = tls === 'h2' ? ['h2', 'http/1.1'] : ['http/1.1']
  const served = certificate && { key: certificate.key, cert: certificate.cert, protocols }
  const port = await child.ask('listen', served, z.number())
  return { child, certificate, url: certificate ? `https://localhost:${port}` : `http://127.0.0.1:${port}` }
}

/** Laneway, with a lane for each number. */
export const startOurs: Start = async ({ rig, many, backlog, provider, dir, closing, profile }) => {
  const { url, certificate } = provider
  const { numbers: count, pace, category, workers } = many
  const settings = certificate && { NODE_EXTRA_CA_CERTS: certificate.path }
  const laneway = await startLaneway(rig, dir, closing, {
    ...{ lanes: count, workers, rate: pace === 0 ? MAX_RATE : pace, baseUrl: url, profile },
    ...{ isMarketing: category === 'marketing' },
    ...(settings && { settings }),
  })
  await laneway.hold()
  const requests = Math.ceil((backlog * count) / BATCH)
  await send(rig, { port: laneway.port, connections: 4, traffic: laneway.batch(BATCH), requests })
  return {
    release: laneway.release,
    workers: [laneway.worker, ...laneway.others].map(({ pid }) => pid),
    redis: laneway.redis.pid,
    redisUrl: laneway.redis.url,
  }
}

/** Plain BullMQ, with a queue and a limiter for each number. */
export const startPlain: Start = async ({ many, backlog, provider, dir, closing }) => {
  const { url, certificate } = provider
  const { numbers: count, pace, workers, answer, tls } = many
  const redis = await startRedis(dir, closing)
  const numbersOf = Array.from({ length: count }, (_, i) => ({ queue: `n${i}`, id: String(PHONE_NUMBER_ID + i) }))
  const queues = numbersOf.map(({ queue }) => new Queue(queue, { connection: redis.client }))
  for (const [i, queue] of queues.entries()) {
    const jobs = [...messagesOf(i * backlog, backlog)].map((data) => ({ name: 'send', data }))
    for (let from = 0; from < backlog; from += BATCH) await queue.addBulk(jobs.slice(from, from + BATCH))
    await queue.pause()
    closing.add(() => queue.close())
  }
  const children = await Promise.all(
    Array.from({ length: workers }, () => startChild('baselines/plain-bullmq-numbers', WORKER_FLAGS)),
  )
  for (const child of children) closing.add(() => child.stop())
  const unlimited = Math.max(UNLIMITED_AT_ONCE, (UNLIMITED_A_SECOND / count) * (meanMs(answer) / 1_000))
  const atOnce = Math.ceil(pace === 0 ? unlimited : (pace * meanMs(answer) * 1.5) / 1_000)
  const concurrency = Math.max(1, Math.ceil(atOnce / workers))
  const how = {
    redisUrl: redis.url,
    url,
    ca: certificate?.path,
    http2: tls === 'h2',
    numbers: numbersOf,
    pace,
    concurrency,
  }
  await Promise.all(children.map((child) => child.ask('start', how, z.unknown())))
  return {
    release: async () => void (await Promise.all(queues.map((queue) => queue.resume()))),
    workers: children.map(({ pid }) => pid),
    redis: redis.pid,
    redisUrl: redis.url,
  }
}
