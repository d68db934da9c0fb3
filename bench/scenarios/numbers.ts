// Many numbers at their pace, with a provider that takes its time: what most installations have. A backlog is built up for
// each number while the worker is held back, then let go. After a warm-up counts what reaches the provider in a stretch of
// time, by number, and what CPU time that takes. The contenders are measured in turn, each with processes and a Redis of
// its own. Plain BullMQ has a queue with a limiter for each number.
import { z } from 'zod'
import { startBurners } from '../../test/testbed/burners.ts'
import type { Bench } from '../bench.ts'
import type { Child } from '../child.ts'
import { createClosing } from '../closing.ts'
import {
  type NumbersContender,
  PHONE_NUMBER_ID,
  type Start,
  startOurs,
  startPlain,
  startProvider,
} from '../many-numbers.ts'
import { cpuMs, rssMb } from '../process-usage.ts'
import { type ProviderReport, providerReport } from '../provider-contract.ts'
import { type Figure, withGoal } from '../report.ts'
import { ratioOf, spreadOf } from '../statistics.ts'

/** By then thousands of TLS connections are open: on two cores they take either contender some ten seconds. */
const WARM_UP_MS = 15_000
/** More than the pace lets out in the time, so that no backlog runs dry. */
const SPARE = 1.1
/** Backlog of all numbers together when none has a limit. */
const UNLIMITED_BACKLOG = 300_000
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

export async function numbers(bench: Bench): Promise<Figure[]> {
  const { numbers: count, pace, tls, category, busy, workers } = bench.many
  const { low, high } = bench.many.answer
  const windowMs = (bench.givenSeconds ?? 30) * 1_000
  const provider = await startProvider(bench.many.tls, bench.dir, bench.closing)
  const contenders: { name: string; start: Start; rounds: Round[] }[] = [
    { name: 'Laneway', start: startOurs, rounds: [] },
    { name: 'plain BullMQ', start: startPlain, rounds: [] },
  ]
  bench.say(
    `  ${count} numbers, ${pace === 0 ? 'no limit' : `${pace}/s each`}, answers after ${low === high ? low : `${low} to ${high}`} ms, TLS ${tls}, ${category} templates, ${workers} workers, ${busy} processes that compute beside it`,
  )
  for (let round = 1; round <= bench.rounds; round += 1) {
    for (const { name, start, rounds } of round % 2 === 1 ? contenders : contenders.toReversed()) {
      bench.progress(`round ${round} of ${bench.rounds}, ${name}`)
      const closing = createClosing()
      try {
        const contender = await start({
          ...{ rig: bench.rig, many: bench.many, profile: bench.profile, provider, closing },
          ...{ dir: `${bench.dir}/${name.split(' ')[0]}-${round}`, backlog: backlogOf(bench) },
        })
        const burners = startBurners(busy)
        closing.add(burners.stop)
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

async function measure(
  bench: Bench,
  provider: Child,
  { release, workers, redis }: NumbersContender,
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
