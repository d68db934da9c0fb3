// Many numbers at their pace, with a provider that takes its time: what most installations have. A backlog is built up for
// each number while the worker is held back, then let go. After a warm-up counts what reaches the provider in a stretch of
// time, by number, and what CPU time that takes. The contenders are measured in turn, each with processes and a Redis of
// its own. Plain BullMQ has a queue with a limiter for each number.
import { Queue } from 'bullmq'
import { z } from 'zod'
import { MAX_RATE } from '../../src/accounts/sender.ts'
import { type Certificate, makeCertificate } from '../../testbed/certificate.ts'
import type { Bench } from '../bench.ts'
import { type Child, startChild, WORKER_FLAGS } from '../child.ts'
import { createClosing } from '../closing.ts'
import { send } from '../contender.ts'
import { startLaneway } from '../laneway.ts'
import { cpuMs, rssMb } from '../process-usage.ts'
import { meanMs, type ProviderReport, providerReport } from '../provider-contract.ts'
import { startRedis } from '../redis.ts'
import { type Figure, withGoal } from '../report.ts'
import { ratioOf, spreadOf } from '../statistics.ts'
import { messagesOf } from '../traffic.ts'

/** By then thousands of TLS connections are open: on two cores they take either contender some ten seconds. */
const WARM_UP_MS = 15_000
/** More than the pace lets out in the time, so that no backlog runs dry. */
const SPARE = 1.1
/** Backlog of all numbers together when none has a limit. */
const UNLIMITED_BACKLOG = 300_000
/**
 * Jobs that a number of plain BullMQ works on at once without a limit: 25 were as fast as 10 and 50 at 30 numbers with
 * answers after 20 ms. With slower ones it is as many as 6,000 a second need: with answers after 1 s what Laneway has in flight at most.
 */
const UNLIMITED_AT_ONCE = 25
const UNLIMITED_A_SECOND = 6_000
const BATCH = 1_000
const PHONE_NUMBER_ID = 1_000

/** What one contender came to in one round. */
interface Round {
  perSecond: number
  /** Of the slowest number, messages a second. */
  slowest: number
  workerUs: number
  redisUs: number
  memoryMb: number
  connections: number
  mostInFlight: number
}

interface Contender {
  /** Begins to send; resolves at once. */
  release(): Promise<void>
  workers: readonly number[]
  redis: number
}

interface Provider {
  child: Child
  url: string
  certificate: Certificate | undefined
}

type Start = (bench: Bench, provider: Provider, dir: string, closing: Bench['closing']) => Promise<Contender>

export async function numbers(bench: Bench): Promise<Figure[]> {
  const { numbers: count, pace, tls, workers } = bench.many
  const { low, high } = bench.many.answer
  const windowMs = (bench.givenSeconds ?? 30) * 1_000
  const provider = await startProvider(bench)
  const contenders: { name: string; start: Start; rounds: Round[] }[] = [
    { name: 'Laneway', start: startOurs, rounds: [] },
    { name: 'plain BullMQ', start: startPlain, rounds: [] },
  ]
  bench.say(
    `  ${count} numbers, ${pace === 0 ? 'no limit' : `${pace}/s each`}, answers after ${low === high ? low : `${low} to ${high}`} ms, TLS ${tls}, ${workers} workers`,
  )
  for (let round = 1; round <= bench.rounds; round += 1) {
    for (const { name, start, rounds } of round % 2 === 1 ? contenders : contenders.toReversed()) {
      bench.progress(`round ${round} of ${bench.rounds}, ${name}`)
      const closing = createClosing()
      try {
        const contender = await start(bench, provider, `${bench.dir}/${name.split(' ')[0]}-${round}`, closing)
        rounds.push(await measure(bench, provider.child, contender, windowMs))
      } finally {
        await closing.all()
      }
    }
  }
  const [ours = [], plain = []] = contenders.map(({ rounds }) => rounds)
  const figure = (what: string, unit: string, values: readonly number[]): Figure => {
    const spread = spreadOf(values)
    return { scenario: 'numbers', what, value: spread.median, unit, spread }
  }
  const ratio = (what: string, key: keyof Round): Figure => {
    const valuesOf = (rounds: readonly Round[]) => rounds.map((round) => round[key])
    const spread = ratioOf(valuesOf(ours), valuesOf(plain))
    return { scenario: 'numbers', what: `Laneway / plain BullMQ, ${what}`, value: spread.median, unit: 'x', spread }
  }
  const figures = contenders.flatMap(({ name, rounds }) => [
    figure(
      name,
      '/s',
      rounds.map(({ perSecond }) => perSecond),
    ),
    ...(pace === 0
      ? []
      : [
          figure(
            `${name}, share of the pace`,
            '',
            rounds.map(({ perSecond }) => perSecond / (count * pace)),
          ),
          figure(
            `${name}, slowest number, share of its pace`,
            '',
            rounds.map(({ slowest }) => slowest / pace),
          ),
        ]),
    figure(
      `${name}, workers' CPU per message`,
      'us',
      rounds.map(({ workerUs }) => workerUs),
    ),
    figure(
      `${name}, Redis' CPU per message`,
      'us',
      rounds.map(({ redisUs }) => redisUs),
    ),
    figure(
      `${name}, memory of a worker`,
      'MB',
      rounds.map(({ memoryMb }) => memoryMb),
    ),
    figure(
      `${name}, in flight, most`,
      '',
      rounds.map(({ mostInFlight }) => mostInFlight),
    ),
    figure(
      `${name}, connections`,
      '',
      rounds.map(({ connections }) => connections),
    ),
  ])
  const held = figures.map((each) =>
    each.what === 'Laneway, slowest number, share of its pace' ? withGoal(each, '>= 0.99') : each,
  )
  const rate = ratio('messages a second', 'perSecond')
  return [
    ...held,
    pace === 0 ? withGoal(rate, '>= 1.2') : rate,
    withGoal(ratio("workers' CPU per message", 'workerUs'), '< 1'),
    withGoal(ratio("Redis' CPU per message", 'redisUs'), '< 1'),
  ]
}

async function startProvider({ many: { tls }, dir, closing }: Bench): Promise<Provider> {
  const child = await startChild('provider')
  closing.add(() => child.stop())
  const certificate = tls === 'none' ? undefined : makeCertificate(dir)
  const protocols = tls === 'h2' ? ['h2', 'http/1.1'] : ['http/1.1']
  const served = certificate && { key: certificate.key, cert: certificate.cert, protocols }
  const port = await child.ask('listen', served, z.number())
  return { child, certificate, url: certificate ? `https://localhost:${port}` : `http://127.0.0.1:${port}` }
}

async function measure(
  bench: Bench,
  provider: Child,
  { release, workers, redis }: Contender,
  windowMs: number,
): Promise<Round> {
  const report = (): Promise<ProviderReport> => provider.ask('report', undefined, providerReport)
  await provider.ask('watch', bench.many.answer, z.unknown())
  await release()
  await passed(WARM_UP_MS)
  await provider.ask('restartPeak', undefined, z.unknown())
  const [before, beganAt] = [await report(), performance.now()]
  const [workersBefore, redisBefore] = [cpuMs(workers), cpuMs([redis])]
  await passed(windowMs)
  const [after, seconds] = [await report(), (performance.now() - beganAt) / 1_000]
  const [workersMs, redisMs] = [cpuMs(workers) - workersBefore, cpuMs([redis]) - redisBefore]
  if (after.twice > 0) throw new Error(`${after.twice} messages came twice`)
  const messages = after.distinct - before.distinct
  const rates = Array.from({ length: bench.many.numbers }, (_, i) => {
    const number = String(PHONE_NUMBER_ID + i)
    return ((after.arrivals[number] ?? 0) - (before.arrivals[number] ?? 0)) / seconds
  })
  return {
    perSecond: messages / seconds,
    slowest: Math.min(...rates),
    workerUs: (workersMs * 1_000) / messages,
    redisUs: (redisMs * 1_000) / messages,
    memoryMb: Math.max(...workers.map(rssMb)),
    connections: after.connections,
    mostInFlight: after.mostInFlight,
  }
}

const passed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** Messages of each number's backlog. */
function backlogOf({ many: { numbers: count, pace }, givenSeconds, people }: Bench): number {
  if (pace === 0) return Math.ceil((people ?? UNLIMITED_BACKLOG) / count)
  return Math.ceil(pace * SPARE * (WARM_UP_MS / 1_000 + (givenSeconds ?? 30)))
}

const startOurs: Start = async (bench, { url, certificate }, dir, closing) => {
  const { numbers: count, pace, workers } = bench.many
  const settings = certificate && { NODE_EXTRA_CA_CERTS: certificate.path }
  const laneway = await startLaneway(bench.rig, dir, closing, {
    ...{ lanes: count, workers, rate: pace === 0 ? MAX_RATE : pace, baseUrl: url, profile: bench.profile },
    ...(settings && { settings }),
  })
  await laneway.hold()
  const requests = Math.ceil((backlogOf(bench) * count) / BATCH)
  await send(bench.rig, { port: laneway.port, connections: 4, traffic: laneway.batch(BATCH), requests })
  return {
    release: laneway.release,
    workers: [laneway.worker, ...laneway.others].map(({ pid }) => pid),
    redis: laneway.redis.pid,
  }
}

const startPlain: Start = async (bench, { url, certificate }, dir, closing) => {
  const { numbers: count, pace, workers, answer, tls } = bench.many
  const redis = await startRedis(dir, closing)
  const numbersOf = Array.from({ length: count }, (_, i) => ({ queue: `n${i}`, id: String(PHONE_NUMBER_ID + i) }))
  const backlog = backlogOf(bench)
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
  }
}
