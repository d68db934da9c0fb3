// Baseline for lookups: Express, one HGETALL of the record, and what it holds as the answer. No credential, no owner.
import { createServer } from 'node:http'
import express from 'express'
import { Redis } from 'ioredis'
import { z } from 'zod'
import { listen } from '../../test/testbed/free-port.ts'
import { answerQuestions } from '../child.ts'

async function start(redisUrl: string): Promise<number> {
  const redis = new Redis(redisUrl)
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.post('/lookup', express.json(), async (request, response) => {
    const record = await redis.hgetall(`message:${request.body.message_id}`)
    if (record.status === undefined) response.status(404).json({ status: false, message: 'unknown message' })
    else response.json({ status: true, message: { status: record.status, error_message: record.error ?? null } })
  })
  const server = createServer(app)
  server.keepAliveTimeout = 65_000
  return listen(server)
}

answerQuestions({ listen: (detail) => start(z.string().parse(detail)) })
