// Pins: with the files of deploy/ a real nginx and a real Caddy pass on what a producer serves: sends, uploads larger than
// nginx's own limit, the live stream as it is written, the addresses of clients; and refuse the inside's addresses to others.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { type RequestOptions, request } from 'node:https'
import { connect } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential } from '../../src/accounts/credentials.ts'
import { OPERATOR } from '../../src/model/accounts/permissions.ts'
import { imageBody } from '../support/example-messages.ts'
import { startProcess, type TestProcess } from '../support/processes.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import { freePort } from '../testbed/free-port.ts'

/** Loopback addresses: of the inside, of a client outside, and of those that ask too often. */
const INSIDE = '127.0.0.10'
/** The machine itself, by both kinds of address. */
const ITSELF = ['127.0.0.1', '::1'] as const
const OUTSIDE = '127.0.0.20'
const LOUD = { nginx: '127.0.0.30', caddy: '127.0.0.31' }
/** Requests a second that an address may send. */
const RATE = 40
const GALLERY = '/partners/wp-gallery/manage'

let folder: string
let service: Service
let tenant: Tenant
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'laneway-proxy-'))
  service = await startService({
    worker: false,
    env: { LANEWAY_TRUSTED_PROXIES: '127.0.0.1', LANEWAY_LIMIT_ADDRESS_RATE: String(RATE) },
  })
  tenant = await service.addTenant()
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  const files = ['-keyout', join(folder, 'key.pem'), '-out', join(folder, 'cert.pem')]
  execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', ...name, ...files], {
    stdio: 'ignore',
  })
})
afterAll(async () => {
  await service?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** Changes what a person would change, and fails where the file does not have it any more. */
function adapted(path: string, changes: Readonly<Record<string, string>>): string {
  let text = readFileSync(path, 'utf8')
  for (const [from, to] of Object.entries(changes)) {
    expect(text, path).toContain(from)
    text = text.replaceAll(from, to)
  }
  return text
}

function startNginx(port: number, plainPort: number): TestProcess {
  const site = adapted('deploy/nginx/laneway.conf', {
    '127.0.0.1:3000': new URL(service.url).host,
    '10.0.0.0/8': `${INSIDE}/32`,
    'listen 443 ssl': `listen 127.0.0.1:${port} ssl`,
    'listen [::]:443 ssl': `listen [::1]:${port} ssl`,
    'listen 80': `listen 127.0.0.1:${plainPort}`,
    'listen [::]:80': `listen [::1]:${plainPort}`,
    '/etc/ssl/laneway/fullchain.pem': join(folder, 'cert.pem'),
    '/etc/ssl/laneway/privkey.pem': join(folder, 'key.pem'),
  })
  const place = join(folder, 'nginx')
  mkdirSync(place)
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map(
    (each) => `${each}_temp_path ${place}/${each};`,
  )
  const http = `http { access_log off; ${paths.join(' ')}\n${site}\n}`
  const main = `user ${userInfo().username}; daemon off; pid ${place}/pid; error_log stderr; events {}\n${http}`
  writeFileSync(join(place, 'nginx.conf'), main)
  return startProcess('nginx', ['-p', place, '-e', 'stderr', '-c', join(place, 'nginx.conf')], {})
}

function startCaddy(port: number): TestProcess {
  const site = adapted('deploy/caddy/Caddyfile', {
    '127.0.0.1:3000': new URL(service.url).host,
    '10.0.0.0/8': `${INSIDE}/32`,
    'laneway.example.com {': `https://localhost:${port} {\n\ttls ${folder}/cert.pem ${folder}/key.pem`,
  })
  writeFileSync(join(folder, 'Caddyfile'), `{\n\tadmin off\n\tauto_https disable_redirects\n}\n${site}`)
  return startProcess('caddy', ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')], {
    HOME: folder,
    XDG_DATA_HOME: folder,
    XDG_CONFIG_HOME: folder,
  })
}

describe.each(['nginx', 'caddy'] as const)('%s', (proxy) => {
  let port: number
  let running: TestProcess
  beforeAll(async () => {
    port = await freePort()
    running = proxy === 'nginx' ? startNginx(port, await freePort()) : startCaddy(port)
    await eventually(
      () =>
        new Promise<boolean>((resolve) => {
          const socket = connect(port, '127.0.0.1', () => resolve(socket.destroy() !== undefined))
          socket.on('error', () => resolve(false))
        }),
      `it listens: ${running.stderr()}`,
      20_000,
    )
  })
  afterAll(async () => {
    running?.kill('SIGTERM')
    await running?.ended
  })

  const ask = (
    path: string,
    { from = OUTSIDE, body, ...options }: RequestOptions & { from?: string; body?: string | Buffer } = {},
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const asking = request(
        {
          ...{ host: from === '::1' ? '::1' : '127.0.0.1', localAddress: from },
          ...{ servername: 'localhost', port, path, agent: false },
          ...{ rejectUnauthorized: false, ...options },
          headers: { host: `localhost:${port}`, ...options.headers },
        },
        resolve,
      )
      asking.on('error', reject).end(body)
    })
  async function textOf(answer: IncomingMessage): Promise<string> {
    let text = ''
    for await (const piece of answer) text += String(piece)
    return text
  }
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  const json = { 'content-type': 'application/json' }

  test('forwards a send', async () => {
    const body = JSON.stringify({ ...imageBody(), api_key: tenant.apiKey })
    const answer = await ask('/sendservicemessages/sendmessages', { method: 'POST', headers: json, body })
    expect([answer.statusCode, await textOf(answer)]).toEqual([200, expect.stringContaining('msg_')])
  })

  test('forwards a batch of 3 MB, and an upload of 8 MB as it arrives', async () => {
    const messages = Array.from({ length: 900 }, () => ({ ...imageBody(), api_key: undefined, x: 'y'.repeat(3_000) }))
    const batch = JSON.stringify({ messages })
    const sent = await ask('/messages/batch', {
      ...{ method: 'POST', body: batch },
      headers: { ...json, ...bearer(tenant.apiKey), 'content-length': Buffer.byteLength(batch) },
    })
    expect([sent.statusCode, (await textOf(sent)).slice(0, 200)]).toEqual([200, expect.stringContaining('results')])

    const key = bearer(await tenant.key('gallery'))
    const made = await ask(`${GALLERY}/folders`, {
      ...{ method: 'POST', headers: { ...json, ...key } },
      body: JSON.stringify({ name: `by ${proxy}` }),
    })
    const { data } = z.object({ data: z.object({ id: z.number() }) }).parse(JSON.parse(await textOf(made)))
    const field = (name: string, more = '') => `--b\r\ncontent-disposition: form-data; name="${name}"${more}\r\n\r\n`
    const form = Buffer.from(
      `${field('folder_id')}${data.id}\r\n${field('file', '; filename="x.txt"')}${`a line of ${proxy}\n`.repeat(500_000)}\r\n--b--\r\n`,
    )
    const uploaded = await ask(`${GALLERY}/files`, {
      ...{ method: 'POST', body: form },
      headers: { ...key, 'content-type': 'multipart/form-data; boundary=b', 'content-length': form.length },
    })
    expect([uploaded.statusCode, await textOf(uploaded)]).toEqual([
      expect.toSatisfy((status) => status === 200 || status === 201),
      expect.stringContaining('"success":true'),
    ])
  })

  test('forwards the live stream as it is written', async () => {
    const stream = await ask('/console/stream', { from: INSIDE, headers: bearer(tenant.apiKey) })
    expect(stream.statusCode).toBe(200)
    let events = 0
    stream.on('data', (piece: Buffer) => {
      events += piece.toString().split('\n\n').length - 1
    })
    await eventually(async () => events >= 3, 'three events have come, of an answer without an end', 10_000)
    stream.destroy()
  })

  test('hides internal paths from others, and serves them to the machine itself, by IPv6 too', async () => {
    const { secret } = await createCredential(service.redis, 0, [OPERATOR], Date.now())
    for (const path of ['/', '/console', '/console/stream', '/dashboard/', '/admin/lanes', '/metrics', '/docs']) {
      expect([path, (await ask(path, { headers: bearer(secret) })).statusCode]).toEqual([path, 403])
    }
    for (const from of ITSELF) {
      for (const [path, status] of [
        ['/healthz', 200],
        ['/console', 200],
      ] as const) {
        expect([from, path, (await ask(path, { from })).statusCode]).toEqual([from, path, status])
      }
    }
    const lanes = await ask(`/admin/lanes?account=${tenant.account}`, { from: INSIDE, headers: bearer(secret) })
    expect(lanes.statusCode).toBe(200)
    // Signed or not is the producer's to say.
    const webhook = await ask('/webhooks/cloud-api', { method: 'POST', headers: json, body: '{}' })
    expect(webhook.statusCode).toBe(401)
  })

  test('gives the producer the address of each client, whatever the client claims', async () => {
    const many = async (from: string) =>
      Promise.all(
        Array.from({ length: 2 * RATE }, (_, n) =>
          ask('/nowhere', { from, headers: { 'x-forwarded-for': `203.0.113.${n}` } }),
        ),
      )
    // A bucket of its own for a client that has not asked yet; those who write addresses of their own gain nothing.
    // A busy machine may spread them over several seconds, each of which has its own count.
    const isLimited = async () => (await many(LOUD[proxy])).some(({ statusCode }) => statusCode === 429) || undefined
    const [, quiet] = await Promise.all([eventually(isLimited, 'one of them is refused'), ask('/nowhere')])
    expect(quiet.statusCode).toBe(404)
  })
})
