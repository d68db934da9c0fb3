// The floor as a contender: baselines/floor-numbers.ts on a Redis of the same settings. It shows how little a message must
// cost, and so how much of what Laneway takes is its own.
import { z } from 'zod'
import { startChild, WORKER_FLAGS } from './child.ts'
import { createLateRedis } from './late-redis.ts'
import { atOnceOf, PHONE_NUMBER_ID, type Start, waitingFor } from './many-numbers.ts'
import { startRedis } from './redis.ts'

/** Messages that are written to Redis together. */
const BATCH = 1_000

export const startFloor: Start = async ({ many, backlog, provider, dir, closing }) => {
  const { numbers: count, pace, workers, tls, category, redisLateMs } = many
  const redis = await startRedis(dir, closing)
  const late = createLateRedis(redisLateMs, closing)
  for (let i = 0; i < count; i += 1) {
    const jobs = [...waitingFor(many, i, backlog)].map((job, n) => ({ id: `m${i}-${n}`, content: JSON.stringify(job) }))
    for (let from = 0; from < backlog; from += BATCH) {
      const some = jobs.slice(from, from + BATCH)
      await redis.client.mset(some.flatMap(({ id, content }) => [`job:${id}`, content]))
      await redis.client.rpush(`lane:${i}`, ...some.map(({ id }) => id))
    }
  }
  const redisUrl = await late.through(redis.url)
  const children = await Promise.all(
    Array.from({ length: workers }, () => startChild('baselines/floor-numbers', WORKER_FLAGS)),
  )
  for (const child of children) closing.add(() => child.stop())
  // A number belongs to one worker: the floor shares no pace.
  const numbersOf = Array.from({ length: count }, (_, i) => ({ lane: i, id: String(PHONE_NUMBER_ID + i) }))
  const how = {
    ...{ redisUrl, url: provider.url, ca: provider.certificate?.path, http2: tls === 'h2' },
    ...{ pace, atOnce: atOnceOf(many), asksOptOuts: category !== 'utility' },
  }
  const startOne = (child: (typeof children)[number], at: number) =>
    child.ask('start', { ...how, numbers: numbersOf.filter(({ lane }) => lane % workers === at) }, z.unknown())
  await Promise.all(children.map(startOne))
  return {
    async release() {
      await late.begin()
      await Promise.all(children.map((child) => child.ask('release', undefined, z.unknown())))
    },
    workers: children.map(({ pid }) => pid),
    redis,
    lateRedis: late,
  }
}
