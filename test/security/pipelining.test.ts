// Pins: many requests, or chunks, that come in one go on one connection or on many are bounded before they cost others
// their turn; some are answered in their order.
import { once } from 'node:events'
import type { RequestListener } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { bind } from '../../src/producer/bind.ts'
import { createHttpServer } from '../../src/producer/http-server.ts'
import { heldBytes } from '../../src/producer/overload/large-bodies.ts'
import { route } from '../../src/producer/route.ts'
import { connectFailFast, type Redis } from '../../src/redis/connect.ts'
import { silentLog, startApp } from '../support/app.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { listen } from '../testbed/free-port.ts'

let redis: Redis
withOwnRedis(async (own) => {
  redis = own
}, connectFailFast)

const ends: (() => void)[] = []
afterEach(() => {
  for (const end of ends.splice(0)) end()
})

async function serve(
  listener: RequestListener,
): Promise<{ port: number; server: ReturnType<typeof createHttpServer> }> {
  const server = createHttpServer(listener, silentLog)
  ends.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return { server, port: await listen(server) }
}

function open(port: number): Socket {
  const socket = connect(port, '127.0.0.1')
  ends.push(() => socket.destroy())
  return socket.on('error', () => {}).resume()
}

const GET = 'GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'

test('a connection with more than 16 requests waiting for their answers is cut', async () => {
  let waiting = 0
  const { port } = await serve(({ socket }) => {
    if (!socket.destroyed) waiting += 1
  })
  const socket = open(port)
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write(GET.repeat(2_000))
  await closed
  expect(waiting).toBe(16)
})

test('connections that send many requests at the same moment are read over several turns', async () => {
  const CONNECTIONS = 100
  let thisTurn = 0
  let mostInATurn = 0
  let answered = 0
  let accepted = 0
  const { port, server } = await serve((_request, response) => {
    if (thisTurn === 0) {
      setImmediate(() => {
        thisTurn = 0
      })
    }
    thisTurn += 1
    mostInATurn = Math.max(mostInATurn, thisTurn)
    // What one costs, on a slow machine.
    const end = performance.now() + 0.2
    while (performance.now() < end);
    response.end()
  })
  server.on('connection', () => {
    accepted += 1
  })
  const sockets = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = open(port)
      await once(socket, 'connect')
      return socket.on('data', (bytes: Buffer) => {
        answered += bytes.toString('latin1').split('HTTP/1.1 200').length - 1
      })
    }),
  )
  await vi.waitFor(() => expect(accepted).toBe(CONNECTIONS), { timeout: 600_000 })
  for (const socket of sockets) socket.write(GET.repeat(10))
  await vi.waitFor(() => expect(answered).toBe(10 * CONNECTIONS), { timeout: 600_000 })
  // 128 of them, and the rest of one connection.
  expect(mostInATurn).toBeLessThan(200)
})

test('several requests sent together are all answered, in order', async () => {
  const { port } = await serve((request, response) => void response.end(request.url))
  const socket = open(port)
  let received = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text
  })
  const paths = Array.from({ length: 10 }, (_, n) => `/${n}`)
  const last = 'connection: close\r\n'
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n${path === '/9' ? last : ''}\r\n`).join(''))
  await once(socket, 'close')
  expect([...received.matchAll(/^(\/\d)/gm)].map(([path]) => path)).toEqual(paths)
})

/** A route that takes a body and answers when the test says so. */
const takesBody = route({
  method: 'post',
  path: '/bodies',
  summary: 'A test.',
  access: { in: 'open', why: 'a test' },
  body: { as: 'json', schema: z.looseObject({}) },
  answers: { 200: z.object({ status: z.literal(true) }) },
  examples: [],
})

async function startBodies(handle = async (): Promise<void> => {}) {
  const app = await startApp(
    redis,
    bind({ takesBody })({
      async takesBody() {
        await handle()
        return { body: { status: true } }
      },
    }),
  )
  ends.push(() => void app.close())
  return Number(new URL(app.url).port)
}

const head = (...headers: string[]) =>
  `${['POST /bodies HTTP/1.1', 'host: x', 'content-type: application/json', ...headers].join('\r\n')}\r\n\r\n`

async function answerTo(port: number, text: string): Promise<string> {
  const socket = open(port)
  let received = ''
  socket.setEncoding('latin1').on('data', (more: string) => {
    received += more
  })
  socket.write(text)
  await vi.waitFor(() => expect(received).toContain('\r\n\r\n'), { timeout: 600_000 })
  return received
}

test('a body in chunks of one byte is refused, one in chunks of a usual size is accepted', async () => {
  const port = await startBodies()
  const crumbs = await answerTo(port, head('transfer-encoding: chunked') + '1\r\n \r\n'.repeat(20_000))
  expect(crumbs).toMatch(/^HTTP\/1\.1 400 [\s\S]*"code":"invalid_body"/)
  const text = JSON.stringify({ x: 'y'.repeat(100_000) })
  const chunks = Array.from({ length: 1_001 }, (_, n) => text.slice(n * 100, n * 100 + 100)).filter(Boolean)
  const sent = chunks.map((chunk) => `${chunk.length.toString(16)}\r\n${chunk}\r\n`).join('')
  expect(await answerTo(port, `${head('transfer-encoding: chunked')}${sent}0\r\n\r\n`)).toMatch(/^HTTP\/1\.1 200 /)
})

test('a large body counts as held until its answer is sent, and is released when its client hangs up', async () => {
  const answers: (() => void)[] = []
  const port = await startBodies(() => new Promise((resolve) => answers.push(resolve)))
  const body = JSON.stringify({ x: 'y'.repeat(199_992) })
  const request = head(`content-length: ${body.length}`) + body
  const first = answerTo(port, request)
  await vi.waitFor(() => expect(answers).toHaveLength(1), 300_000)
  expect(heldBytes()).toBeGreaterThanOrEqual(200_000)
  answers[0]?.()
  expect(await first).toMatch(/^HTTP\/1\.1 200 /)
  await vi.waitFor(() => expect(heldBytes()).toBe(0), 300_000)
  // Four are worked on, one waits for its turn.
  const sockets = Array.from({ length: 5 }, () => open(port))
  for (const socket of sockets) socket.write(request)
  await vi.waitFor(() => expect(heldBytes()).toBeGreaterThanOrEqual(1_000_000), 300_000)
  await vi.waitFor(() => expect(answers).toHaveLength(5), 300_000)
  for (const socket of sockets) socket.destroy()
  await vi.waitFor(() => expect(heldBytes()).toBe(0), 300_000)
  for (const answer of answers) answer()
})
