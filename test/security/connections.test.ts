// Pins: connections that do nothing keep nobody else out, whoever has shown a key keeps the own one, and silence in the
// middle of a request is not waited for.
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 })

/** What a producer has, and some more. */
const HOARD = 2_100

let service: Service
let tenant: Tenant
beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant()
})
afterAll(() => service?.close())

const sockets: Socket[] = []
afterEach(() => {
  vi.useRealTimers()
  for (const socket of sockets.splice(0)) socket.destroy()
})

function open(localAddress = '127.0.0.1'): Socket {
  const { hostname, port } = new URL(service.url)
  const socket = connect({ host: hostname, port: Number(port), localAddress })
  socket.on('error', () => {}).resume()
  sockets.push(socket)
  return socket
}

/** Status of a request from that address; the error where there is no answer. */
const healthz = (localAddress: string, agent: Agent): Promise<number | string> =>
  new Promise((resolve) => {
    get(`${service.url}/healthz`, { localAddress, agent }, (response) => {
      response.resume().once('end', () => resolve(response.statusCode ?? 0))
    }).once('error', ({ message }) => resolve(message))
  })

test('2,100 connections without a key keep nobody else out, and close none that has shown one', async () => {
  const known = open()
  const lookup = JSON.stringify({ api_key: tenant.apiKey, message_id: 'none' })
  const head = 'POST /chatappbusiness/fetchmessageinfo HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\n'
  const ask = async (): Promise<void> => {
    const answered = once(known, 'data')
    known.write(`${head}content-length: ${lookup.length}\r\n\r\n${lookup}`)
    await answered
  }
  await ask()
  const neighbour = new Agent({ keepAlive: true, maxSockets: 1 })
  expect(await healthz('127.0.0.2', neighbour)).toBe(200)

  for (let n = 0; n < HOARD; n += 100) {
    await Promise.all(Array.from({ length: 100 }, () => once(open(), 'connect')))
  }
  await eventually(async () => sockets.filter(({ destroyed }) => !destroyed).length <= 2_000, 'some made room')
  // A new connection for each.
  for (let n = 0; n < 20; n += 1) {
    expect(await healthz('127.0.0.2', new Agent({ keepAlive: false }))).toBe(200)
  }
  // And the one that has been there all the time, as of an address that has few.
  expect(await healthz('127.0.0.2', neighbour)).toBe(200)
  await ask()
  expect(known.destroyed).toBe(false)
  neighbour.destroy()
})
