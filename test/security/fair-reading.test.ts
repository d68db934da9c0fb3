// Pins: a few connections that always have something to be read keep nobody else waiting, and what a client asked for before
// it hung up is not worked on. Real: HTTP, Redis, producer in a process of its own.
import { connect, type Socket } from 'node:net'
import { setTimeout as after } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type HostileGround, startHostileGround } from '../support/hostile-producer.ts'

let ground: HostileGround
beforeAll(async () => {
  ground = await startHostileGround()
})
afterAll(() => ground?.stop())

const ANSWERED_WITHIN_MS = 15_000

/** Keeps so many requests in flight on a connection until it is destroyed. */
function floodWith(request: string, pipelined: number): Socket {
  const { hostname, port } = new URL(ground.url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.on('data', (piece: Buffer) => {
    const answers = piece.toString('latin1').split('HTTP/1.1 ').length - 1
    if (answers > 0) socket.write(request.repeat(answers))
  })
  socket.write(request.repeat(pipelined))
  return socket
}

test('fifty connections that are full of requests do not keep a new one waiting', async () => {
  const flood = Array.from({ length: 50 }, () => floodWith('GET /x HTTP/1.1\r\nHost: x\r\n\r\n', 15))
  try {
    await after(500)
    for (let i = 0; i < 5; i += 1) {
      const answer = await fetch(`${ground.url}/healthz`, {
        headers: { connection: 'close' },
        signal: AbortSignal.timeout(ANSWERED_WITHIN_MS),
      })
      expect(answer.status).toBe(200)
    }
  } finally {
    for (const socket of flood) socket.destroy()
  }
})
