// Pins: Laneway works with a Redis that is reached by TLS alone, under a user of its own and a password, as hosted ones
// are. Real: Redis with TLS and ACL, certificates, `npm start`. Stood in for: WhatsApp.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { becomes, sendImage } from '../support/calls.ts'
import { launchLaneway, startLaneway, testInFolder } from '../support/laneway.ts'
import { freePort } from '../testbed/free-port.ts'
import { type RedisServer, startRedisServer } from '../testbed/redis-server.ts'

/** What Laneway may do there: everything but what only an operator needs. */
const RULES = ['on', '>right', '~*', '&*', '+@all', '-flushall', '-flushdb', '-shutdown', '-replicaof', '-acl']

const dir = mkdtempSync(join(tmpdir(), 'laneway-tls-'))
let redis: RedisServer
let tlsPort: number

/** A certificate for this machine, signed by itself. */
function makeCertificate(): void {
  const made = spawnSync(
    'openssl',
    [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '1', '-subj', '/CN=localhost'],
      ...['-addext', 'subjectAltName=DNS:localhost,IP:127.0.0.1', '-keyout', 'key.pem', '-out', 'cert.pem'],
    ],
    { cwd: dir, encoding: 'utf8' },
  )
  if (made.status !== 0) throw new Error(made.stderr)
}

beforeAll(async () => {
  makeCertificate()
  tlsPort = await freePort()
  redis = await startRedisServer(dir, {
    settings: {
      'tls-port': String(tlsPort),
      'tls-cert-file': join(dir, 'cert.pem'),
      'tls-key-file': join(dir, 'key.pem'),
      'tls-ca-cert-file': join(dir, 'cert.pem'),
      'tls-auth-clients': 'no',
    },
  })
  const admin = connectWithRetry(redis.url)
  await admin.call('ACL', 'SETUSER', 'laneway', ...RULES)
  await admin.call('ACL', 'SETUSER', 'default', 'off')
  admin.disconnect()
})
afterAll(async () => {
  await redis?.stop()
  rmSync(dir, { recursive: true, force: true })
})

const urlWith = (password: string) => `rediss://laneway:${password}@localhost:${tlsPort}`
const trusting = () => ({ NODE_EXTRA_CA_CERTS: join(dir, 'cert.pem') })

testInFolder('messages are sent through a Redis with TLS, a user and a password', async ({ dataDir }) => {
  const { demo, process: started } = await startLaneway(dataDir, { ...trusting(), REDIS_URL: urlWith('right') })
  await becomes(demo, await sendImage(demo), 'delivered')
  started.kill('SIGTERM')
  expect(await started.ended).toEqual({ code: 0, signal: null })
  expect(started.stderr()).toBe('')
})

for (const [what, url, env] of [
  ['a wrong password', () => urlWith('wrong'), trusting],
  ['a certificate that nobody vouches for', () => urlWith('right'), () => ({})],
] as const) {
  testInFolder(`a start with ${what} is refused in one sentence without the password`, async ({ dataDir }) => {
    const started = launchLaneway(dataDir, { ...env(), REDIS_URL: url() })
    expect(await started.ended).toEqual({ code: 1, signal: null })
    expect(started.stderr().trim()).toMatch(/^The Redis of REDIS_URL \(localhost:\d+\) .+\.$/)
    expect(started.stderr()).not.toMatch(/right|wrong\b.*@/)
  })
}
