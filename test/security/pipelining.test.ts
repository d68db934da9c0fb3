// Pins: of the requests that one read of a connection holds, no more than a few are begun; the rest cost nothing.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect } from 'node:net'
import { expect, test, vi } from 'vitest'
import { createDispatch } from '../../src/producer/dispatch.ts'
import { ApiError } from '../../src/producer/errors.ts'
import { limit } from '../../src/producer/limits.ts'
import { type Body, readBytes } from '../../src/producer/read-bytes.ts'
import { createShares } from '../../src/producer/shares.ts'
import { listen } from '../../testbed/free-port.ts'
import { silentLog } from '../support/app.ts'

test('a flood of pipelined requests is cut after 16 that wait for their answers', async () => {
  let begun = 0
  const server = createServer(() => {})
  limit(server, silentLog)
  server.on('request', () => {
    begun += 1
  })
  const port = await listen(server)
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2_000))
  await closed
  expect(begun).toBe(17)
  server.close()
})

test('connections that bring many requests at the same moment are read over several turns', async () => {
  const CONNECTIONS = 100
  let thisTurn = 0
  let mostInATurn = 0
  let answered = 0
  let accepted = 0
  const held = createShares(64_000_000)
  const server = createServer(createDispatch((_request, response) => void response.end(), held))
  limit(server, silentLog)
  server.on('connection', () => {
    accepted += 1
  })
  server.on('request', () => {
    if (thisTurn === 0) {
      setImmediate(() => {
        thisTurn = 0
      })
    }
    thisTurn += 1
    mostInATurn = Math.max(mostInATurn, thisTurn)
    // What reading one costs, on a slow machine.
    const end = performance.now() + 0.2
    while (performance.now() < end);
  })
  const port = await listen(server)
  const sockets = await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect(port, '127.0.0.1')
      await once(socket, 'connect')
      return socket.on('data', (bytes: Buffer) => {
        answered += bytes.toString('latin1').split('HTTP/1.1 200').length - 1
      })
    }),
  )
  await vi.waitFor(() => expect(accepted).toBe(CONNECTIONS), { timeout: 30_000 })
  for (const socket of sockets) socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(10))
  await vi.waitFor(() => expect(answered).toBe(10 * CONNECTIONS), { timeout: 30_000 })
  // 10 ms of them, 64 more, and the rest of one connection.
  expect(mostInATurn).toBeLessThan(200)
  for (const socket of sockets) socket.destroy()
  server.close()
})

test('some requests in one go are all answered, in their order', async () => {
  const server = createServer((request, response) => void response.end(request.url))
  limit(server, silentLog)
  const port = await listen(server)
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.setEncoding('utf8').on('data', (text: string) => {
    received += text
  })
  const paths = Array.from({ length: 10 }, (_, n) => `/${n}`)
  const last = 'connection: close\r\n'
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n${path === '/9' ? last : ''}\r\n`).join(''))
  await once(socket, 'close')
  expect([...received.matchAll(/^(\/\d)/gm)].map(([path]) => path)).toEqual(paths)
  server.close()
})

test('of a body that comes in chunks of one byte, no more than some hundred are taken', async () => {
  let taken = 0
  const held = createShares(1_000_000)
  let code = ''
  const server = createServer((request, response) => {
    request.on('data', () => {
      taken += 1
    })
    readBytes(request, response, { limit: 300_000, count: undefined, held }).catch((error: unknown) => {
      code = error instanceof ApiError ? error.code : String(error)
      response.end()
    })
  })
  limit(server, silentLog)
  const port = await listen(server)
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  const closed = new Promise((resolve) => socket.once('close', resolve))
  socket.resume()
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${'1\r\nx\r\n'.repeat(20_000)}`)
  await closed
  // Fewer where the machine is busy with something else; whose fault that is cannot be told.
  expect(['invalid_body', 'overloaded']).toContain(code)
  expect(taken).toBeLessThanOrEqual(512)
  // The connections after it are read as ever: parsers are used again.
  for (let n = 0; n < 5; n += 1) {
    taken = 0
    const url = `http://127.0.0.1:${port}`
    void fetch(url, { method: 'POST', body: 'x'.repeat(1_000) }).catch(() => {})
    await vi.waitFor(() => expect(taken).toBeGreaterThan(0), { timeout: 30_000 })
  }
  server.closeAllConnections()
  server.close()
})

test('of a connection one request is answered at a time, and those of others are not kept waiting by it', async () => {
  const begun: string[] = []
  const answers: (() => void)[] = []
  const held = createShares(1_000_000)
  const server = createServer(
    createDispatch((request, response) => {
      begun.push(String(request.url))
      answers.push(() => response.end())
    }, held),
  )
  limit(server, silentLog)
  const port = await listen(server)
  const socket = connect(port, '127.0.0.1')
  socket.resume()
  socket.write(['/1', '/2', '/3'].map((path) => `GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`).join(''))
  await vi.waitFor(() => expect(held.held()).toBe(65_536))
  const other = fetch(`http://127.0.0.1:${port}/other`)
  await vi.waitFor(() => expect(begun).toEqual(['/1', '/other']))
  answers[1]?.()
  expect((await other).status).toBe(200)
  answers[0]?.()
  await vi.waitFor(() => expect(begun).toEqual(['/1', '/other', '/2']))
  answers[2]?.()
  await vi.waitFor(() => expect(begun.at(-1)).toBe('/3'))
  expect(held.held()).toBe(0)
  socket.destroy()
  server.closeAllConnections()
  server.close()
})

test('requests that wait behind another one count as held, and make room when they are too many', async () => {
  const held = createShares(100_000)
  const server = createServer(createDispatch(() => {}, held))
  limit(server, silentLog)
  const port = await listen(server)
  const open = () => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {}).resume()
    socket.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(2))
    return socket
  }
  const first = open()
  await vi.waitFor(() => expect(held.held()).toBe(65_536))
  const cut = once(first, 'close')
  const second = open()
  await cut
  expect(held.held()).toBe(65_536)
  second.destroy()
  await vi.waitFor(() => expect(held.held()).toBe(0))
  server.close()
})

test('the bytes of a body whose client has gone are let go of, although its work still waits', async () => {
  const held = createShares(1_000_000)
  const bodies: Body[] = []
  const server = createServer((request, response) => {
    void readBytes(request, response, { limit: 300_000, count: undefined, held }).then((body) => bodies.push(body))
  })
  limit(server, silentLog)
  const port = await listen(server)
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => {})
  socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 200000\r\n\r\n${'x'.repeat(200_000)}`)
  await vi.waitFor(() => expect(bodies.length).toBe(1))
  expect(held.held()).toBe(200_000)
  socket.destroy()
  await vi.waitFor(() => expect(held.held()).toBe(0))
  expect(bodies[0]?.take().length).toBe(0)
  server.close()
})
