// How fast an accepted backlog reaches the provider through one worker process. The backlog is built up while the
// worker is held back, then let go; what counts is the pace at which the sink gets it: between the first and the last
// tenth, and over the whole from the release to the last arrival, which also counts who is slow to begin or to end.
import type { Bench } from '../bench.ts'
import { type Contender, rateOf, send, sinkGets, watchSink } from '../contender.ts'
import { startKannel } from '../kannel.ts'
import { startLaneway } from '../laneway.ts'
import { startPlainBullMq } from '../plain-bullmq.ts'
import { cpuMs } from '../process-usage.ts'
import type { BenchRedis } from '../redis.ts'
import { type Figure, withGoal } from '../report.ts'
import { ratioOf, spreadOf } from '../statistics.ts'

const BACKLOG = 20_000
/** Until V8 has optimized what runs for every message: a process that sends runs for weeks. */
const WARM_UP = 20_000

/** What one contender came to in one round; times in µs of CPU a message. */
interface Round {
  middle: number
  whole: number
  /** Of Kannel, which has no Redis, both of its processes. */
  worker?: number
  redis?: number
}

export async function dispatch(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, progress } = bench
  const backlog = bench.people ?? BACKLOG
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  // A quick look does without: the sweep would take longer than all else. No goal is held against an untuned worker.
  const sweep = backlog >= BACKLOG
  const plain = await startPlainBullMq(rig, `${dir}/plain`, closing, { sweep, say: bench.say, progress })
  if (!sweep)
    bench.say(`  plain BullMQ is not tuned for fewer than ${BACKLOG} messages: no goal is held against its ratios`)
  const kannel = await startKannel(rig, `${dir}/kannel`, closing, bench.say)
  const contenders: { of: Contender; worker?: number; redis?: BenchRedis; rounds: Round[] }[] = [
    { of: laneway, worker: laneway.worker.pid, redis: laneway.redis, rounds: [] },
    { of: plain, worker: plain.worker.pid, redis: plain.redis, rounds: [] },
    ...(kannel ? [{ of: kannel, rounds: [] }] : []),
  ]
  for (let round = 0; round <= bench.rounds; round += 1) {
    for (const contender of contenders) {
      progress(`${round === 0 ? 'warm-up' : `round ${round} of ${bench.rounds}`}, ${contender.of.name}`)
      const measured = await measure(bench, contender, round === 0 ? Math.min(WARM_UP, backlog) : backlog)
      if (round > 0) contender.rounds.push(measured)
    }
  }
  const [ours = [], theirs = [], others] = contenders.map(({ rounds }) => rounds)
  const ofPlain = ratio('Laneway / plain BullMQ', ours, theirs, 'middle')
  return [
    ...contenders.flatMap(({ of, rounds }) => figuresOf(of.name, rounds)),
    sweep ? withGoal(ofPlain, '>= 0.85') : ofPlain,
    ratio('Laneway / plain BullMQ, whole backlog', ours, theirs, 'whole'),
    ratio("Laneway / plain BullMQ, worker's CPU", ours, theirs, 'worker'),
    ratio("Laneway / plain BullMQ, Redis' CPU", ours, theirs, 'redis'),
    ...(others ? [withGoal(ratio('Laneway / Kannel', ours, others, 'middle'), '>= 1.5')] : []),
  ]
}

async function measure(
  { rig }: Bench,
  { of, worker, redis }: { of: Contender; worker?: number; redis?: BenchRedis },
  requests: number,
): Promise<Round> {
  await of.hold()
  await watchSink(rig)
  const fill = () => send(rig, { port: of.port, connections: 64, traffic: of.traffic, requests })
  if (worker === undefined || redis === undefined) {
    // It cannot be held back and sends while it accepts: its whole is counted from its first arrival.
    await fill()
    const report = await sinkGets(rig, requests)
    const [first = 0, last = 0] = [report.everyHundredthAtMs[0], report.everyHundredthAtMs.at(-1)]
    return { middle: rateOf(report), whole: ((requests - 100) * 1_000) / (last - first) }
  }
  await fill()
  const pids = [worker, redis.pid]
  const before = pids.map((pid) => cpuMs([pid]))
  const releasedAt = performance.now()
  await of.release()
  const report = await sinkGets(rig, requests)
  const tookMs = performance.now() - releasedAt
  const [ofWorker = 0, ofRedis = 0] = pids.map((pid, i) => ((cpuMs([pid]) - (before[i] ?? 0)) * 1_000) / requests)
  return { middle: rateOf(report), whole: (requests * 1_000) / tookMs, worker: ofWorker, redis: ofRedis }
}

const SHOWN = {
  middle: ['', '/s'],
  whole: [', whole backlog', '/s'],
  worker: [", worker's CPU per message", 'us'],
  redis: [", Redis' CPU per message", 'us'],
} as const

const figuresOf = (name: string, rounds: readonly Round[]): Figure[] =>
  (['middle', 'whole', 'worker', 'redis'] as const).flatMap((key) => {
    const values = rounds.flatMap((round) => round[key] ?? [])
    if (values.length === 0) return []
    const [what, unit] = SHOWN[key]
    const spread = spreadOf(values)
    return [{ scenario: 'dispatch', what: `${name}${what}`, value: spread.median, unit, spread }]
  })

function ratio(what: string, ours: readonly Round[], theirs: readonly Round[], key: keyof Round): Figure {
  const valuesOf = (rounds: readonly Round[]) => rounds.map((round) => round[key] ?? Number.NaN)
  const spread = ratioOf(valuesOf(ours), valuesOf(theirs))
  return { scenario: 'dispatch', what, value: spread.median, unit: 'x', spread }
}
