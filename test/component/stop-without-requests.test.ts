// Pins: a producer that stops does not wait for connections on which nobody has asked anything, as browsers open them ahead, and still
// answers a request that has begun. Real: HTTP.
import { once } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, test } from 'vitest'
import { createHttpServer } from '../../src/producer/http-server.ts'
import { silentLog } from '../support/app.ts'
import { eventually } from '../support/wait.ts'
import { listen } from '../testbed/free-port.ts'

const sockets: Socket[] = []
afterEach(() => {
  for (const socket of sockets.splice(0)) socket.destroy()
})

test('connections without a request are closed, and one whose request has begun is answered', async () => {
  const server = createHttpServer(
    (_request: IncomingMessage, response: ServerResponse) => response.end('whole'),
    silentLog,
  )
  const port = await listen(server)
  const opened = async () => {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    await once(socket, 'connect')
    return socket
  }
  const silent = await Promise.all([opened(), opened(), opened()])
  const begun = await opened()
  begun.write('GET / HTTP/1.1\r\n')
  let isClosed = false
  const ends = Promise.all(silent.map((socket) => once(socket.resume(), 'close'))).then(() => 'silent ones')
  // Each is accepted before a stop can look at it.
  const count = () => new Promise<number>((resolve) => server.getConnections((_error, found) => resolve(found)))
  await eventually(async () => (await count()) === 4 || undefined, 'the server has all of them')

  server.close(() => {
    isClosed = true
  })
  const looking = setInterval(() => server.closeIdleConnections(), 50)
  // Without a close of its own, Node cuts the one that has begun after half a minute, and the silent ones last.
  expect(await Promise.race([ends, once(begun, 'close').then(() => 'the one that has begun')])).toBe('silent ones')
  expect(isClosed).toBe(false)
  begun.write('Host: here\r\n\r\n')
  expect(await text(begun)).toMatch(/^HTTP\/1\.1 200 [\s\S]*connection: close[\s\S]*whole$/i)
  await eventually(async () => isClosed || undefined, 'the server is closed')
  clearInterval(looking)
})
