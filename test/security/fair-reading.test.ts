// Pins: a few connections that always have something to be read keep nobody else waiting, and what a client asked for before
// it hung up is not worked on. Real: HTTP, Redis, producer in a process of its own.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HostileGround, startHostileGround } from '../support/hostile-producer.ts'

let ground: HostileGround
beforeAll(async () => {
  ground = await startHostileGround()
})
afterAll(() => ground?.stop())

const CONNECTIONS = 50
const PIPELINED = 15
/** A new connection waits until a round ends, and for its turn in the next one. */
const ROUNDS = 3

let answered = 0
/** Keeps so many requests in flight on a connection until it is destroyed, and counts their answers. */
function floodWith(request: string, pipelined: number): Socket {
  const { hostname, port } = new URL(ground.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.on('data', (piece: Buffer) => {
    const answers = piece.toString('latin1').split('HTTP/1.1 ').length - 1
    answered += answers
    if (answers > 0) socket.write(request.repeat(answers))
  })
  socket.write(request.repeat(pipelined))
  return socket
}

test('fifty connections that are full of requests have a few turns each while a new one waits', async () => {
  const request = 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n'
  const flood = Array.from({ length: CONNECTIONS }, () => floodWith(request, PIPELINED))
  try {
    // Until all of them are open and have had their first turns.
    await expect.poll(() => answered, { timeout: 30_000 }).toBeGreaterThan(10 * CONNECTIONS * PIPELINED)
    for (let i = 0; i < 5; i += 1) {
      const before = answered
      const alone = floodWith('GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 1)
      const [answer] = await once(alone, 'data')
      expect(String(answer)).toContain(' 200 OK')
      expect(answered - before).toBeLessThan(ROUNDS * CONNECTIONS * PIPELINED)
    }
  } finally {
    for (const socket of flood) socket.destroy()
  }
})

test('connections that are full of requests go on being read beside one that says nothing', async () => {
  const request = 'GET /x HTTP/1.1\r\nHost: x\r\n\r\n'
  const silent = floodWith('', 0)
  try {
    // Of different sizes, since the budget has to end with the last of those that have something to be read.
    for (let connections = 9; connections <= 16; connections += 1) {
      const before = answered
      const flood = Array.from({ length: connections }, () => floodWith(request, PIPELINED))
      await expect.poll(() => answered - before, { timeout: 30_000 }).toBeGreaterThan(10 * connections * PIPELINED)
      for (const socket of flood) socket.destroy()
    }
  } finally {
    silent.destroy()
  }
})
