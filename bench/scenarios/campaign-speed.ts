// A campaign of 20,000 (or --people) against the same messages sent by a plain BullMQ worker, and against Kannel if it is
// installed, in turns. Laneway's round begins with the start of the campaign, so that its fan-out counts; that of plain
// BullMQ when its queue, filled before, is released, which is to its advantage: what filling it costs Redis is shown
// beside. Both end when the last message is at the sink and everything is written down.

import type { Bench } from '../bench.ts'
import { createCampaign, fillTag, show, start } from '../campaign.ts'
import { addBacklog } from '../campaign-backlog.ts'
import { type Contender, rateOf, send, sinkGets, watchSink } from '../contender.ts'
import { startKannel } from '../kannel.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { until } from '../part.ts'
import { type PlainBullMq, startPlainBullMq } from '../plain-bullmq.ts'
import { cpuMs } from '../process-usage.ts'
import { usedMemory } from '../redis.ts'
import { type Figure, withGoal } from '../report.ts'
import { ratioOf, spreadOf } from '../statistics.ts'

const PEOPLE = 20_000
/** With as many, plain BullMQ gets the best setting of a sweep: 276,000 messages before the first one that counts. */
const SWEPT_FROM = 100_000
/** Until V8 has optimized what runs for every message: a process that sends runs for weeks. */
const WARM_UP = 20_000

/** What one contender came to in one round; times in µs of CPU a message, bytes a finished message. */
type Round = Partial<Record<'middle' | 'whole' | 'worker' | 'redis' | 'filling' | 'accepted' | 'bytes', number>>
type Measure = (people: number) => Promise<Round>

export async function campaignSpeed(bench: Bench): Promise<Figure[]> {
  const { rig, dir, closing, progress } = bench
  const people = bench.people ?? PEOPLE
  const laneway = await startLaneway(rig, `${dir}/laneway`, closing, { profile: bench.profile })
  // A quick look at few people does without: its sweep would take longer than all else. It is held to no goal either:
  // the plain worker is not at its best setting, and V8 has not compiled either side.
  const sweep = people >= SWEPT_FROM
  const plain = await startPlainBullMq(rig, `${dir}/plain`, closing, { sweep, say: bench.say, progress })
  if (!sweep)
    bench.say(`  plain BullMQ is not tuned for fewer than ${SWEPT_FROM} people: no goal is held against these ratios`)
  const goal = (wanted: '>= 2' | '< 0.5') => (sweep ? wanted : undefined)
  const kannel = await startKannel(rig, `${dir}/kannel`, closing, bench.say)
  const warmUp = Math.min(WARM_UP, people)
  const tags = new Map<number, number>()
  for (const count of new Set([warmUp, people])) {
    tags.set(count, await fillTag(laneway, count, (done) => progress(`${done} contacts`)))
  }
  const contenders: { name: string; measure: Measure; rounds: Round[] }[] = [
    { name: laneway.name, measure: (count) => ofLaneway(bench, laneway, tags.get(count) ?? 0, count), rounds: [] },
    { name: plain.name, measure: (count) => ofPlain(bench, plain, count), rounds: [] },
    ...(kannel ? [{ name: kannel.name, measure: (count: number) => ofKannel(bench, kannel, count), rounds: [] }] : []),
  ]
  for (let round = 0; round <= bench.rounds; round += 1) {
    for (const { name, measure, rounds } of contenders) {
      progress(`${round === 0 ? 'warm-up' : `round ${round} of ${bench.rounds}`}, ${name}`)
      const measured = await measure(round === 0 ? warmUp : people)
      if (round > 0) rounds.push(measured)
    }
  }
  const [ours, theirs, others] = contenders.map(({ rounds }) => rounds)
  return [
    figure('recipients', people, ''),
    ...contenders.flatMap(({ name, rounds }) => figuresOf(name, rounds)),
    ratio('Laneway / plain BullMQ, middle 80 %', ours, theirs, 'middle', goal('>= 2')),
    ratio('Laneway / plain BullMQ, whole backlog', ours, theirs, 'whole', goal('>= 2')),
    ratio("Laneway / plain BullMQ, worker's CPU", ours, theirs, 'worker', goal('< 0.5')),
    ratio("Laneway / plain BullMQ, Redis' CPU", ours, theirs, 'redis', goal('< 0.5')),
    ratio("Laneway / plain BullMQ, Redis' CPU from accepting on", ours, theirs, 'accepted', goal('< 0.5')),
    ...(others ? [ratio('Laneway / Kannel, whole backlog', ours, others, 'whole')] : []),
  ]
}

async function ofLaneway(bench: Bench, laneway: Laneway, tag: number, people: number): Promise<Round> {
  const sender = laneway.traffic.kind === 'message' ? (laneway.traffic.senders[0] ?? '') : ''
  const before = cpuMs([laneway.redis.pid])
  const id = await createCampaign(laneway, sender, tag)
  const filling = ((cpuMs([laneway.redis.pid]) - before) * 1_000) / people
  const round = await measured(bench, people, {
    worker: laneway.worker.pid,
    redis: laneway.redis,
    release: () => start(laneway, id),
    isDone: async () => (await show(laneway, id)).state === 'done',
  })
  return { ...round, filling, accepted: filling + (round.redis ?? 0) }
}

async function ofPlain(bench: Bench, plain: PlainBullMq, people: number): Promise<Round> {
  await plain.hold()
  const before = cpuMs([plain.redis.pid])
  const bytes = await usedMemory(plain.redis.client)
  await addBacklog(plain.queue, people)
  const filling = ((cpuMs([plain.redis.pid]) - before) * 1_000) / people
  const round = await measured(bench, people, {
    worker: plain.worker.pid,
    redis: plain.redis,
    release: () => plain.release(),
    isDone: async () => {
      const { active = 0, wait = 0 } = await plain.queue.getJobCounts('active', 'wait')
      return active + wait === 0
    },
  })
  return {
    ...round,
    filling,
    accepted: filling + (round.redis ?? 0),
    bytes: ((await usedMemory(plain.redis.client)) - bytes) / people,
  }
}

interface Run {
  worker: number
  redis: Laneway['redis']
  release: () => Promise<unknown>
  isDone: () => Promise<boolean>
}

async function measured({ rig }: Bench, people: number, { worker, redis, release, isDone }: Run): Promise<Round> {
  await watchSink(rig)
  const bytes = await usedMemory(redis.client)
  const before = [worker, redis.pid].map((pid) => cpuMs([pid]))
  await release()
  const report = await sinkGets(rig, people)
  await until('everything is written down', 60_000, isDone)
  const [ofWorker = 0, ofRedis = 0] = [worker, redis.pid].map((pid, i) => cpuMs([pid]) - (before[i] ?? 0))
  return {
    middle: rateOf(report),
    whole: (people * 1_000) / (report.everyHundredthAtMs.at(-1) ?? Number.NaN),
    worker: (ofWorker * 1_000) / people,
    redis: (ofRedis * 1_000) / people,
    bytes: ((await usedMemory(redis.client)) - bytes) / people,
  }
}

/** It cannot be held back, so accepting counts as well; its two processes share the work. */
async function ofKannel({ rig }: Bench, kannel: Contender, people: number): Promise<Round> {
  await watchSink(rig)
  const before = cpuMs(kannel.sendPids)
  await send(rig, { port: kannel.port, connections: 64, traffic: kannel.traffic, requests: people })
  const report = await sinkGets(rig, people)
  return {
    middle: rateOf(report),
    whole: (people * 1_000) / (report.everyHundredthAtMs.at(-1) ?? Number.NaN),
    worker: ((cpuMs(kannel.sendPids) - before) * 1_000) / people,
  }
}

const SHOWN = {
  middle: ['middle 80 %', '/s'],
  whole: ['whole backlog, release to last arrival', '/s'],
  worker: ["worker's CPU per message", 'us'],
  redis: ["Redis' CPU per message", 'us'],
  filling: ["Redis' CPU per message to fill the queue, or to check the campaign", 'us'],
  accepted: ["Redis' CPU per message from accepting to settling", 'us'],
  bytes: ['Redis per finished message', 'bytes'],
} as const

function figuresOf(name: string, rounds: readonly Round[]): Figure[] {
  const shown = (['middle', 'whole', 'worker', 'redis', 'filling', 'accepted', 'bytes'] as const).flatMap((key) => {
    const values = rounds.flatMap((round) => round[key] ?? [])
    const [what, unit] = SHOWN[key]
    return values.length === 0 ? [] : [spreadFigure(`${name}, ${what}`, values, unit)]
  })
  // What would be left if workers were free: one thread of Redis does all steps of all messages.
  const ofRedis = rounds.flatMap(({ redis, filling = 0 }) => (redis === undefined ? [] : 1_000_000 / (redis + filling)))
  if (ofRedis.length > 0) shown.push(spreadFigure(`${name}, what one core of Redis carries`, ofRedis, '/s'))
  return shown
}

const figure = (what: string, value: number, unit: string): Figure => ({
  scenario: 'campaign-speed',
  what,
  value,
  unit,
})

function spreadFigure(what: string, values: readonly number[], unit: string): Figure {
  const spread = spreadOf(values)
  return { ...figure(what, spread.median, unit), spread }
}

function ratio(
  what: string,
  ours: readonly Round[] = [],
  theirs: readonly Round[] = [],
  key: keyof Round,
  goal?: Parameters<typeof withGoal>[1],
): Figure {
  const valuesOf = (rounds: readonly Round[]) => rounds.map((round) => round[key] ?? Number.NaN)
  const spread = ratioOf(valuesOf(ours), valuesOf(theirs))
  const shown = { ...figure(what, spread.median, 'x'), spread }
  return goal === undefined ? shown : withGoal(shown, goal)
}
