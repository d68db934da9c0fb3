// Pins that no client can hold the producer by what it does not send, or by what it goes on sending: a body too large
// is refused when that is known and not after its last byte, a slow one is given up, and who does not stop is cut off.
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { type Service, startService } from '../support/service.ts'

let service: Service
let socket: Socket
let received: string

beforeAll(async () => {
  service = await startService({ worker: false })
})
afterAll(() => service?.close())

beforeEach(async () => {
  received = ''
  const { hostname, port } = new URL(service.url)
  // It goes on sending when the other side has ended.
  socket = connect({ port: Number(port), host: hostname, allowHalfOpen: true })
  socket.on('data', (chunk) => {
    received += chunk.toString('latin1')
  })
  // Cutting a client off in the middle of its sending resets the connection.
  socket.on('error', () => {})
  await once(socket, 'connect')
})
afterEach(() => {
  vi.useRealTimers()
  socket.destroy()
})

const SEND = '/sendservicemessages/sendmessages'
const head = (path: string, ...headers: string[]) =>
  ['POST ', path, ' HTTP/1.1\r\nhost: x\r\n', ...headers.map((header) => `${header}\r\n`), '\r\n'].join('')
const JSON_TYPE = 'content-type: application/json'
/** Without what looks like one, a webhook is refused unread. */
const SIGNED = `x-hub-signature-256: sha256=${'0'.repeat(64)}`
const CHUNK = `10000\r\n${'x'.repeat(65_536)}\r\n`

/** Waits for the head of an answer, while the request is not over. */
const answer = async (): Promise<string> => {
  await vi.waitFor(() => expect(received).toContain('\r\n\r\n'), { timeout: 600_000 })
  return received.slice(0, received.indexOf('\r\n'))
}

describe('a body that is too large is refused', () => {
  test.each([SEND, '/webhooks/cloud-api'])('before it comes, when its length is given (%s)', async (path) => {
    socket.write(head(path, JSON_TYPE, SIGNED, 'content-length: 10000000000'))
    expect(await answer()).toBe('HTTP/1.1 413 Payload Too Large')
  })

  test.each([SEND, '/webhooks/cloud-api'])('while it comes, when its length is not given (%s)', async (path) => {
    socket.write(head(path, JSON_TYPE, SIGNED, 'transfer-encoding: chunked'))
    // 5 MB, more than any body may have; the chunk that says that this is all is never sent.
    for (let sent = 0; sent < 80; sent += 1) socket.write(CHUNK)
    expect(await answer()).toBe('HTTP/1.1 413 Payload Too Large')
  })

  test('and the connection stays usable when the client finishes its body', async () => {
    const body = 'x'.repeat(300_000)
    socket.write(head(SEND, JSON_TYPE, `content-length: ${body.length}`) + body)
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n')
    await vi.waitFor(() => expect(received).toContain('"alive"'), { timeout: 600_000 })
    expect(received).toMatch(/^HTTP\/1\.1 413 /)
  })
})

describe('time', () => {
  // The seconds are not waited for: only the timers of this process are wound forward.
  beforeEach(() => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  })

  test.each([
    ['its length told', 'content-length: 100'],
    ['its length not told', 'transfer-encoding: chunked'],
  ])('a body that never ends is given up after 30 seconds (%s)', async (_what, length) => {
    const arrived = once(socket, 'data')
    // 100-continue tells that the server has begun to read.
    socket.write(head(SEND, JSON_TYPE, length, 'expect: 100-continue'))
    await arrived
    received = ''
    await vi.advanceTimersByTimeAsync(29_000)
    expect(received).toBe('')
    await vi.advanceTimersByTimeAsync(2_000)
    expect(await answer()).toBe('HTTP/1.1 408 Request Timeout')
  })

  test.each([
    ['a route that takes no body', '/partners/wp-gallery/manage/files/1/restore', 401],
    ['an upload without a key', '/partners/wp-gallery/manage/files', 401],
    ['an address that is none', '/nowhere', 404],
    ['a wrong method', '/healthz', 405],
    ['a body that is too large', SEND, 413],
  ])('a client that keeps sending after the answer is cut off after 10 seconds (%s)', async (_what, path, status) => {
    socket.write(head(path, JSON_TYPE, 'transfer-encoding: chunked'))
    for (let sent = 0; sent < 8; sent += 1) socket.write(CHUNK)
    expect(await answer()).toContain(`HTTP/1.1 ${status} `)
    expect(socket.destroyed).toBe(false)
    await vi.advanceTimersByTimeAsync(11_000)
    // The system says so to a client that sends once more.
    await vi.waitFor(() => {
      if (!socket.destroyed) socket.write(CHUNK)
      expect(socket.destroyed).toBe(true)
    }, 300_000)
  })
})
