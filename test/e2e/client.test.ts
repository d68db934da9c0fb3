// Pins: the packed package installs, its types hold for those who use it, and the example service runs with it against
// `npm start`. Real: npm, the tarball, processes, Redis. Stood in for: the chat product.
import { existsSync, lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Demo, newDataDir, startLaneway } from '../support/laneway.ts'
import { installExample } from '../support/packed.ts'
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
}, 120_000)
afterAll(async () => {
  laneway?.kill('SIGTERM')
  await laneway?.ended
  await remove()
  example?.remove()
})

/** Runs the example for these orders. */
async function serveOrders(orders: readonly string[], env: Record<string, string> = {}) {
  const service = startProcess('npm', ['start', '--silent', '--prefix', example.dir, '--', ...orders], {
    REDIS_URL: demo.redis_url,
    API_KEY: demo.api_key,
    ...env,
  })
  const { code } = await service.ended
  return { code, stdout: service.stdout(), stderr: service.stderr() }
}

test('the tarball holds the built package and nothing else', () => {
  const installed = join(example.dir, 'node_modules/laneway')
  expect(lstatSync(installed).isSymbolicLink()).toBe(false)
  expect(readdirSync(installed).sort()).toEqual([
    'CHANGELOG.md',
    'LICENSE',
    'README.md',
    'dist',
    'docs',
    'package.json',
  ])
  const dist = readdirSync(join(installed, 'dist'), { recursive: true }).map(String)
  expect(dist).toContain('client/index.js')
  expect(dist.filter((file) => file.endsWith('.map') || file === 'built-from')).toEqual([])
  expect(existsSync(join(installed, 'dist/messages/store/scripts/message-claim.lua'))).toBe(true)
})

test('the example service sends, follows its orders to delivered, and tells nobody twice', async () => {
  const first = await serveOrders(['A-1=+447700900301', 'A-2=+44 7700 900302'])
  expect(first).toMatchObject({ code: 0, stderr: '' })
  for (const order of ['A-1', 'A-2']) expect(first.stdout).toMatch(new RegExp(`^${order}: delivered$`, 'm'))

  const again = await serveOrders(['A-1=+447700900301', 'A-3=12', 'A-4=+15550100101'])
  expect(again.code).toBe(1)
  expect(again.stdout).toMatch(/^A-1: delivered$/m)
  expect(again.stderr).toMatch(/^A-3: not sent\. to: expected a full international phone number/m)
  expect(again.stderr).toMatch(/^A-4: .*code 100/m)

  const ledger = await (await fetch(`${demo.simulator_url}/_ledger`)).text()
  expect(ledger.split('\n').filter((line) => line.includes('447700900301'))).toHaveLength(1)
})

test('the example service says in one sentence what it lacks', async () => {
  const key = await serveOrders(['A-5=+447700900305'], { API_KEY: demo.expired_api_key })
  expect(key).toMatchObject({ code: 1, stderr: 'A-5: not sent. The key has expired.\n' })
  const redis = await serveOrders(['A-5=+447700900305'], { REDIS_URL: 'redis://127.0.0.1:1' })
  expect(redis).toMatchObject({ code: 1, stderr: 'Redis cannot be reached; check its address.\n' })
})

test('the example and the page fit the types of the package, and what does not fit is found', async () => {
  const [, fromPage = ''] = /```ts\n(.*?)```/s.exec(readFileSync('docs/jobs.md', 'utf8')) ?? []
  expect(fromPage).toContain("from 'laneway/client'")
  writeFileSync(join(example.dir, 'page.js'), fromPage)
  writeFileSync(
    join(example.dir, 'wrong.js'),
    `import { connectLaneway } from 'laneway/client'
    const laneway = await connectLaneway({ redisUrl: '', apiKey: '' })
    await laneway.send({ to: 5, type: 'image', image: { link: '' } })
    await laneway.send({ to: '', type: 'image', audio: { link: '' } })
    await laneway.send({ to: '', type: 'template', template: { name: '', language: { code: '' } } })
    const { state } = await laneway.status('')
    `,
  )
  const compiler = ['node_modules/typescript/bin/tsc', '-p', example.dir, '--typeRoots', 'node_modules/@types']
  const check = startProcess(process.execPath, compiler, {})
  await check.ended
  const faults = check.stdout().matchAll(/([\w-]+\.(?:js|d\.ts))\((\d+),/g)
  expect([...faults].map(([, file, line]) => `${file} ${line}`)).toEqual([3, 4, 5, 6].map((line) => `wrong.js ${line}`))
})
