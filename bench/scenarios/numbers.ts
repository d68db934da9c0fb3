// Many numbers at their pace, with a provider that takes its time: what most installations have. A backlog is built up for
// each number while the worker is held back, then let go. After a warm-up counts what reaches the provider in a stretch of
// time, by number, and what CPU time that takes. The contenders are measured in turn, each with processes and a Redis of
// its own: Laneway, plain BullMQ with a queue and a limiter for each number, and the floor, which shows what is possible.
import { z } from 'zod'
import { startBurners } from '../../test/testbed/burners.ts'
import type { Bench } from '../bench.ts'
import { createClosing } from '../closing.ts'
import { startFloor } from '../floor.ts'
import {
  type NumbersContender,
  PHONE_NUMBER_ID,
  type Provider,
  type Start,
  startOurs,
  startPlain,
  startProvider,
  watchOf,
} from '../many-numbers.ts'
import { cpuMs, rssMb } from '../process-usage.ts'
import { latenessReport, type ProviderReport, providerReport } from '../provider-contract.ts'
import { commandsRun } from '../redis.ts'
import { type Figure, withGoal } from '../report.ts'
import { ratioOf, spreadOf } from '../statistics.ts'

/** By then thousands of TLS connections are open: on two cores they take either contender some ten seconds. */
const WARM_UP_MS = 15_000
const SECONDS = 30
/** The same of a quick look. */
const SHORT_WARM_UP_MS = 5_000
const SHORT_SECONDS = 10
/** More than the pace lets out in the time, so that no backlog runs dry. */
const SPARE = 1.1
/** Backlog of all numbers together when none has a limit. */
const UNLIMITED_BACKLOG = 300_000
/** What one contender came to in one round. */
interface Round {
  perSecond: number
  /** Share of the pace of all numbers, and of that of the slowest. */
  share: number
  slowest: number
  workerUs: number
  redisUs: number
  /** Commands of Redis a message. */
  commands: number
  /** See lateness.ts, ms. */
  lateP50: number
  lateP99: number
  memoryMb: number
  connections: number
  mostInFlight: number
}

/** How each is shown; those that `paced` holds have no meaning without a limit. */
const SHOWN: readonly { key: keyof Round; what: string; unit: string; paced?: true }[] = [
  { key: 'perSecond', what: '', unit: '/s' },
  { key: 'share', what: ', share of the pace', unit: '', paced: true },
  { key: 'slowest', what: ', slowest number, share of its pace', unit: '', paced: true },
  { key: 'workerUs', what: ", workers' CPU per message", unit: 'us' },
  { key: 'redisUs', what: ", Redis' CPU per message", unit: 'us' },
  { key: 'commands', what: ', Redis commands per message', unit: '' },
  { key: 'lateP50', what: ', later than its pace, p50', unit: 'ms', paced: true },
  { key: 'lateP99', what: ', later than its pace, p99', unit: 'ms', paced: true },
  { key: 'memoryMb', what: ', memory of a worker', unit: 'MB' },
  { key: 'mostInFlight', what: ', in flight, most', unit: '' },
  { key: 'connections', what: ', connections', unit: '' },
]

export async function numbers(bench: Bench): Promise<Figure[]> {
  const { many } = bench
  const provider = await startProvider(many.tls, bench.dir, bench.closing)
  const contenders: { name: string; start: Start; rounds: Round[] }[] = [
    { name: 'Laneway', start: startOurs, rounds: [] },
    { name: 'plain BullMQ', start: startPlain, rounds: [] },
    { name: 'floor', start: startFloor, rounds: [] },
  ]
  bench.say(`  ${worldOf(bench)}`)
  for (let round = 1; round <= bench.rounds; round += 1) {
    for (const { name, start, rounds } of round % 2 === 1 ? contenders : contenders.toReversed()) {
      const progress = (doing: string) => bench.progress(`round ${round} of ${bench.rounds}, ${name}: ${doing}`)
      progress('builds up its backlog')
      const closing = createClosing()
      bench.closing.add(closing.all)
      try {
        const contender = await start({
          ...{ rig: bench.rig, many, profile: bench.profile, provider, closing },
          ...{ dir: `${bench.dir}/${name.split(' ')[0]}-${round}`, backlog: backlogOf(bench) },
        })
        const burners = startBurners(many.busy)
        closing.add(burners.stop)
        rounds.push(await measure(bench, provider, contender, progress))
      } finally {
        await closing.all()
      }
    }
  }
  const [ours = [], plain = [], floor = []] = contenders.map(({ rounds }) => rounds)
  const ratio = (name: string, theirs: readonly Round[], what: string, key: keyof Round): Figure => {
    const valuesOf = (rounds: readonly Round[]) => rounds.map((round) => round[key])
    const spread = ratioOf(valuesOf(ours), valuesOf(theirs))
    return { scenario: 'numbers', what: `Laneway / ${name}, ${what}`, value: spread.median, unit: 'x', spread }
  }
  const rate = ratio('plain BullMQ', plain, 'messages a second', 'perSecond')
  return [
    ...contenders.flatMap(({ name, rounds }) => figuresOf(name, rounds, many.pace > 0)),
    many.pace === 0 ? withGoal(rate, '>= 1.2') : rate,
    withGoal(ratio('plain BullMQ', plain, "workers' CPU per message", 'workerUs'), '< 1'),
    withGoal(ratio('plain BullMQ', plain, "Redis' CPU per message", 'redisUs'), '< 1'),
    ratio('floor', floor, "workers' CPU per message", 'workerUs'),
    ratio('floor', floor, "Redis' CPU per message", 'redisUs'),
  ]
}

function figuresOf(name: string, rounds: readonly Round[], isPaced: boolean): Figure[] {
  return SHOWN.filter(({ paced }) => isPaced || !paced).map(({ key, what, unit }) => {
    const spread = spreadOf(rounds.map((round) => round[key]))
    const figure: Figure = { scenario: 'numbers', what: `${name}${what}`, value: spread.median, unit, spread }
    return name === 'Laneway' && key === 'slowest' ? withGoal(figure, '>= 0.99') : figure
  })
}

/** What is played, in a sentence. */
function worldOf({ many }: Bench): string {
  const { numbers: count, pace, kind, category, tls, busy, redisLateMs, waId, workers } = many
  const { low, high } = many.answer
  return [
    `${count} numbers, ${pace === 0 ? 'no limit' : `${pace}/s each`}`,
    `${kind === 'single' ? 'single messages' : 'a campaign each'}, ${category} templates`,
    `answers after ${low === high ? low : `${low} to ${high}`} ms, TLS ${tls}, wa_id ${waId}`,
    `${workers} workers, ${busy} processes that compute beside it, Redis ${redisLateMs} ms late`,
  ].join(', ')
}

async function measure(
  bench: Bench,
  provider: Provider,
  { release, workers, redis }: NumbersContender,
  progress: (doing: string) => void,
): Promise<Round> {
  const { numbers: count, pace } = bench.many
  const { child } = provider
  const report = (): Promise<ProviderReport> => child.ask('report', undefined, providerReport)
  await child.ask('watch', watchOf(bench.many), z.unknown())
  progress(`warms up for ${warmUpMs(bench) / 1_000} s`)
  await release()
  await passed(warmUpMs(bench))
  progress(`measured for ${secondsOf(bench)} s`)
  await child.ask('restart', undefined, z.unknown())
  const [before, commandsBefore, beganAt] = [await report(), await commandsRun(redis.client), performance.now()]
  const [workersBefore, redisBefore] = [cpuMs(workers), cpuMs([redis.pid])]
  await passed(secondsOf(bench) * 1_000)
  const [after, commands, seconds] = [
    await report(),
    await commandsRun(redis.client),
    (performance.now() - beganAt) / 1_000,
  ]
  const [workersMs, redisMs] = [cpuMs(workers) - workersBefore, cpuMs([redis.pid]) - redisBefore]
  const late = await child.ask('lateness', undefined, latenessReport)
  if (after.twice > 0) throw new Error(`${after.twice} messages came twice`)
  const messages = after.distinct - before.distinct
  const rates = Array.from({ length: count }, (_, i) => {
    const number = String(PHONE_NUMBER_ID + i)
    return ((after.arrivals[number] ?? 0) - (before.arrivals[number] ?? 0)) / seconds
  })
  const perSecond = messages / seconds
  return {
    perSecond,
    share: perSecond / (count * pace),
    slowest: Math.min(...rates) / pace,
    workerUs: (workersMs * 1_000) / messages,
    redisUs: (redisMs * 1_000) / messages,
    commands: (commands - commandsBefore) / messages,
    lateP50: late.p50,
    lateP99: late.p99,
    memoryMb: Math.max(...workers.map(rssMb)),
    connections: after.connections,
    mostInFlight: after.mostInFlight,
  }
}

const passed = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
const warmUpMs = ({ short, many: { warmUp } }: Bench): number =>
  warmUp === undefined ? (short ? SHORT_WARM_UP_MS : WARM_UP_MS) : warmUp * 1_000
const secondsOf = ({ short, givenSeconds }: Bench): number => givenSeconds ?? (short ? SHORT_SECONDS : SECONDS)

/** Messages of each number's backlog. */
function backlogOf(bench: Bench): number {
  const { numbers: count, pace } = bench.many
  if (pace === 0) return Math.ceil((bench.people ?? UNLIMITED_BACKLOG) / count)
  return Math.ceil(pace * SPARE * (warmUpMs(bench) / 1_000 + secondsOf(bench)))
}
