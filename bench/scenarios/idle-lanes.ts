// What a large installation costs while nothing happens: a thousand lanes that have had messages and campaigns, four
// workers; and how long it takes until work is found that no worker was woken for.

import { markLane } from '../../src/lanes/due-lanes.ts'
import { newUlid } from '../../src/messages/message-id.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { rootKeys } from '../../src/redis/keys.ts'
import type { Bench } from '../bench.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { until } from '../part.ts'
import { cpuMs } from '../process-usage.ts'
import { type Figure, withGoal } from '../report.ts'

const LANES = 1_000
const WORKERS = 4
const SETTLE_MS = 20_000
const WATCH_MS = 60_000
const LOST_WAKES = 20

export async function idleLanes(bench: Bench): Promise<Figure[]> {
  const scenario = 'idle-lanes'
  bench.progress('starting')
  const laneway = await startLaneway(bench.rig, bench.dir, bench.closing, { lanes: LANES, workers: WORKERS })
  const { client } = laneway.redis
  // As if each had just ended a campaign.
  await Promise.all(laneway.laneIds.map((lane) => markLane(client, lane)))
  await client.sadd(rootKeys.campaignLanes, ...laneway.laneIds.map(String))
  bench.progress('settling')
  await new Promise((resolve) => setTimeout(resolve, SETTLE_MS))

  bench.progress('watching')
  const processes = [laneway.worker, ...laneway.others, laneway.producer, laneway.redis]
  const before = { commands: await commandsOf(client), cpu: processes.map(({ pid }) => cpuMs([pid])) }
  await new Promise((resolve) => setTimeout(resolve, WATCH_MS))
  const commands = ((await commandsOf(client)) - before.commands) / (WATCH_MS / 1_000)
  const shares = processes.map(({ pid }, i) => ((cpuMs([pid]) - (before.cpu[i] ?? 0)) / WATCH_MS) * 100)

  bench.progress('losing wake-ups')
  const found: number[] = []
  for (let i = 0; i < LOST_WAKES; i += 1) found.push(await lostWake(laneway, laneway.laneIds[i * 7] ?? 0))

  const what = `Redis commands of ${WORKERS} workers and a producer, ${LANES} idle lanes`
  return [
    withGoal({ scenario, what, value: commands, unit: '/s' }, '< 200'),
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

/** Seconds until a job is taken up whose lane was marked, but for which nobody was woken. */
async function lostWake({ queues, redis }: Laneway, lane: number): Promise<number> {
  const begunAt = performance.now()
  // No message: it is set aside as soon as a worker sees it, and the sink counts nothing.
  await queues.queueOf(lane).add('send', { v: 99 }, { jobId: `msg_${lane}_${newUlid(Date.now())}` })
  await markLane(redis.client, lane)
  await until('the job is found', 30_000, async () => ((await queues.counts(lane)).failed ?? 0) > 0)
  return (performance.now() - begunAt) / 1_000
}
