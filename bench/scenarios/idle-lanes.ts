// What a large installation costs while nothing happens: lanes that have had messages and campaigns, and workers; how many
// connections it has once a part of the lanes have work; and how long it takes until work is found that no worker was
// woken for.

import { newUlid } from '../../src/kernel/message-id.ts'
import { markLane } from '../../src/lanes/wake.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { rootKeys } from '../../src/redis/keys.ts'
import type { Bench } from '../bench.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { until } from '../part.ts'
import { cpuMs } from '../process-usage.ts'
import { type Figure, withGoal } from '../report.ts'

const LANES = 1_000
const WORKERS = 4
/** What WhatsApp lets a number send: its lanes need no more workers than two. */
const RATE = 80
/** Lanes that have work, at most. */
const WITH_WORK = 500
const SETTLE_MS = 20_000
/** The first round of the sweep over all lanes: 200 a second. */
const ROUND_MS_PER_LANE = 5
const WATCH_MS = 60_000
const LOST_WAKES = 20

export async function idleLanes(bench: Bench): Promise<Figure[]> {
  const scenario = 'idle-lanes'
  const { lanes = LANES, workers = WORKERS } = bench
  bench.progress('starting')
  const laneway = await startLaneway(bench.rig, bench.dir, bench.closing, { lanes, workers, rate: RATE })
  const { client } = laneway.redis
  // As if each had just ended a campaign.
  await Promise.all(laneway.laneIds.map((lane) => markLane(client, lane)))
  await client.sadd(rootKeys.campaignLanes, ...laneway.laneIds.map(String))
  bench.progress('settling')
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS + lanes * ROUND_MS_PER_LANE))

  bench.progress('watching')
  const processes = [laneway.worker, ...laneway.others, laneway.producer, laneway.redis]
  const before = { commands: await commandsOf(client), cpu: processes.map(({ pid }) => cpuMs([pid])) }
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS))
  const commands = ((await commandsOf(client)) - before.commands) / (WATCH_MS / 1_000)
  const shares = processes.map(({ pid }, i) => ((cpuMs([pid]) - (before.cpu[i] ?? 0)) / WATCH_MS) * 100)

  bench.progress('giving lanes work')
  const idle = await connectionsOf(client)
  const working = laneway.laneIds.slice(0, WITH_WORK)
  const open = await connectionsWithWork(laneway, working)

  bench.progress('losing wake-ups')
  const found: number[] = []
  for (let i = 0; i < LOST_WAKES; i += 1) found.push(await lostWake(laneway, laneway.laneIds.at(-1 - i * 7) ?? 0))

  const what = `Redis commands of ${workers} workers and a producer, ${lanes} idle lanes`
  const most = 4 * workers + 2 * working.length
  return [
    withGoal({ scenario, what, value: commands, unit: '/s' }, lanes > LANES ? '< 1000' : '< 200'),
    { scenario, what: `connections, ${lanes} idle lanes`, value: idle, unit: '' },
    withGoal(
      { scenario, what: `connections, ${working.length} lanes with work`, value: open, unit: '' },
      `< ${most + 1}`,
    ),
    withGoal(
      { scenario, what: 'CPU of the busiest process, of one core', value: Math.max(...shares), unit: '%' },
      '< 2',
    ),
    withGoal({ scenario, what: 'longest until a lost wake-up is found', value: Math.max(...found), unit: 's' }, '< 5'),
  ]
}

/** Commands that Redis has run for anybody, those inside of scripts included. */
async function commandsOf(client: Redis): Promise<number> {
  const stats = await client.info('commandstats')
  return [...stats.matchAll(/calls=(\d+)/g)].reduce((sum, [, calls]) => sum + Number(calls), 0)
}

/** Connections to Redis in all, but for the bench's own. */
async function connectionsOf(client: Redis): Promise<number> {
  const list = String(await client.client('LIST'))
  const own = new Set([await client.client('ID')].map(String))
  return list.split('\n').filter((line) => line !== '' && !own.has(/^id=(\d+)/.exec(line)?.[1] ?? '')).length
}

/** The same while these lanes have work: a message for later, which keeps its lane open. */
async function connectionsWithWork({ queues, redis }: Laneway, lanes: readonly number[]): Promise<number> {
  const id = (lane: number): string => `msg_${lane}_${newUlid(Date.now())}`
  await Promise.all(
    lanes.map(async (lane) => {
      await queues.queueOf(lane).add('send', { v: 99 }, { jobId: id(lane), delay: 600_000 })
      await markLane(redis.client, lane)
    }),
  )
  // Workers open lanes when the sweep wakes them, and it looks every 2 s.
  for (let seen: number[] = []; ; seen = seen.slice(-20)) {
    await new Promise((resolve) => setTimeout(resolve, 250))
    seen.push(await connectionsOf(redis.client))
    if (seen.length > 20 && new Set(seen).size === 1) return seen[0] ?? 0
  }
}

/** Seconds until a job is taken up whose lane was marked, but for which nobody was woken. */
async function lostWake({ queues, redis }: Laneway, lane: number): Promise<number> {
  const begunAt = performance.now()
  // No message: it is set aside as soon as a worker reads it, and the sink counts nothing.
  await queues.queueOf(lane).add('send', { v: 99 }, { jobId: `msg_${lane}_${newUlid(Date.now())}` })
  await markLane(redis.client, lane)
  await until('the job is found', 30_000, async () => ((await queues.counts(lane)).failed ?? 0) > 0)
  return (performance.now() - begunAt) / 1_000
}
