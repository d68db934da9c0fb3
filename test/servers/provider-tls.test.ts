// Pins: requests to a provider go over TLS as they do over plain connections, share them, and never reach a server whose
// certificate is not trusted. Real: TLS and certificates.
import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createServer, type Server } from 'node:tls'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createHttpAgent } from '../../src/providers/http-agent.ts'
import { type HttpEnd, postJson } from '../../src/providers/http-call.ts'
import { httpAnswer, onRequest } from '../support/tcp-server.ts'

const dir = mkdtempSync(join(tmpdir(), 'laneway-provider-tls-'))
let server: Server
let port = 0
const requests: string[] = []
let connections = 0

beforeAll(async () => {
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const made = spawnSync(
    'openssl',
    [
      'req',
      '-x509',
      '-newkey',
      'rsa:2048',
      '-nodes',
      '-days',
      '1',
      ...subject,
      '-keyout',
      'key.pem',
      '-out',
      'cert.pem',
    ],
    { cwd: dir, encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(made.stderr)
  const [key, cert] = ['key.pem', 'cert.pem'].map((name) => readFileSync(join(dir, name)))
  server = createServer({ key, cert }, (socket) => {
    connections += 1
    socket.on('error', () => {})
    onRequest(socket, (request) => {
      requests.push(request)
      socket.write(httpAnswer(200, '{"x":"ä"}'))
    })
  })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  port = typeof address === 'object' && address !== null ? address.port : 0
})
afterAll(() => {
  server.close()
  rmSync(dir, { recursive: true, force: true })
})

const agent = createHttpAgent()
afterAll(() => agent.destroy())
const { NODE_TLS_REJECT_UNAUTHORIZED: asItWas = '1' } = process.env
afterEach(() => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = asItWas
})
const post = (host: string): Promise<HttpEnd> =>
  postJson(agent, new URL(`https://${host}:${port}/`), {}, { n: 1 }, 5_000)

test('a server whose certificate nobody vouches for hears nothing', async () => {
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '1'
  expect(await post('localhost')).toMatchObject({ kind: 'never_left' })
  expect(requests).toEqual([])
})

test('requests one after the other share a connection', async () => {
  // As a certificate that is trusted.
  process.env.NODE_TLS_REJECT_UNAUTHORIZED = '0'
  connections = 0
  for (let i = 0; i < 3; i += 1) {
    expect(await post('localhost')).toEqual({ kind: 'answer', status: 200, body: '{"x":"ä"}', retryAfterMs: undefined })
  }
  expect(requests).toHaveLength(3)
  expect(connections).toBe(1)
})
