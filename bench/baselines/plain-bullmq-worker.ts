// Baseline: the worker that one writes with BullMQ and undici. It calls the provider and keeps the result in one hash.
// A job whose worker dies is sent again; nothing tells.
import { Worker } from 'bullmq'
import { Redis } from 'ioredis'
import { Agent, request } from 'undici'
import { z } from 'zod'
import { answerQuestions } from '../child.ts'

const startSchema = z.object({
  redisUrl: z.string(),
  sinkPort: z.number(),
  concurrency: z.number(),
  /** Connections to the provider; 0 for as many as are needed. */
  connections: z.number(),
  /** Whether ioredis sends the commands of one event-loop tick together. */
  autoPipelining: z.boolean(),
})
/** Built once: building it for every message took half of this worker's CPU time. */
const answerSchema = z.object({ messages: z.tuple([z.object({ id: z.string() })]) })
let worker: Worker | undefined

async function start(options: z.infer<typeof startSchema>): Promise<void> {
  const redis = new Redis(options.redisUrl, {
    maxRetriesPerRequest: null,
    enableAutoPipelining: options.autoPipelining,
  })
  const dispatcher = new Agent(options.connections > 0 ? { connections: options.connections } : {})
  const url = `http://127.0.0.1:${options.sinkPort}/v25.0/1/messages`
  worker = new Worker(
    'send',
    async (job) => {
      const { to, template } = job.data
      const answer = await request(url, {
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
      })
      const { messages } = answerSchema.parse(await answer.body.json())
      await redis.hset(`message:${job.id}`, { status: 'sent', provider_id: messages[0].id, to })
    },
    { connection: redis, concurrency: options.concurrency, removeOnComplete: { count: 0 } },
  )
  await worker.waitUntilReady()
}

answerQuestions({
  start: (detail) => start(startSchema.parse(detail)),
  /** Ends the worker, so that another `start` can try other settings. */
  end: async () => worker?.close(),
})
