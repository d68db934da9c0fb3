// Pins: connections keep nobody else out, whether they do nothing, show a good key or one that was revoked, or begin bodies
// that never come; and who holds few keeps them. Bodies and wrong keys of some do not make others wait or fail either.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { Agent, get } from 'node:http'
import { connect, Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { z } from 'zod'
import { listCredentials, revokeCredential } from '../../src/accounts/credentials.ts'
import { holderOf } from '../../src/producer/overload/connections.ts'
import { type KeyedKind, startKeyedCrowd } from '../prove/hostile/crowd.ts'
import { askAsNewcomers } from '../prove/hostile/newcomers.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const bearer = (key: string): string => `authorization: Bearer ${key}`

/** What a producer has, and some more. */
const HOARD = 2_100
/** What the producer of the crowds with keys may have, a tenth: the shares are the same. And some more. */
const FEW = 200
const CROWD = 220
/** What a key of the attacker may do. */
const KEY_FOR = { lookups: 'messages:read', batches: 'messages:send' } as const

let service: Service
let tenant: Tenant
let limited: Service
beforeAll(async () => {
  const options = { worker: false, env: { LANEWAY_TRUSTED_PROXIES: '127.0.0.1' } }
  service = await startService(options)
  tenant = await service.addTenant()
  limited = await startService({ ...options, connectionsMax: FEW })
})
afterAll(async () => {
  await limited?.close()
  await service?.close()
})

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

test('2,100 connections without a key shut nobody else out, and close none that has sent a key', async () => {
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

test('a connection counts for the account of the last key sent on it, and without a valid key for the client’s address', async () => {
  const accepted: Socket[] = []
  const keep = (message: unknown): void => {
    accepted.push(z.object({ socket: z.instanceof(Socket) }).parse(message).socket)
  }
  subscribe('net.server.socket', keep)
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const { account, key } = await service.addTenant()
  const secret = await key('messages:read')
  const holderAfter = async (path: string, token?: string) => {
    const headers = {
      'x-forwarded-for': '203.0.113.9',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
    await new Promise((resolve, reject) => {
      const asking = get(service.url + path, { agent, headers }, (answer) => answer.resume().once('end', resolve))
      asking.once('error', reject)
    })
    expect(accepted).toHaveLength(1)
    return accepted.map(holderOf)[0]
  }
  try {
    const stranger = 'address 203.0.113.9'
    expect(await holderAfter('/healthz')).toBe(stranger)
    expect(await holderAfter('/messages?limit=1', secret)).toBe(`account ${account}`)
    expect(await holderAfter('/messages?limit=1', `${secret}x`)).toBe(stranger)
    expect(await holderAfter('/messages?limit=1', secret)).toBe(`account ${account}`)
    for (const { id } of await listCredentials(service.redis, account)) {
      await revokeCredential(service.redis, account, id)
    }
    await eventually(
      async () => (await holderAfter('/messages?limit=1', secret)) === stranger,
      'the revoked key is worth nothing',
    )
  } finally {
    unsubscribe('net.server.socket', keep)
    agent.destroy()
  }
})

describe.each<[string, { kind: KeyedKind; addresses: number; accounts?: number; keys: number }]>([
  ['lookups on many kept connections of one address', { kind: 'lookups', addresses: 1, keys: 1 }],
  [
    'lookups on many kept connections of 100 addresses, three accounts and ten keys of each',
    { kind: 'lookups', addresses: 100, accounts: 3, keys: 10 },
  ],
  ['many batches that never come of one address', { kind: 'batches', addresses: 1, keys: 1 }],
  ['many batches that never come of 100 addresses', { kind: 'batches', addresses: 100, keys: 1 }],
])('%s', (_name, { kind, addresses, accounts = 1, keys }) => {
  test('shut nobody else out, neither with valid keys nor after these were revoked', async () => {
    const neighbour = await limited.addTenant()
    const attackers = await Promise.all(Array.from({ length: accounts }, () => limited.addTenant()))
    const keysOf = ({ key }: Tenant) => Array.from({ length: keys }, () => key(KEY_FOR[kind]))
    const secrets = await Promise.all(attackers.flatMap(keysOf))
    const crowd = startKeyedCrowd(limited.url, CROWD, { kind, keys: secrets, addresses, everyMs: 1_000 })
    try {
      // Some are cut again and again, so that not all of them stand at the same moment.
      await eventually(async () => (await crowd.counts()).made > CROWD, 'all connections are taken', 30_000)
      const others = { apiKey: neighbour.apiKey, appSecret: 'app-secret' }
      const asked = { rounds: 10, perSecond: 10 }
      expect((await askAsNewcomers(limited.url, others, asked)).failures).toEqual({})
      for (const { account } of attackers) {
        const known = await listCredentials(limited.redis, account)
        await Promise.all(known.map(({ id }) => revokeCredential(limited.redis, account, id)))
      }
      await eventually(async () => ((await crowd.counts()).answers['401'] ?? 0) > 0, 'the keys are good for nothing')
      expect((await askAsNewcomers(limited.url, others, asked)).failures).toEqual({})
    } finally {
      await crowd.stop()
    }
  })
})

const BATCH = JSON.stringify({ messages: [{ x: 'y'.repeat(400_000) }] })
const headOf = (path: string, length: number, more: readonly string[] = []): string =>
  [
    `POST ${path} HTTP/1.1`,
    'host: x',
    'content-type: application/json',
    ...more,
    `content-length: ${length}`,
    '\r\n',
  ].join('\r\n')

describe('a batch of which half has arrived continues when more are begun than there is room for', () => {
  test.each([
    ['by strangers', 300, () => headOf('/chatappbusiness/fetchmessageinfo', 250_001), 250_000],
    ['by another account', 20, (key: string) => headOf('/messages/batch', 4_000_001, [bearer(key)]), 4_000_000],
  ])('%s', async (_who, count, head, bytes) => {
    const attacker = await service.addTenant()
    const batch = open()
    let answer = ''
    batch.setEncoding('latin1').on('data', (text: string) => {
      answer += text
    })
    batch.write(headOf('/messages/batch', BATCH.length, [bearer(tenant.apiKey)]) + BATCH.slice(0, 300_000))
    let refused = 0
    for (let n = 0; n < count; n += 1) {
      const half = open()
      half.setEncoding('latin1').on('data', (text: string) => {
        if (text.startsWith('HTTP/1.1 503')) refused += 1
      })
      half.write(head(attacker.apiKey))
      half.write(Buffer.alloc(bytes, ' '))
    }
    await eventually(async () => refused > 0 || answer !== '', 'some had to give up theirs', 30_000)
    batch.write(BATCH.slice(300_000))
    await eventually(async () => answer !== '', 'the batch is answered', 30_000)
    expect(answer).toMatch(/^HTTP\/1\.1 200 /)
  })
})

test('large requests with wrong keys, whose refusals are delayed, keep no other large request waiting', async () => {
  const wrong = JSON.stringify({ api_key: 'lw_wrong', message_id: 'none', x: 'y'.repeat(20_000) })
  const path = '/chatappbusiness/fetchmessageinfo'
  // There before, so that its request comes right after theirs: they are held back for 2 s at most.
  const known = open()
  await once(known, 'connect')
  let pending = 0
  const sent = Array.from({ length: 900 }, () => {
    pending += 1
    const socket = open()
    socket.once('data', () => {
      pending -= 1
    })
    return new Promise((resolve) => socket.write(headOf(path, wrong.length) + wrong, resolve))
  })
  await Promise.all(sent)
  const good = JSON.stringify({ api_key: tenant.apiKey, message_id: 'none' }) + ' '.repeat(20_000)
  const answered = once(known, 'data')
  known.write(headOf(path, good.length) + good)
  expect(String(await answered)).toMatch(/^HTTP\/1\.1 404 /)
  // In the order of their coming it would have been the last one.
  expect(pending).toBeGreaterThan(50)
})
