// Pins: `messages cancel` and `messages requeue` say in plain words what they did, and refuse what nobody meant. Real:
// Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { documentIn, runCli } from '../support/cli.ts'
import { deliveryOf, reaches, sendTo } from '../support/messages.ts'
import { failMessages } from '../support/requeueable.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { messageRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let queues: LaneQueues
let tenant: Tenant
beforeAll(async () => {
  service = await startService()
  queues = openLaneQueues(service.redis)
  tenant = await service.addTenant()
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const cli = (...args: string[]) => runCli(['messages', ...args], service.settings)
const fail = (count: number, first: number) =>
  failMessages({ redis: service.redis, queues }, tenant.partnerLane, { count, first })
const stateOf = async (id: { lane: number; ulid: string }) => (await readMessage(service.redis, id))?.state

test('one message is cancelled by its id, once', async () => {
  await queues.pause(tenant.partnerLane)
  const id = await sendTo(service, tenant, '+491700007001')
  expect(await cli('cancel', id)).toMatchObject({ code: 0, stdout: `Cancelled ${id}.\n` })
  expect((await deliveryOf(service, tenant, id)).status).toBe('cancelled')
  expect(await cli('cancel', id)).toMatchObject({
    code: 1,
    stderr: 'error: The message is cancelled; only one that is queued can be cancelled. [wrong_state]\n',
  })
  expect((await cli('cancel', 'msg_1_nothing')).stderr).toContain('The message does not exist: msg_1_nothing')
  expect(await cli('requeue', id)).toMatchObject({ code: 0, stdout: `Requeued ${id}.\n` })
  await queues.resume(tenant.partnerLane)
  await reaches(service, tenant, id, 'read')
  expect((await cli('requeue', id)).stderr).toContain('The message is read; only one that is failed')
})

test('the oldest message of a lane is dated from its requeue, not from when it was accepted', async () => {
  await queues.pause(tenant.partnerLane)
  const id = await sendTo(service, tenant, '+491700007009')
  expect(await cli('cancel', id)).toMatchObject({ code: 0 })
  const before = Date.now()
  expect(await cli('requeue', id)).toMatchObject({ code: 0 })
  const list = await runCli(['lanes', 'list', '--json'], { REDIS_URL: service.server.url })
  const lanes = z.array(z.object({ lane: z.number(), oldest_waiting_at: z.string().nullable() }))
  const lane = lanes.parse(documentIn(list.stdout)).find((each) => each.lane === tenant.partnerLane)
  expect(Date.parse(lane?.oldest_waiting_at ?? '')).toBeGreaterThanOrEqual(before)
  await queues.resume(tenant.partnerLane)
  await reaches(service, tenant, id, 'read')
})

test('a waiting message is shown with the reason', async () => {
  await queues.pause(tenant.partnerLane)
  const id = await sendTo(service, tenant, '+491700007002')
  const { stdout } = await cli('show', id)
  expect(stdout).toMatch(/^State +queued$/m)
  expect(stdout).toMatch(/^Waits +Its sender is paused/m)
  await queues.resume(tenant.partnerLane)
  await reaches(service, tenant, id, 'read')
})

test('while Redis does not answer a requeue is not begun, and it can be asked for again', async () => {
  const [failed] = await fail(1, 491_725_000_000)
  if (!failed) throw new Error('none')
  await service.redis.call('CLIENT', 'PAUSE', 600_000, 'WRITE')
  const never = await cli('requeue', '--to', '491725000000', '--detach', '--account', String(tenant.account))
  await service.redis.call('CLIENT', 'UNPAUSE')
  expect(never).toMatchObject({ code: 3, stdout: '' })
  // Whether there is a job does not matter: a second one finds what the first one left.
  const again = await cli('requeue', '--to', '491725000000', '--detach', '--account', String(tenant.account))
  expect(again).toMatchObject({ code: 0, stdout: expect.stringMatching(/^A worker does it as the job rq_\w+\.$/m) })
  // The tests that follow count what has failed.
  await eventually(async () => (await stateOf(failed)) === 'read', 'it is sent')
})

test('nothing is requeued without a filter, nor with both an id and a filter', async () => {
  const [failed] = await fail(1, 491_721_000_000)
  if (!failed) throw new Error('none')
  const bare = await cli('requeue')
  expect(bare).toMatchObject({ code: 2, stdout: '' })
  expect(bare.stderr).toContain('--all: give at least one filter')
  expect((await cli('requeue', failed.name, '--state', 'failed')).code).toBe(2)
  expect(await stateOf(failed)).toBe('failed')
  expect(await cli('requeue', '--all', '--dry-run')).toMatchObject({
    code: 0,
    stdout: '1 message matches; nothing was changed.\n',
  })
  expect(await cli('requeue', '--all')).toMatchObject({ code: 0, stdout: 'Requeued 1 of 1 matching message.\n' })
  await eventually(async () => (await stateOf(failed)) === 'read', 'it is sent')
})

test('many are requeued by a filter, and those that cannot be are reported', async () => {
  const failed = await fail(5, 491_722_000_000)
  for (const { lane, ulid } of failed.slice(0, 2)) await messageRecord(service.redis, { lane, ulid }).drop('p')
  const dry = await cli('requeue', '--code', '131051', '--dry-run')
  const lost = ' 2 of them cannot be sent again: the content is no longer stored.'
  expect(dry.stdout).toBe(`5 messages match; nothing was changed.${lost}\n`)
  const { code, stdout } = await cli('requeue', '--code', '131051')
  expect({ code, stdout }).toEqual({ code: 0, stdout: `Requeued 3 of 5 matching messages.${lost}\n` })
  for (const { lane, ulid } of failed) await messageRecord(service.redis, { lane, ulid }).remove()
})

test('with several accounts no account need be named as long as the messages of only one match', async () => {
  await service.addTenant()
  const [failed] = await fail(1, 491_723_000_000)
  if (!failed) throw new Error('none')
  expect(await cli('requeue', '--state', 'unknown', '--json')).toMatchObject({ code: 0 })
  expect(await stateOf(failed)).toBe('failed')
  expect(await cli('requeue', '--state', 'failed')).toMatchObject({
    code: 0,
    stdout: 'Requeued 1 of 1 matching message.\n',
  })
  await eventually(async () => (await stateOf(failed)) === 'read', 'it is sent')
})

test('when messages of several accounts match --yes is needed, and --detach only prints the job', async () => {
  const other = await service.addTenant()
  const [failed] = await fail(1, 491_723_000_001)
  const [foreign] = await failMessages({ redis: service.redis, queues }, other.partnerLane, {
    count: 1,
    first: 491_723_000_002,
  })
  if (!failed || !foreign) throw new Error('none')
  const refused = await cli('requeue', '--state', 'failed')
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toContain(`messages of 2 accounts (${tenant.account}, ${other.account}).`)
  expect(refused.stderr).toContain('Name one with --account, or confirm with --yes.')
  expect([await stateOf(failed), await stateOf(foreign)]).toEqual(['failed', 'failed'])
  const detached = await cli('requeue', '--state', 'failed', '--yes', '--detach')
  expect(detached.stdout).toMatch(/^(A worker does it as the job rq_[0-9A-Z]{26}\.\n){2}$/)
  for (const each of [failed, foreign]) await eventually(async () => (await stateOf(each)) === 'read', 'it is sent')
})

test('an account or campaign that does not exist is an error, not an empty match', async () => {
  expect(await cli('requeue', '--account', '987654', '--state', 'failed', '--dry-run')).toMatchObject({
    code: 1,
    stderr: 'error: The account does not exist: 987654. [not_found]\n',
  })
  expect(await cli('requeue', '--campaign', 'cmp_1_987654', '--dry-run')).toMatchObject({
    code: 1,
    stderr: 'error: There is no campaign cmp_1_987654; see `campaigns list`.\n',
  })
})

test('a sender that does not exist is an error, and so is a time without a zone', async () => {
  expect(await cli('requeue', '--sender', 'nobody', '--dry-run')).toMatchObject({
    code: 1,
    stderr:
      'error: --sender: "nobody" is not a sender of this account; name it by its number, its name or its id. [unknown_sender]\n',
  })
  expect((await cli('requeue', '--since', 'last week')).code).toBe(2)
})

test('without a worker the command reports so and leaves the job to the next worker', async () => {
  const [failed] = await fail(1, 491_724_000_000)
  if (!failed) throw new Error('none')
  await service.stopWorker()
  const { code, stderr } = await cli('requeue', '--state', 'failed', '--account', String(tenant.account))
  expect(code).toBe(1)
  expect(stderr).toContain('No worker is running.')
  await service.startWorker()
  await eventually(async () => (await stateOf(failed)) === 'read', 'it is sent')
})
