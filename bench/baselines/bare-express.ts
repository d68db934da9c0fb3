// Baseline: the least that takes a message over HTTP with Express. It parses the body, acknowledges, keeps nothing.
import { createServer } from 'node:http'
import express from 'express'
import { listen } from '../../test/testbed/free-port.ts'
import { answerQuestions } from '../child.ts'

const app = express()
app.disable('x-powered-by')
app.disable('etag')
app.post('/send', express.json(), (request, response) => {
  const digits = String(request.body.to).slice(1)
  response.json({
    messaging_product: 'chatapp',
    contacts: [{ input: request.body.to, wa_id: digits }],
    messages: [{ id: 'msg_1_01KASB6ZT6R8J4V2S5N8XW3C7D' }],
  })
})

const server = createServer(app)
server.keepAliveTimeout = 65_000
const port = await listen(server)
answerQuestions({ port: async () => port })
