// The contenders that send from many numbers at their pace, and the provider that they send to: Laneway, and plain BullMQ as its
// best user would write it. The third is in floor.ts.
import { Queue } from 'bullmq'
import { z } from 'zod'
import { MAX_RATE } from '../src/model/accounts/sender.ts'
import { type Certificate, makeCertificate } from '../test/testbed/certificate.ts'
import { createCampaign, fillTag, start } from './campaign.ts'
import { campaignMessages } from './campaign-backlog.ts'
import { type Child, startChild, WORKER_FLAGS } from './child.ts'
import type { Closing } from './closing.ts'
import { type Rig, send } from './contender.ts'
import { type Laneway, startLaneway } from './laneway.ts'
import { createLateRedis, type LateRedis } from './late-redis.ts'
import type { Many } from './numbers-options.ts'
import { meanMs, type Watch } from './provider-contract.ts'
import { type BenchRedis, startRedis } from './redis.ts'
import { messagesOf, TEMPLATES } from './traffic.ts'

/**
 * Jobs that a number of plain BullMQ works on at once without a limit: 25 were as fast as 10 and 50 at 30 numbers with
 * answers after 20 ms. With slower ones it is as many as 6,000 a second need: with answers after 1 s what Laneway has in flight at most.
 */
const UNLIMITED_AT_ONCE = 25
const UNLIMITED_A_SECOND = 6_000
const BATCH = 1_000
/** Campaigns that are checked at once. */
const CHECKED_AT_ONCE = 5
/** Of the first number; the others follow. */
export const PHONE_NUMBER_ID = 1_000

/** A worker with a backlog for each number that it holds back until `release`. */
export interface NumbersContender {
  /** Begins to send; resolves at once. */
  release(): Promise<void>
  workers: readonly number[]
  redis: BenchRedis
  /** Makes its Redis late, and ends that, where it has a proxy before it. */
  lateRedis: Pick<LateRedis, 'begin' | 'end'>
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
  many: Many
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
export async function startProvider(tls: Many['tls'], dir: string, closing: Closing): Promise<Provider> {
  const child = await startChild('provider')
  closing.add(() => child.stop())
  const certificate = tls === 'none' ? undefined : makeCertificate(dir)
  const protocols = tls === 'h2' ? ['h2', 'http/1.1'] : ['http/1.1']
  const served = certificate && { key: certificate.key, cert: certificate.cert, protocols }
  const port = await child.ask('listen', served, z.number())
  return { child, certificate, url: certificate ? `https://localhost:${port}` : `http://127.0.0.1:${port}` }
}

/** How it is to answer, and what it counts. */
export const watchOf = ({ answer, waId, pace }: Many): Watch => ({ answer, waId, pace })

/** Laneway, with a lane for each number, and a campaign for each if that is what is sent. */
export const startOurs: Start = async ({ rig, many, backlog, provider, dir, closing, profile }) => {
  const { url, certificate } = provider
  const { numbers: count, pace, category, kind, workers, redisLateMs } = many
  const settings = certificate && { NODE_EXTRA_CA_CERTS: certificate.path }
  const late = createLateRedis(redisLateMs, closing)
  const laneway = await startLaneway(rig, dir, closing, {
    ...{ lanes: count, workers, rate: pace === 0 ? MAX_RATE : pace, baseUrl: url, profile },
    ...{ category, redisUrl: late.through },
    ...(settings && { settings }),
  })
  const release = await (kind === 'single'
    ? holdSingles(rig, laneway, backlog * count)
    : holdCampaigns(laneway, many, backlog))
  return {
    async release() {
      await late.begin()
      await release()
    },
    workers: [laneway.worker, ...laneway.others].map(({ pid }) => pid),
    redis: laneway.redis,
    lateRedis: late,
  }
}

/** Has it accept so many messages while its lanes stand still; returns what lets them go. */
async function holdSingles(rig: Rig, laneway: Laneway, messages: number): Promise<() => Promise<void>> {
  await laneway.hold()
  const requests = Math.ceil(messages / BATCH)
  await send(rig, { port: laneway.port, connections: 4, traffic: laneway.batch(BATCH), requests })
  return laneway.release
}

/** Has it check a campaign for each number, each to people of its own; returns what starts them. */
async function holdCampaigns(laneway: Laneway, { category }: Many, backlog: number): Promise<() => Promise<void>> {
  const { traffic } = laneway
  const senders = traffic.kind === 'message' ? traffic.senders : []
  const ids: string[] = []
  for (let from = 0; from < senders.length; from += CHECKED_AT_ONCE) {
    const some = senders.slice(from, from + CHECKED_AT_ONCE).map(async (sender, i) => {
      const tag = await fillTag(laneway, backlog, () => {}, (from + i) * backlog)
      return createCampaign(laneway, sender, tag, {}, templateOf(category, from + i))
    })
    ids.push(...(await Promise.all(some)))
  }
  return async () => void (await Promise.all(ids.map((id) => start(laneway, id))))
}

/** Plain BullMQ, with a queue and a limiter for each number. */
export const startPlain: Start = async ({ many, backlog, provider, dir, closing }) => {
  const { url, certificate } = provider
  const { numbers: count, pace, workers, tls, redisLateMs } = many
  const redis = await startRedis(dir, closing)
  const late = createLateRedis(redisLateMs, closing)
  const numbersOf = Array.from({ length: count }, (_, i) => ({ queue: `n${i}`, id: String(PHONE_NUMBER_ID + i) }))
  const queues = numbersOf.map(({ queue }) => new Queue(queue, { connection: redis.client }))
  for (const [i, queue] of queues.entries()) {
    const jobs = [...waitingFor(many, i, backlog)].map((data) => ({ name: 'send', data }))
    for (let from = 0; from < backlog; from += BATCH) await queue.addBulk(jobs.slice(from, from + BATCH))
    await queue.pause()
    closing.add(() => queue.close())
  }
  const children = await Promise.all(
    Array.from({ length: workers }, () => startChild('baselines/plain-bullmq-numbers', WORKER_FLAGS)),
  )
  for (const child of children) closing.add(() => child.stop())
  const concurrency = Math.max(1, Math.ceil(atOnceOf(many) / workers))
  const redisUrl = await late.through(redis.url)
  const how = { redisUrl, url, ca: certificate?.path, http2: tls === 'h2', numbers: numbersOf, pace, concurrency }
  await Promise.all(children.map((child) => child.ask('start', how, z.unknown())))
  return {
    async release() {
      await late.begin()
      await Promise.all(queues.map((queue) => queue.resume()))
    },
    workers: children.map(({ pid }) => pid),
    redis,
    lateRedis: late,
  }
}

/** What waits for the `i`-th number, for a contender that takes it message by message. */
export function waitingFor({ kind, category }: Many, i: number, backlog: number) {
  if (kind === 'campaign') return campaignMessages(i * backlog, backlog, templateOf(category, i))
  const templates = TEMPLATES[category].map(({ name }) => name)
  return messagesOf(i * backlog, backlog, templates)
}

/** Name of the template of the `i`-th number's campaign. */
function templateOf(category: Many['category'], i: number): string {
  const templates = TEMPLATES[category]
  return templates[i % templates.length]?.name ?? ''
}

/** Requests that a number has under way at most, for a contender that must be told. */
export function atOnceOf({ numbers: count, pace, answer }: Many): number {
  const unlimited = Math.max(UNLIMITED_AT_ONCE, (UNLIMITED_A_SECOND / count) * (meanMs(answer) / 1_000))
  return Math.ceil(pace === 0 ? unlimited : (pace * meanMs(answer) * 1.5) / 1_000)
}
