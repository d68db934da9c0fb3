// Pins: a client that is answered before its body is there gets to read the answer, on a connection that is then closed in
// order, or used again where little was left to come; and no more than so much of the rest is read.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, Socket } from 'node:net'
import { afterAll, expect, test } from 'vitest'
import { z } from 'zod'
import { bind } from '../../src/producer/bind.ts'
import { ApiError } from '../../src/producer/errors.ts'
import { route } from '../../src/producer/route.ts'
import { connectFailFast } from '../../src/redis/connect.ts'
import { startApp } from '../support/app.ts'
import { withOwnRedis } from '../support/own-redis.ts'

const MB = 1024 * 1024

/** Refuses at once whatever comes, as where the key is wrong. */
const refusing = route({
  method: 'post',
  path: '/',
  summary: 'A test.',
  access: { in: 'open', why: 'a test' },
  body: { as: 'ignored' },
  answers: {},
  examples: [],
})

let app: Awaited<ReturnType<typeof startApp>>
let port: number
let url: string
const accepted: Socket[] = []
const keep = (message: unknown): void => {
  accepted.push(z.object({ socket: z.instanceof(Socket) }).parse(message).socket)
}
withOwnRedis(async (redis) => {
  const refuse = async () => {
    throw new ApiError(401, 'no', 'no')
  }
  app = await startApp(redis, bind({ refusing })({ refusing: refuse }))
  url = app.url
  port = Number(new URL(url).port)
  subscribe('net.server.socket', keep)
}, connectFailFast)
afterAll(async () => {
  unsubscribe('net.server.socket', keep)
  await app?.close()
})

const head = (...headers: string[]) =>
  `${['POST / HTTP/1.1', 'host: x', 'content-type: application/json', ...headers].join('\r\n')}\r\n\r\n`

/** Sends all of it before anything is read, as a client without a loop does. Gives what it reads then, to the end. */
async function sendThenRead(text: string, body: Buffer): Promise<{ received: string; failed: string | undefined }> {
  const socket = connect(port, '127.0.0.1')
  let failed: string | undefined
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failed = error.code
  })
  socket.pause()
  await new Promise<void>((resolve) => {
    socket.write(text)
    socket.write(body, () => resolve())
  })
  return { received: await readAll(socket), failed }
}

async function readAll(socket: Socket): Promise<string> {
  let received = ''
  socket.setEncoding('latin1').on('data', (text: string) => {
    received += text
  })
  socket.resume()
  await once(socket, 'close')
  return received
}

test.each([
  ['5 MB', 5 * MB, []],
  ['5 MB and wants the connection closed', 5 * MB, ['connection: close']],
  ['500 KB and wants the connection closed', MB / 2, ['connection: close']],
])('a client that sends all of %s before it reads gets the answer and no reset', async (_what, bytes, headers) => {
  const body = Buffer.alloc(bytes, 'x')
  const { received, failed } = await sendThenRead(head(`content-length: ${bytes}`, ...headers), body)
  expect(received).toMatch(/^HTTP\/1\.1 401 [\s\S]*connection: close[\s\S]*"code":"no"/i)
  expect(failed).toBeUndefined()
})

test('a client with a body in chunks gets the answer and no reset', async () => {
  const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`
  const { received, failed } = await sendThenRead(
    head('transfer-encoding: chunked'),
    Buffer.from(`${chunk.repeat(64)}0\r\n\r\n`),
  )
  expect(received).toMatch(/^HTTP\/1\.1 401 [\s\S]*connection: close[\s\S]*"code":"no"/i)
  expect(failed).toBeUndefined()
})

test('no more than a few MB are read of a body without end, and its client gets the answer', async () => {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  accepted.length = 0
  const piece = Buffer.alloc(MB, 'x')
  const send = (error?: Error | null): void => {
    if (!error) socket.write(piece, send)
  }
  let received = ''
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1')
  })
  socket.write(head('content-length: 10000000000'))
  send()
  await once(socket, 'end')
  const connection = accepted.find(({ remotePort }) => remotePort === socket.localPort)
  if (connection === undefined) throw new Error('no connection')
  expect(received).toMatch(/^HTTP\/1\.1 401 /)
  await new Promise<void>((resolve) => {
    let before = -1
    const look = setInterval(() => {
      if (connection.bytesRead === before && before > 4 * MB) {
        clearInterval(look)
        resolve()
      }
      before = connection.bytesRead
    }, 200)
  })
  expect(connection.bytesRead).toBeLessThan(12 * MB)
  connection.destroy()
  await closed
})

test('a request already on its way after such a body is not started', async () => {
  const next = 'POST /next HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n'
  const body = Buffer.concat([Buffer.alloc(2 * MB, 'x'), Buffer.from(next)])
  const { received } = await sendThenRead(head(`content-length: ${2 * MB}`), body)
  expect(received.match(/HTTP\/1\.1/g)).toHaveLength(1)
})

test('fetch gets every answer, one request after the other', async () => {
  for (let n = 0; n < 10; n += 1) {
    const answer = await fetch(url, { method: 'POST', body: Buffer.alloc(n % 2 === 0 ? 3 * MB : 1_000, 'x') })
    expect([answer.status, await answer.text()]).toEqual([401, expect.stringContaining('"no"')])
  }
})

test('an agent that keeps its connections gets every answer, one request after the other', async () => {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const post = (bytes: number) =>
    new Promise<number | undefined>((resolve, reject) => {
      const asking = request(url, { agent, method: 'POST', headers: { 'content-length': bytes } }, (answer) => {
        answer.resume().on('end', () => resolve(answer.statusCode))
      })
      asking.on('error', reject).end(Buffer.alloc(bytes, 'x'))
    })
  for (let n = 0; n < 10; n += 1) expect(await post(n % 2 === 0 ? 3 * MB : 300_000)).toBe(401)
  agent.destroy()
})
