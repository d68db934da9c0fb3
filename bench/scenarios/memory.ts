// What a message takes in Redis while it waits and once it is finished; and what producer and worker take while they
// accept and send as fast as they can, and whether that grows.
import type { Bench } from '../bench.ts'
import { send, sinkGets, watchSink } from '../contender.ts'
import { type Laneway, startLaneway } from '../laneway.ts'
import { until } from '../part.ts'
import { rssMb } from '../process-usage.ts'
import { usedMemory } from '../redis.ts'
import { type Figure, withGoal } from '../report.ts'
import { median } from '../statistics.ts'

const MESSAGES = 50_000

export async function memory(bench: Bench): Promise<Figure[]> {
  const bytes = await bytesInRedis(bench, await start(bench, 'bytes'))
  return [...bytes, ...(await residentMemory(bench, await start(bench, 'resident')))]
}

/** Two of them: what batches leave behind in a producer would otherwise be counted as memory of single messages. */
const start = ({ rig, dir, closing, profile }: Bench, name: string): Promise<Laneway> =>
  startLaneway(rig, `${dir}/${name}`, closing, { profile })

async function bytesInRedis(bench: Bench, laneway: Laneway): Promise<Figure[]> {
  const { rig } = bench
  const { client } = laneway.redis
  bench.progress('bytes per message in Redis')
  await laneway.hold()
  await watchSink(rig)
  const empty = await usedMemory(client)
  const load = { port: laneway.port, connections: 4, traffic: laneway.batch(1_000), requests: MESSAGES / 1_000 }
  await send(rig, load)
  const waiting = await usedMemory(client)
  await laneway.release()
  await sinkGets(rig, MESSAGES)
  // The sink has the last message a moment before its record is settled and its job is gone.
  const jobs = 'lw:{l1}:lane-1:active'
  await until('the lane is empty', 10_000, async () => (await client.llen(jobs)) === 0)
  const finished = await usedMemory(client)
  const per = (what: string, bytes: number): Figure => ({
    scenario: 'memory',
    what: `Redis, per ${what} message of 200 characters`,
    value: bytes / MESSAGES,
    unit: 'bytes',
  })
  return [withGoal(per('waiting', waiting - empty), '< 1101'), withGoal(per('finished', finished - empty), '< 481')]
}

/** Loads in bursts, and sends each before the next: a backlog that grows for minutes would measure the machine. */
async function residentMemory(bench: Bench, laneway: Laneway): Promise<Figure[]> {
  const { rig } = bench
  const minutes = bench.full ? 10 : 1
  const parts = [
    { name: 'producer', pid: laneway.producer.pid, limit: 150, samples: [] as number[] },
    { name: 'worker', pid: laneway.worker.pid, limit: 200, samples: [] as number[] },
  ]
  const sampling = setInterval(() => {
    for (const part of parts) part.samples.push(rssMb(part.pid))
  }, 500)
  const end = performance.now() + minutes * 60_000
  while (performance.now() < end) {
    bench.progress(`resident memory, ${Math.ceil((end - performance.now()) / 1_000)} s left`)
    await watchSink(rig)
    const { messages } = await send(rig, { port: laneway.port, connections: 64, traffic: laneway.traffic, ms: 5_000 })
    await sinkGets(rig, messages)
  }
  clearInterval(sampling)
  return parts.flatMap(({ name, limit, samples }) => {
    const third = Math.floor(samples.length / 3)
    const growth = median(samples.slice(-third)) / median(samples.slice(third, 2 * third)) - 1
    const what = `${name} under full load, ${minutes} min`
    return [
      withGoal({ scenario: 'memory', what: `${what}, most`, value: Math.max(...samples), unit: 'MB' }, `< ${limit}`),
      withGoal({ scenario: 'memory', what: `${what}, last third over second`, value: growth * 100, unit: '%' }, '< 5'),
    ]
  })
}
