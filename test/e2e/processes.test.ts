// Producer and worker as separate processes on one Redis, any number of each. A start costs seconds, so the tests go on from
// one another: what one has started, the next one finds.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { type Simulator, startSimulator } from '../../packages/simulator/src/simulator.ts'
import { apiClient } from '../support/api.ts'
import { becomes, call, sendImage, sendUnderWay, statusOf } from '../support/calls.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { newDataDir } from '../support/laneway.ts'
import { startProcess, type TestProcess, takePort } from '../support/processes.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { eventually } from '../support/wait.ts'

const GALLERY = 'partners/wp-gallery/manage'
/** A number of the simulator's table: accepted at once, answered after two seconds. */
const ANSWERS_AFTER_2_S = '+15550100301'

let redis: TestRedis
const folder = newDataDir()
let env: Record<string, string>
/** What all tests share: a simulator, a producer, and a key of an account whose sender sends to it. */
let simulator: Simulator
let url: string
let key: string
/** The only worker, from the first test on. */
let worker: TestProcess

beforeAll(async () => {
  redis = await startRedis()
  env = { REDIS_URL: redis.url, LANEWAY_DATA_DIR: folder.dataDir, PORT: '0', LANEWAY_BULK_MOVE_WAIT_SECONDS: '0.3' }
  const producer = start('producer')
  simulator = await startSimulator({ port: 0, sentMs: 0, deliveredMs: 0, readMs: 86_400_000 })
  key = await account()
  url = await addressOf(producer)
})
afterAll(async () => {
  await folder.remove()
  await simulator?.close()
  await redis?.stop()
})

const start = (part: 'producer' | 'worker', extra: Record<string, string> = {}): TestProcess =>
  startProcess(process.execPath, [`dist/start/${part}.js`], { ...env, ...extra })

/** The address that a part says it listens on. */
async function addressOf(part: TestProcess): Promise<string> {
  return eventually(async () => /"url":"(http:[^"]+)"/.exec(part.stdout())?.[1], 'it says where it listens', 60_000)
}

const isReady = async (url: string) => (await fetch(`${url}/readyz`)).status

/** Requests that WhatsApp has taken. */
async function taken(): Promise<number> {
  const answer = await (await fetch(`${simulator.url}/_ledger?count=1`)).json()
  return z.object({ count: z.number() }).parse(answer).count
}

/** An account made on the command line, with a sender at this address and keys of its own. */
async function account() {
  const cli = async (...args: string[]) => {
    const done = await runCli([...args, '--json'], env)
    expect(done).toMatchObject({ code: 0, stderr: '' })
    return z.looseObject({}).parse(documentIn(done.stdout))
  }
  const { id } = await cli('accounts', 'create', 'Shop')
  const of = ['--account', String(id)]
  await cli(
    'senders',
    'add',
    ...of,
    '--number',
    '+447700900001',
    '--provider',
    'partner-api',
    '--base-url',
    simulator.url,
    '--token',
    'any',
  )
  const { key } = await cli('keys', 'create', ...of, '--permissions', 'messages:send,messages:read,gallery')
  return String(key)
}

/** A gallery with one file in the first of two folders. */
async function gallery(url: string, bearer: string) {
  const base = `${url}/${GALLERY}`
  const numbered = z.object({ data: z.object({ id: z.number() }) })
  const folderNamed = async (name: string) =>
    numbered.parse((await call(`${base}/folders`, { name }, { bearer })).body).data.id
  const [from, to] = [await folderNamed('From'), await folderNamed('To')]
  const form = new FormData()
  form.append('folder_id', String(from))
  form.append('file', new Blob(['hello']), 'hello.txt')
  const uploaded = await apiClient(url, bearer).post(`/${GALLERY}/files`, form)
  const file = numbered.parse(uploaded.json).data.id
  const filesIn = async (id: number) => {
    const answer = await call(`${base}/files?folder_id=${id}`, undefined, { method: 'GET', bearer })
    return z
      .object({ data: z.array(z.object({ id: z.number() })) })
      .parse(answer.body)
      .data.map((each) => each.id)
  }
  return {
    file,
    from,
    to,
    filesIn,
    move: () => call(`${base}/files/bulk-move`, { file_ids: [file], folder_id: to }, { bearer }),
  }
}

test('without a worker everything is accepted and nothing sent; when one starts, everything is', async () => {
  const caller = { base_url: url, api_key: key }
  const files = await gallery(url, key)

  expect(await isReady(url)).toBe(503)
  const messages = await Promise.all(Array.from({ length: 10 }, () => sendImage(caller)))
  const moving = await files.move()
  expect(moving).toMatchObject({ status: 202, body: { success: true } })
  const { status_url } = z.object({ data: z.object({ status_url: z.string() }) }).parse(moving.body).data
  const moveState = async () =>
    (await call(new URL(status_url, url).href, undefined, { method: 'GET', bearer: key })).body

  for (const id of messages) expect(await statusOf(caller, id)).toBe('queued')
  expect(await files.filesIn(files.from)).toEqual([files.file])
  expect(await taken()).toBe(0)
  expect(JSON.stringify(await moveState())).toContain('pending')

  worker = start('worker')
  await eventually(async () => (await isReady(url)) === 200, 'the worker is known')
  for (const id of messages) await becomes(caller, id, 'delivered')
  await eventually(async () => (await files.filesIn(files.to)).includes(files.file), 'the file is moved')
  expect(JSON.stringify(await moveState())).toContain('done')
  expect(await taken()).toBe(messages.length)
})

test('a worker that is asked to stop finishes what is in flight and takes nothing new', async () => {
  const caller = { base_url: url, api_key: key }
  const slow = await sendUnderWay({ ...caller, simulator_url: simulator.url }, ANSWERS_AFTER_2_S)

  worker.kill('SIGTERM')
  await eventually(
    async () => (await isReady(url)) === 503 || worker.stdout().includes('stop.began'),
    'the stop begins',
  )
  const late = await sendImage(caller)
  expect(await worker.ended).toEqual({ code: 0, signal: null })
  expect(await statusOf(caller, slow)).toMatch(/^(sent|delivered)$/)
  expect(await statusOf(caller, late)).toBe('queued')
})

test('two producers and two workers serve one account together, including what waited for a worker', async () => {
  const before = await taken()
  const [producer, ...workers] = [start('producer'), start('worker'), start('worker')]
  const two = await addressOf(producer)
  await eventually(
    async () => JSON.stringify(await (await fetch(`${url}/readyz`)).json()).includes('"workers":2'),
    'both workers',
  )

  const sent = await Promise.all(
    Array.from({ length: 40 }, (_, i) => sendImage({ base_url: i % 2 === 0 ? url : two, api_key: key })),
  )
  // Looked up where it was not sent.
  for (const id of sent) await becomes({ base_url: two, api_key: key }, id, 'delivered')
  // And the one that the test before left waiting, which the other worker may have.
  await eventually(async () => (await taken()) > before + sent.length, 'it is sent as well')
  expect(await taken()).toBe(before + sent.length + 1)

  for (const each of workers) each.kill('SIGTERM')
  for (const each of workers) expect(await each.ended).toEqual({ code: 0, signal: null })
})

test('a producer whose port is taken reports it in one sentence', async () => {
  const other = await takePort()
  const producer = start('producer', { PORT: String(other.port) })
  expect(await producer.ended).toEqual({ code: 1, signal: null })
  expect(producer.stderr().trim()).toMatch(new RegExp(`^Port ${other.port} is taken`))
  await other.release()
})
