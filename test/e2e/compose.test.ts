// The compose files without Docker: each service's command with its environment as a local process, names of services
// and folders of volumes mapped to this machine; then one message through all of them.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { becomes, sendImage } from '../support/calls.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { killAllNaming, startProcess } from '../support/processes.ts'
import { eventually } from '../support/wait.ts'
import { freePort } from '../testbed/free-port.ts'

const SERVICES = ['redis', 'producer', 'worker', 'simulator'] as const
type Service = (typeof SERVICES)[number]

const serviceSchema = z.object({
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  healthcheck: z.object({ test: z.array(z.string()) }).optional(),
  read_only: z.boolean().optional(),
  cap_drop: z.array(z.string()).optional(),
})
const read = (file: string) =>
  z
    .object({ services: z.partialRecord(z.enum(SERVICES), serviceSchema) })
    .parse(parse(readFileSync(file, 'utf8'), { merge: true })).services

const production = read('docker-compose.yml')
const demo = read('docker-compose.demo.yml')

/** A service as Docker merges the two files. */
function service(name: Service) {
  const { command = [], healthcheck } = { ...production[name], ...demo[name] }
  const environment = { ...production[name]?.environment, ...demo[name]?.environment }
  return {
    command: production[name]?.command ?? command,
    healthcheck: production[name]?.healthcheck ?? healthcheck,
    environment,
  }
}

let dir: string
/** The port of each service inside its container, and the one it has here. */
let ports: Record<'3000' | '4010', number>
/** Inside its container each part has the port 9464 to itself. */
let metricsPorts: Record<string, number>

beforeEach(async () => {
  dir = mkdtempSync(join(tmpdir(), 'laneway-compose-'))
  ports = { 3000: await freePort(), 4010: await freePort() }
  metricsPorts = { producer: await freePort(), worker: await freePort() }
})
afterEach(async () => {
  await killAllNaming(dir)
  rmSync(dir, { recursive: true, force: true })
})

/** A value as it is on this machine: defaults filled in, names of services and ports replaced. */
function here(value: string): string {
  return value
    .replace(/\$\{\w+:-([^}]*)\}/g, '$1')
    .replace(
      /\b(producer|simulator):(3000|4010)\b/g,
      (_all, _name, port: keyof typeof ports) => `127.0.0.1:${ports[port]}`,
    )
    .replace(/^0\.0\.0\.0$/, '127.0.0.1')
    .replace(/^\/data$/, dir)
    .replace('/run/redis/', `${dir}/`)
    .replace(/^(3000|4010)$/, (port) => String(ports[port as keyof typeof ports]))
}

const environmentOf = (name: Service): Record<string, string> => ({
  ...Object.fromEntries(
    Object.entries(service(name).environment).map(([setting, value]) => [
      setting,
      value === '9464' ? String(metricsPorts[name]) : here(value),
    ]),
  ),
})

function run(name: Service, extraArgs: readonly string[] = [], env = environmentOf(name)) {
  const [command = '', ...args] = service(name).command
  // TEST_FOLDER marks the process as ours, for a service that has no folder of its own.
  return startProcess(command, [...args.map(here), ...extraArgs], { ...env, TEST_FOLDER: dir })
}

/** The service's own health check, as Docker would run it. */
async function healthy(name: Service): Promise<void> {
  const [kind, command = '', ...args] = service(name).healthcheck?.test ?? []
  expect(kind).toBe('CMD')
  const mapped = args.map((arg) =>
    here(arg)
      .replace('127.0.0.1:9464', `127.0.0.1:${metricsPorts[name]}`)
      .replace(/127\.0\.0\.1:(3000|4010)\b/, (_all, port: keyof typeof ports) => `127.0.0.1:${ports[port]}`),
  )
  await eventually(
    async () => (await startProcess(command, mapped, { TEST_FOLDER: dir }).ended).code === 0,
    `${name} is healthy`,
  )
}

test('the services of both compose files deliver one message, and stop in order', async () => {
  const redis = run('redis', ['--dir', dir])
  await healthy('redis')
  const [simulator, worker, producer] = [run('simulator'), run('worker'), run('producer')]
  const parts = [simulator, worker, producer]
  // Each check is a process, so none is made before it can be good.
  const says = (part: typeof worker, what: string) => eventually(async () => part.stdout().includes(what), what)
  await says(simulator, 'simulator.listening')
  await healthy('simulator')
  await says(producer, 'producer.started')
  await healthy('producer')
  await says(worker, 'worker.started')
  await healthy('worker')

  const env = environmentOf('producer')
  const cli = async (...args: string[]) => {
    const done = await runCli([...args, '--json'], env)
    expect(done).toMatchObject({ code: 0 })
    return documentIn(done.stdout) as Record<string, unknown>
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
  // On cloud-api read comes by webhook: from the simulator to the producer, signed with the secret both are given. It is the last of
  // the states: what comes before it may be over before anybody looks.
  await becomes(caller, await sendImage(caller), 'read')

  for (const part of parts) part.kill('SIGTERM')
  for (const part of parts) expect(await part.ended).toEqual({ code: 0, signal: null })
  redis.kill('SIGTERM')
  expect(await redis.ended).toEqual({ code: 0, signal: null })
})

test('without secrets the production services name what is missing and do not start', async () => {
  const redis = run('redis', ['--dir', dir])
  await healthy('redis')
  const parts = (['producer', 'worker'] as const).map((name) => {
    const { command = [], environment = {} } = production[name] ?? {}
    const [node = '', ...args] = command
    const mapped = Object.entries(environment).map(([setting, value]) => [setting, here(value)])
    const settings = { ...Object.fromEntries(mapped), LANEWAY_METRICS_PORT: '0', TEST_FOLDER: dir }
    return startProcess(node, args, settings)
  })
  for (const part of parts) {
    expect(await part.ended).toEqual({ code: 1, signal: null })
    for (const setting of ['LANEWAY_SECRET_KEYS', 'LANEWAY_PUBLIC_URL']) expect(part.stderr()).toContain(setting)
  }
  redis.kill('SIGTERM')
  await redis.ended
})

test('the Redis of docker-compose.yml has every setting that the promises rest on', () => {
  const command = (production.redis?.command ?? []).join(' ')
  for (const setting of ['--appendonly yes', '--appendfsync always', '--maxmemory-policy noeviction']) {
    expect(command).toContain(setting)
  }
})

test('every container of docker-compose.yml is read-only and has no capability', () => {
  for (const [name, { read_only, cap_drop }] of Object.entries(production)) {
    expect({ name, read_only, cap_drop }).toEqual({ name, read_only: true, cap_drop: ['ALL'] })
  }
  expect(Object.keys(production).sort()).toEqual(['producer', 'redis', 'worker'])
})

test('the Redis of docker-compose.yml has a socket for its group and no port', () => {
  const { command = [] } = production.redis ?? {}
  expect(command.join(' ')).toMatch(/--port 0 --unixsocket \/run\/redis\/redis\.sock --unixsocketperm 770$/)
})
