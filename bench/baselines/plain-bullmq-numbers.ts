// Baseline: the worker that one writes with BullMQ and undici for many numbers. Each number has a queue of its own with a
// limiter, and as many jobs at once as its pace takes at the provider's answer time. The result is kept in one hash. A job
// whose worker dies is sent again; nothing tells.
import { readFileSync } from 'node:fs'
import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Agent, request } from 'undici'
import { z } from 'zod'
import { answerQuestions } from '../child.ts'

const startSchema = z.object({
  redisUrl: z.string(),
  url: z.string(),
  ca: z.string().optional(),
  http2: z.boolean(),
  numbers: z.array(z.object({ queue: z.string(), id: z.string() })),
  /** Messages a second and number; 0 for no limit. */
  pace: z.number(),
  concurrency: z.number(),
})
/** Built once: building it for every message took half of this worker's CPU time. */
const answerSchema = z.object({ messages: z.tuple([z.object({ id: z.string() })]) })
const workers: Worker[] = []

async function start(options: z.infer<typeof startSchema>): Promise<void> {
  const { url, pace, concurrency, http2 } = options
  const redis = new Redis(options.redisUrl, { maxRetriesPerRequest: null, enableAutoPipelining: true })
  const connect = options.ca === undefined ? {} : { ca: readFileSync(options.ca) }
  const dispatcher = new Agent({ connect, allowH2: http2, ...(http2 && { pipelining: 100 }) })
  for (const { queue, id } of options.numbers) {
    const worker = new Worker(
      queue,
      async (job) => {
        const { to, template } = job.data
        const answer = await request(`${url}/v25.0/${id}/messages`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', authorization: 'Bearer token' },
          body: JSON.stringify({
            messaging_product: 'whatsapp',
            recipient_type: 'individual',
            to,
            type: 'template',
            template,
          }),
          dispatcher,
          // Without it undici puts one POST at a time on a connection of HTTP/2.
          ...(http2 && { idempotent: true }),
        })
        const { messages } = answerSchema.parse(await answer.body.json())
        await redis.hset(`message:${queue}:${job.id}`, { status: 'sent', provider_id: messages[0].id, to })
      },
      {
        connection: redis,
        concurrency,
        removeOnComplete: { count: 0 },
        ...(pace > 0 && { limiter: { max: pace, duration: 1_000 } }),
      },
    )
    workers.push(worker)
    await worker.waitUntilReady()
  }
}

answerQuestions({ start: (detail) => start(startSchema.parse(detail)) })
