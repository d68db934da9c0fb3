// docker-compose.yml without Docker: each service's command with its environment as a local process, names of services
// and folders of volumes mapped to this machine; then one message through all of them.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { freePort } from '../../testbed/free-port.ts'
import { becomes, sendImage } from '../support/calls.ts'
import { runCli } from '../support/cli.ts'
import { nothingLeft, processesNaming, startProcess } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'

// Processes start in seconds, and on a busy machine in many.
vi.setConfig({ testTimeout: 400_000, hookTimeout: 400_000 })

const serviceSchema = z.object({
  command: z.array(z.string()),
  environment: z.record(z.string(), z.string()).default({}),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
})
const compose = z
  .object({ services: z.record(z.enum(['redis', 'producer', 'worker', 'simulator']), serviceSchema) })
  .parse(parse(readFileSync('docker-compose.yml', 'utf8'), { merge: true }))

let dir: string
/** The port of each service inside its container, and the one it has here. */
let ports: Record<'6379' | '3000' | '4010', number>

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'laneway-compose-'))
  ports = { 6379: await freePort(), 3000: await freePort(), 4010: await freePort() }
})
afterEach(async () => {
  for (const pid of processesNaming(dir)) process.kill(pid, 'SIGKILL')
  await nothingLeft(dir)
  rmSync(dir, { recursive: true, force: true })
})

/** A value as it is on this machine: defaults filled in, names of services and ports replaced. */
function here(value: string): string {
  return value
    .replace(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replace(
      /\b(redis|producer|simulator):(6379|3000|4010)\b/g,
      (_all, _name, port: keyof typeof ports) => `127.0.0.1:${ports[port]}`,
    )
    .replace(/^0\.0\.0\.0$/, '127.0.0.1')
    .replace(/^\/data$/, dir)
    .replace(/^(3000|4010)$/, (port) => String(ports[port as keyof typeof ports]))
}

const environmentOf = (service: keyof typeof compose.services): Record<string, string> =>
  Object.fromEntries(Object.entries(compose.services[service].environment).map(([name, value]) => [name, here(value)]))

function run(service: keyof typeof compose.services, extraArgs: readonly string[] = []) {
  const [command = '', ...args] = compose.services[service].command
  // TEST_FOLDER marks the process as ours, for a service that has no folder of its own.
  return startProcess(command, [...args, ...extraArgs], { ...environmentOf(service), TEST_FOLDER: dir })
}

/** The service's own health check, as Docker would run it. */
async function healthy(service: keyof typeof compose.services): Promise<void> {
  const [kind, command = '', ...args] = compose.services[service].healthcheck?.test ?? []
  expect(kind).toBe('CMD')
  const mapped = args.map((arg) =>
    arg.replace(/127\.0\.0\.1:(\d+)/, (_all, port: keyof typeof ports) => `127.0.0.1:${ports[port]}`),
  )
  const onPort = command === 'redis-cli' ? ['-p', String(ports[6379])] : []
  await eventually(
    async () => (await startProcess(command, [...onPort, ...mapped], { TEST_FOLDER: dir }).ended).code === 0,
    `${service} is healthy`,
  )
}

test('the services of docker-compose.yml pass one message through, and stop in order', async () => {
  const redis = run('redis', ['--port', String(ports[6379]), '--bind', '127.0.0.1', '--dir', dir])
  await healthy('redis')
  const parts = [run('simulator'), run('worker'), run('producer')]
  await healthy('simulator')
  await healthy('producer')

  const env = environmentOf('producer')
  const cli = async (...args: string[]) => {
    const done = await runCli([...args, '--json'], env)
    expect(done).toMatchObject({ code: 0 })
    return JSON.parse(done.stdout) as Record<string, unknown>
  }
  const { id } = await cli('accounts', 'create', 'Shop')
  const account = String(id)
  await cli(
    'senders',
    'add',
    '--account',
    account,
    '--number',
    '+447700900001',
    '--provider',
    'cloud-api',
    '--phone-number-id',
    '1001',
    '--base-url',
    here('http://simulator:4010'),
    '--token',
    'any',
  )
  const { key } = await cli('keys', 'create', '--account', account, '--permissions', 'messages:send,messages:read')

  const caller = { base_url: here('http://producer:3000'), api_key: String(key) }
  await eventually(async () => (await fetch(`${caller.base_url}/readyz`)).ok, 'a worker is alive')
  // On cloud-api delivered comes by webhook: from the simulator to the producer, signed with the secret both are given.
  await becomes(caller, await sendImage(caller), 'delivered')

  for (const part of parts) part.kill('SIGTERM')
  for (const part of parts) expect(await part.ended).toEqual({ code: 0, signal: null })
  redis.kill('SIGTERM')
  expect(await redis.ended).toEqual({ code: 0, signal: null })
})

test('the Redis of docker-compose.yml has every setting that the promises rest on', () => {
  const command = compose.services.redis.command.join(' ')
  for (const setting of ['--appendonly yes', '--appendfsync always', '--maxmemory-policy noeviction']) {
    expect(command).toContain(setting)
  }
})
