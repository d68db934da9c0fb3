// Pins: whatever another program puts into {laneway-intake} behind BullMQ's back ends as a refused job with a line in the
// log, and the jobs behind it are taken in. Real: Redis, BullMQ, producer, worker.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { INTAKE_QUEUE } from '../../src/jobs/intake.ts'
import { startWorker } from '../../src/worker/main.ts'
import { keptLog } from '../support/app.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { intakeByHand } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let tenant: Tenant
let intake: ReturnType<typeof intakeByHand>
let worker: { close: () => Promise<void> }
const { log, lines } = keptLog()

const message = { messaging_product: 'chatapp', recipient_type: 'individual', to: '+491700008001', type: 'image' }
const good = () =>
  JSON.stringify({ api_key: tenant.apiKey, message: { ...message, image: { link: 'https://a.test/a' } } })
const broken = JSON.stringify({ api_key: 'lw_nobody' })
const whole = { name: 'send', data: broken, opts: '{}', timestamp: String(Date.now()), delay: '0', priority: '0' }

/** What is wrong with a job → its fields, and the code that it is refused with. */
const CASES: Record<string, { fields: Record<string, string>; code: string }> = {
  'data that is not JSON': { fields: { ...whole, data: '{"api_key":' }, code: 'invalid_data' },
  'data that is a number': { fields: { ...whole, data: '7' }, code: 'invalid_data' },
  'data that is a text': { fields: { ...whole, data: '"send"' }, code: 'invalid_data' },
  'data of 20 MB': { fields: { ...whole, data: JSON.stringify({ more: 'x'.repeat(20_000_000) }) }, code: 'too_large' },
  'a name that is no verb': { fields: { ...whole, name: 'sent' }, code: 'unknown_job' },
  'a name of 1 MB': { fields: { ...whole, name: 'x'.repeat(1_000_000) }, code: 'unknown_job' },
  'no field but its data': { fields: { data: broken }, code: 'unknown_job' },
  'options that are not JSON': { fields: { ...whole, opts: '{' }, code: 'unauthorized' },
  'options that are a list': { fields: { ...whole, opts: '[1]' }, code: 'unauthorized' },
  'a time that is none': { fields: { ...whole, timestamp: 'today' }, code: 'unauthorized' },
  'counts that are none': { fields: { ...whole, stc: 'often', atm: 'x', ats: 'x' }, code: 'unauthorized' },
  'a stack trace that is not JSON': { fields: { ...whole, stacktrace: '{' }, code: 'unauthorized' },
  'a parent that is a list': { fields: { ...whole, parent: '[1]', parentKey: 'x' }, code: 'unauthorized' },
  'a parent without a key': { fields: { ...whole, parent: '{"idof":true}' }, code: 'unauthorized' },
  'a parent that is not JSON': { fields: { ...whole, parent: '{', parentKey: 'x' }, code: 'unauthorized' },
}
const idOf = (name: string): string => `raw ${name}`

async function put(id: string, fields: Record<string, string>): Promise<void> {
  await intake.write(id, fields)
  await intake.putInLine(id)
}

beforeAll(async () => {
  service = await startService({ worker: false })
  tenant = await service.addTenant()
  intake = intakeByHand(service.redis, INTAKE_QUEUE)
  for (const [name, { fields }] of Object.entries(CASES)) await put(idOf(name), fields)
  // Somebody deleted the job, or took its key for something else.
  await intake.putInLine('raw gone')
  worker = await startWorker(service.config, service.server.url, log)
})
afterAll(async () => {
  await worker?.close()
  await service?.close()
})

const refusal = z.object({ code: z.string() })
const logLine = z.object({ msg: z.string(), job: z.string().optional(), code: z.string().optional() })
const logged = () => lines.map((line) => logLine.parse(JSON.parse(line)))

test.each(Object.entries(CASES))('a job with %s is refused, logged and kept', async (name, { code }) => {
  const id = idOf(name)
  const reason = await eventually(() => intake.refusalOf(id), `the end of ${id}`, 40_000)
  expect(refusal.parse(JSON.parse(reason)).code).toBe(code)
  expect(logged()).toContainEqual(expect.objectContaining({ msg: 'intake.refused', job: id, code }))
})

test.each(['{}', '[1]', '{"queueKey":7}'])('a good job with the parent %s is accepted', async (parent) => {
  const id = `raw good of ${parent}`
  await put(id, { ...whole, data: good(), parent, parentKey: 'x' })
  await eventually(() => intake.hasEnded(id, 'succeeded'), 'it is taken in', 40_000)
})

test('a job left by a dead worker is found while another one has an invalid count of crashes', async () => {
  // Straight among those under way: from the waiting ones the worker would fetch them.
  await intake.write('raw left', { ...whole, data: good() })
  await intake.write('raw counted', { ...whole, stc: 'often' })
  await intake.putInHand('raw counted', 'raw left')
  await eventually(() => intake.hasEnded('raw left', 'succeeded'), 'the one left behind is taken in', 40_000)
  await eventually(() => intake.hasEnded('raw counted', 'refused'), 'the other one is refused', 40_000)
})

test('a good job behind all of them is accepted', async () => {
  await put('raw good', { ...whole, data: good() })
  await eventually(() => intake.hasEnded('raw good', 'succeeded'), 'it is taken in', 40_000)
})
