// Pins: the packed client installs, is small, its types hold for those who use it, and the example service runs with it
// against `npm start`, over HTTP and through Redis. Real: npm, the tarball, processes, Redis. Stood in for: WhatsApp.
import { lstatSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Demo, newDataDir, startLaneway } from '../support/laneway.ts'
import { installExample, packClient } from '../support/packed.ts'
import { startProcess, type TestProcess } from '../support/processes.ts'

let example: Awaited<ReturnType<typeof installExample>>
const { dataDir, remove } = newDataDir()
let laneway: TestProcess
let demo: Demo

beforeAll(async () => {
  const started = startLaneway(dataDir)
  example = await installExample('order-service')
  const { process, demo: itsDemo } = await started
  laneway = process
  demo = itsDemo
})
afterAll(async () => {
  laneway?.kill('SIGTERM')
  await laneway?.ended
  await remove()
  example?.remove()
})

const SMALL = { packages: expect.toSatisfy((count) => count <= 21), bytes: expect.toSatisfy((sum) => sum <= 25e6) }

type Way = 'over HTTP' | 'through Redis'

/** Runs the example for these orders. */
async function serveOrders(way: Way, orders: readonly string[], env: Record<string, string> = {}) {
  const service = startProcess('npm', ['start', '--silent', '--prefix', example.dir, '--', ...orders], {
    ...(way === 'over HTTP' ? { LANEWAY_URL: demo.base_url } : { REDIS_URL: demo.redis_url }),
    API_KEY: demo.api_key,
    ...env,
  })
  const { code } = await service.ended
  return { code, stdout: service.stdout(), stderr: service.stderr() }
}

test('the tarball holds the built client and nothing else', () => {
  const installed = join(example.dir, 'node_modules/laneway-client')
  expect(lstatSync(installed).isSymbolicLink()).toBe(false)
  expect(readdirSync(installed).sort()).toEqual(['LICENSE', 'README.md', 'dist', 'package.json'])
  const dist = readdirSync(join(installed, 'dist'), { recursive: true, encoding: 'utf8' })
  expect(dist).toContain('index.js')
  expect(dist.filter((file) => !/\.(js|d\.ts)$/.test(file)).sort()).toEqual([
    'service',
    'service/kernel',
    'service/redis',
  ])
  // Of the service only how to connect to Redis.
  expect(dist.filter((file) => /^service\b.*\.js$/.test(file)).sort()).toEqual([
    'service/kernel/redis-address.js',
    'service/kernel/running-time.js',
    'service/redis/connect.js',
    'service/redis/connections.js',
    'service/redis/errors.js',
    'service/redis/joined-writes.js',
    'service/redis/sentinels.js',
  ])
})

test('the client installs at most 21 packages and 25 MB with npm', () => {
  expect(weigh(example.dir)).toMatchObject(SMALL)
})

/** npm waits longer for a registry that takes connections and says nothing, whatever its settings for that are. */
const REGISTRY_MS = 60_000

// Needs npm's registry, or npm's cache of it. Without either it is skipped; the test before counts the same packages.
test('in an empty folder npm installs as little from the registry', async ({ skip }) => {
  const folder = mkdtempSync(join(tmpdir(), 'laneway-empty-'))
  try {
    const tarball = await packClient(folder)
    writeFileSync(join(folder, 'package.json'), '{}')
    const npm = startProcess('npm', ['install', tarball, '--prefix', folder, '--prefer-offline', '--no-audit'], {})
    const impatience = setTimeout(() => npm.kill('SIGKILL'), REGISTRY_MS)
    const { code, signal } = await npm.ended
    clearTimeout(impatience)
    if (signal === 'SIGKILL') skip('the registry does not answer')
    if (/E(NOTCACHED|NOTFOUND|AI_AGAIN|CONNREFUSED|TIMEDOUT)/.test(npm.stderr())) skip('no registry can be reached')
    expect({ code, stderr: npm.stderr() }).toMatchObject({ code: 0 })
    expect(weigh(folder)).toMatchObject(SMALL)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

test.each<[Way, number]>([
  ['over HTTP', 1],
  ['through Redis', 2],
])('the example sends %s, follows its orders until delivered, and writes to nobody twice', async (way, n) => {
  const [a, b] = [`+4477009003${n}1`, `+44 7700 9003${n}2`]
  const first = await serveOrders(way, [`A-${n}1=${a}`, `A-${n}2=${b}`])
  expect(first).toMatchObject({ code: 0, stderr: '' })
  for (const order of ['1', '2']) expect(first.stdout).toMatch(new RegExp(`^A-${n}${order}: delivered$`, 'm'))

  const again = await serveOrders(way, [`A-${n}1=${a}`, `A-${n}3=12`, `A-${n}4=+15550100101`])
  expect(again.code).toBe(1)
  expect(again.stdout).toMatch(new RegExp(`^A-${n}1: delivered$`, 'm'))
  expect(again.stderr).toMatch(new RegExp(`^A-${n}3: not sent\\. to: expected a full international phone number`, 'm'))
  expect(again.stderr).toMatch(new RegExp(`^A-${n}4: .*code 100`, 'm'))

  const ledger = await (await fetch(`${demo.simulator_url}/_ledger`)).text()
  expect(ledger.split('\n').filter((line) => line.includes(a.slice(1)))).toHaveLength(1)
})

test('the example reports in one sentence what is missing', async () => {
  for (const way of ['over HTTP', 'through Redis'] as const) {
    const key = await serveOrders(way, ['A-5=+447700900305'], { API_KEY: demo.expired_api_key })
    expect(key).toMatchObject({ code: 1, stderr: 'A-5: not sent. The key has expired.\n' })
  }
  const redis = await serveOrders('through Redis', ['A-5=+447700900305'], { REDIS_URL: 'redis://127.0.0.1:1' })
  expect(redis).toMatchObject({ code: 1, stderr: 'Redis cannot be reached; check its address.\n' })
})

test('the example and the README match the types of the package, and a mismatch is found', async () => {
  const page = readFileSync('packages/client/README.md', 'utf8')
  const blocks = [...page.matchAll(/```ts\n(.*?)```/gs)].map(([, code = '']) => code)
  const fromPage = blocks[0] ?? ''
  const ofOperations = blocks.find((code) => code.includes('laneway.operations')) ?? ''
  expect(fromPage).toContain("from 'laneway-client'")
  writeFileSync(join(example.dir, 'page.js'), fromPage)
  expect(ofOperations).not.toBe('')
  const connected = `import { connectLaneway } from 'laneway-client'
    const laneway = await connectLaneway({ url: '', apiKey: '' })
    `
  writeFileSync(
    join(example.dir, 'operations.js'),
    `${connected}${ofOperations}\nawait laneway.operations.limits.list()`,
  )
  writeFileSync(
    join(example.dir, 'wrong-operations.js'),
    `${connected}await laneway.operations.messages.list({ state: 'lost' })
    await laneway.operations.messages.show()
    const { nothing } = await laneway.operations.campaigns.show({ id: '' })
    `,
  )
  writeFileSync(
    join(example.dir, 'wrong.js'),
    `import { connectLaneway } from 'laneway-client'
    const laneway = await connectLaneway({ redisUrl: '', apiKey: '' })
    await laneway.send({ to: 5, type: 'image', image: { link: '' } })
    await laneway.send({ to: '', type: 'image', audio: { link: '' } })
    await laneway.send({ to: '', type: 'template', template: { name: '', language: { code: '' } } })
    const { state } = await laneway.status('')
    `,
  )
  const compiler = ['node_modules/typescript-compiler/bin/tsc', '-p', example.dir, '--typeRoots', 'node_modules/@types']
  const check = startProcess(process.execPath, compiler, {})
  await check.ended
  const faults = check.stdout().matchAll(/([\w-]+\.(?:js|d\.ts))\((\d+),/g)
  expect([...faults].map(([, file, line]) => `${file} ${line}`)).toEqual([
    ...[3, 4, 5].map((line) => `wrong-operations.js ${line}`),
    ...[3, 4, 5, 6].map((line) => `wrong.js ${line}`),
  ])
})

/** How many packages are installed in a folder, by npm's own record, and how many bytes their files have. */
function weigh(folder: string): { packages: number; bytes: number } {
  const record = z.object({ packages: z.record(z.string(), z.unknown()) })
  const { packages } = record.parse(JSON.parse(readFileSync(join(folder, 'node_modules/.package-lock.json'), 'utf8')))
  const files = readdirSync(join(folder, 'node_modules'), { recursive: true, encoding: 'utf8' })
  const bytes = files.reduce((sum, file) => sum + lstatSync(join(folder, 'node_modules', file)).size, 0)
  return { packages: Object.keys(packages).length, bytes }
}
