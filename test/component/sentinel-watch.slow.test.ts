// Pins: a connection to a Sentinel that went half open is made anew, so that a failover afterwards is noticed. Real: Redis.
// Stood in for: the Sentinel.
import { createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectWithRetry, type Redis, readyOrLate } from '../../src/redis/connect.ts'
import { type LaneRedis, startLaneRedis } from '../support/lane-redis.ts'
import { eventually } from '../support/wait.ts'

let lanes: LaneRedis
let redis: Redis
const silent = new Set<Socket>()
const asking = new Set<Socket>()
let asked = 0
/** Answers where the primary is, but not over connections that are `silent`. */
const sentinel = createServer((socket) => {
  asking.add(socket)
  socket.on('error', () => {})
  socket.on('close', () => asking.delete(socket))
  socket.on('data', (data) => {
    if (silent.has(socket)) return
    const { hostname, port } = new URL(lanes.server.url)
    for (const word of data
      .toString()
      .toLowerCase()
      .match(/get-master-addr-by-name|sentinels|setinfo|hello/g) ?? []) {
      if (word === 'sentinels') socket.write('*0\r\n')
      else if (word === 'get-master-addr-by-name') {
        asked += 1
        socket.write(`*2\r\n$${hostname.length}\r\n${hostname}\r\n$${port.length}\r\n${port}\r\n`)
      } else socket.write('+OK\r\n')
    }
  })
})

beforeAll(async () => {
  lanes = await startLaneRedis()
  await new Promise<void>((resolve) => sentinel.listen(0, '127.0.0.1', resolve))
  const address = sentinel.address()
  if (address === null || typeof address === 'string') throw new Error('no port')
  redis = connectWithRetry(`redis+sentinel://127.0.0.1:${address.port}/laneway`)
  await readyOrLate(redis, 300_000)
})
afterAll(async () => {
  redis?.disconnect()
  for (const socket of asking) socket.destroy()
  sentinel.close()
  await lanes?.close()
})

test('a Sentinel whose connection became half open is asked again over a new one', async () => {
  // The first was asked by the connection itself.
  await eventually(async () => asked > 2, 'the Sentinel is asked every second')
  for (const socket of asking) silent.add(socket)
  const before = asked
  await eventually(async () => asked > before, 'the Sentinel is asked again', 60_000)
  expect([...asking].some((socket) => !silent.has(socket))).toBe(true)
})
