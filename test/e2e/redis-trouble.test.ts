// A Redis that is away, hangs or is full when a process starts or is told to stop. Real processes, real Redis servers.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Simulator, startSimulator } from '../../packages/simulator/src/simulator.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { becomes, call, sendImage, statusOf } from '../support/calls.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { newDataDir } from '../support/laneway.ts'
import { slowness } from '../support/machine.ts'
import { startProcess, type TestProcess } from '../support/processes.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { watchStandstills } from '../support/standstills.ts'
import { eventually } from '../support/wait.ts'

/** What is promised is 20 s; a busy machine is late to notice. */
const STOP_LIMIT_MS = 22_000
/** How long a message is in flight: longer than it takes to see it there and to kill Redis, shorter than a send may take. */
const IN_FLIGHT_MS = 8_000
/** A worker takes a message of one that died for lost after 20 s. */
const TAKEN_OVER_MS = 300_000

type Part = 'producer' | 'worker'

const DELAYS = { sentMs: 0, deliveredMs: 0, readMs: 86_400_000 }
let simulator: Simulator
/** One whose answers take as long as it is told. */
let slow: Simulator
beforeAll(async () => {
  simulator = await startSimulator({ port: 0, ...DELAYS })
  slow = await startSimulator({ port: 0, ...DELAYS })
})
afterAll(async () => {
  await slow?.close()
  await simulator?.close()
})

async function answerAfter(ms: number): Promise<void> {
  const set = await fetch(`${slow.url}/_control`, { method: 'POST', body: JSON.stringify({ answer_delay_ms: ms }) })
  expect(set.status).toBe(200)
}

/** Redis, data folder and whatever is started on them, of one case. */
interface Rig {
  redis: TestRedis
  env: Record<string, string>
  start: (part: Part) => TestProcess
  /** What a person would do with redis-cli; not while Redis is away. */
  configure: (setting: string, value: string) => Promise<void>
  close: () => Promise<void>
}

/** The cases mostly wait for a Redis that does not come back, so they run side by side, each on a Redis of its own. */
function testOnRig(title: string, act: (rig: Rig) => Promise<void>): void {
  test.concurrent(title, async () => {
    const rig = await newRig()
    try {
      await act(rig)
    } finally {
      await rig.close()
    }
  })
}

async function newRig(): Promise<Rig> {
  const redis = await startRedis()
  const folder = newDataDir()
  const admin = connectWithRetry(redis.url)
  admin.on('error', () => {})
  const env = { REDIS_URL: redis.url, LANEWAY_DATA_DIR: folder.dataDir, PORT: '0' }
  return {
    redis,
    env,
    start: (part) => startProcess(process.execPath, [`dist/start/${part}.js`], env),
    configure: async (setting, value) => void (await admin.config('SET', setting, value)),
    async close() {
      // A test that failed may have left it hanging, and then it would not end either.
      redis.wake()
      admin.disconnect()
      await folder.remove()
      await redis.stop()
    },
  }
}

const hasStarted = (part: TestProcess) =>
  eventually(async () => /"msg":"(worker|producer)\.started"/.test(part.stdout()), 'it has started', 60_000)

const addressOf = (part: TestProcess) =>
  eventually(async () => /"url":"(http:[^"]+)"/.exec(part.stdout())?.[1], 'it says where it listens', 60_000)

/** Tells it to stop and returns how it ended and after how long. A machine that stands still holds up this process as well. */
async function stopped(part: TestProcess) {
  const stood = watchStandstills()
  const from = performance.now()
  part.kill('SIGTERM')
  const end = await part.ended
  stood.stop()
  return { ...end, ms: performance.now() - from - stood.ms() }
}

/** An account with one sender and a key, made on the command line. */
async function account({ env }: Rig, provider = simulator): Promise<string> {
  const cli = async (...args: string[]) => {
    const done = await runCli([...args, '--json'], env)
    expect(done).toMatchObject({ code: 0, stderr: '' })
    return z.looseObject({}).parse(documentIn(done.stdout))
  }
  const of = ['--account', String((await cli('accounts', 'create', 'Shop')).id)]
  const where = ['--provider', 'partner-api', '--base-url', provider.url, '--token', 'any']
  await cli('senders', 'add', ...of, '--number', '+447700900001', ...where)
  return String((await cli('keys', 'create', ...of, '--permissions', 'messages:send,messages:read')).key)
}

/** They stop in order and in time, side by side. `whenOver` comes before anything is asked of them. */
async function expectGoodStops(parts: Partial<Record<Part, TestProcess>>, whenOver = () => {}): Promise<void> {
  const ends = await Promise.all(
    Object.entries(parts).map(async ([name, part]) => ({ name, part, end: await stopped(part) })),
  )
  whenOver()
  for (const { name, part, end } of ends) {
    expect(end).toMatchObject({ code: 0, signal: null })
    expect(end.ms).toBeLessThan(STOP_LIMIT_MS * (await slowness()))
    expect(part.stdout()).toContain(`"msg":"${name}.stopped"`)
    expect(part.stderr()).toBe('')
  }
}

for (const part of ['worker', 'producer'] as const) {
  testOnRig(`a ${part} that has waited for its Redis since its start can be stopped`, async (rig) => {
    await rig.redis.kill9()
    const process = rig.start(part)
    await eventually(async () => process.stdout().includes('redis.error'), 'it looks for Redis', 60_000)
    const end = await stopped(process)
    expect(end).toMatchObject({ code: 0, signal: null })
    expect(end.ms).toBeLessThan(STOP_LIMIT_MS * (await slowness()))
    expect(process.stderr()).toBe('')
  })
}

testOnRig(
  'a worker with a message in flight waits for Redis until its stop must end; idle processes stop in time too',
  async (rig) => {
    const [producer, worker] = [rig.start('producer'), rig.start('worker')]
    const caller = { base_url: await addressOf(producer), api_key: await account(rig, slow) }
    await hasStarted(worker)
    await answerAfter(IN_FLIGHT_MS)
    const id = await sendImage(caller)
    await becomes(caller, id, 'sending')
    await rig.redis.kill9()
    await answerAfter(0)
    const end = await stopped(worker)
    expect(end).toMatchObject({ code: 0, signal: null })
    expect(end.ms).toBeLessThan(STOP_LIMIT_MS * (await slowness()))
    expect(worker.stdout()).toMatch(/"messages":1,"msg":"stop\.left_in_flight"/)

    await rig.redis.restart()
    await eventually(async () => (await statusOf(caller, id)) === 'sending', 'Redis is back', 60_000)
    const other = rig.start('worker')
    // It was sent, nobody wrote that down, and at_least_once sends it once more, flagged.
    await becomes(caller, id, 'delivered', TAKEN_OVER_MS)

    await rig.redis.kill9()
    await expectGoodStops({ worker: other, producer })
  },
)

testOnRig(
  'worker and producer start on a full Redis, log it once, and work when it has memory; if it hangs they stop in time',
  async (rig) => {
    const key = await account(rig)
    await rig.configure('maxmemory', '1mb')
    const [producer, worker] = [rig.start('producer'), rig.start('worker')]
    const url = await addressOf(producer)
    await hasStarted(worker)
    const caller = { base_url: url, api_key: key }
    for (const part of [producer, worker]) {
      expect(part.stdout().match(/"msg":"redis\.full"/g)).toHaveLength(1)
      expect(part.stderr()).toBe('')
    }
    const refused = await call(`${url}/sendservicemessages/sendmessages`, {
      api_key: key,
      messaging_product: 'chatapp',
      recipient_type: 'individual',
      to: '+491700000001',
      type: 'audio',
      audio: { link: 'https://example.com/a.ogg' },
    })
    expect(refused.status).toBe(503)

    await rig.configure('maxmemory', '0')
    const id = await eventually(async () => sendImage(caller).catch(() => undefined), 'a message is taken', 60_000)
    await becomes(caller, id, 'delivered')
    await eventually(async () => (await fetch(`${url}/readyz`)).status === 200, 'the worker is known', 60_000)

    rig.redis.freeze()
    await expectGoodStops({ worker, producer }, () => rig.redis.wake())
  },
)
