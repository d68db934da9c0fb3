// Baseline: the producer that one writes with Express and BullMQ. It parses the body, adds the job or the jobs,
// acknowledges.
import { createServer } from 'node:http'
import { Queue } from 'bullmq'
import express from 'express'
import { Redis } from 'ioredis'
import { z } from 'zod'
import { listen } from '../../test/testbed/free-port.ts'
import { answerQuestions } from '../child.ts'

async function start(redisUrl: string): Promise<number> {
  const queue = new Queue('send', { connection: new Redis(redisUrl, { maxRetriesPerRequest: null }) })
  await queue.waitUntilReady()
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.post('/send', express.json(), async (request, response) => {
    const { to, template } = request.body
    const job = await queue.add('send', { to, template })
    response.json({
      messaging_product: 'chatapp',
      contacts: [{ input: to, wa_id: String(to).slice(1) }],
      messages: [{ id: job.id }],
    })
  })
  app.post('/batch', express.json({ limit: '4mb' }), async (request, response) => {
    const messages: { to: string; template: object }[] = request.body.messages
    const jobs = await queue.addBulk(messages.map(({ to, template }) => ({ name: 'send', data: { to, template } })))
    response.json({ results: jobs.map(({ id }, index) => ({ index, id: `msg_${id}` })) })
  })
  const server = createServer(app)
  server.keepAliveTimeout = 65_000
  return listen(server)
}

answerQuestions({ listen: (detail) => start(z.string().parse(detail)) })
