// Pins: a job that can never be run fails at once, is kept with the reason, is told in the lookup, and harms none of its
// neighbours. Real: Redis, HTTP, producer, worker.
import { expect } from 'vitest'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import { serviceTest } from '../support/fixtures.ts'
import { deliveryOf, infoOf, reaches, sendTo } from '../support/messages.ts'
import { requeueAll, requeueRequest } from '../support/requeue.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { addSilently, giveUpNext, jobOf } from '../support/state/lanes.ts'
import { queuedAgainOn } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const TEXT = 'the text that nobody may read here'

const good = {
  v: 1,
  to: '491700005001',
  class: 'transactional',
  content: { type: 'image', image: { link: 'https://example.com/a.png', caption: TEXT } },
  until: Date.now() + 3_600_000,
}

// Its provider reports by itself; the other wire would be polled.
const test = serviceTest({ provider: 'cloud-api' })
  /** Puts a job on the lane as another program might, and waits until it is a dead letter. */
  .extend('deadLetterOf', { scope: 'file' }, ({ service: { redis }, tenant: { cloudLane: lane }, queues }) => {
    return async (payload: unknown, id = messageId(lane, newUlid(Date.now()))) => {
      await addSilently(redis, lane, id, payload)
      queues.wake(lane)
      const job = await eventually(async () => {
        const found = await jobOf(redis, id, lane)
        return found?.failedReason ? found : undefined
      }, `${id} is a dead letter`)
      return { id, job }
    }
  })
  /** Makes a dead letter of the job of a message that nobody has claimed, as a worker that gives it up does. */
  .extend('giveUp', { scope: 'file' }, ({ service, tenant }) => async (id: string) => {
    expect(await giveUpNext(service.redis, tenant.cloudLane)).toBe(id)
  })

test.for<[string, unknown, string]>([
  ['nothing', {}, 'v'],
  ['another version', { ...good, v: 2 }, 'v'],
  ['no recipient', { ...good, to: undefined }, 'to'],
  ['a recipient that is no number', { ...good, to: '+49 170' }, 'to'],
  ['an unknown class', { ...good, class: 'urgent' }, 'class'],
  ['no content', { ...good, content: undefined }, 'content'],
  ['a link that is none', { ...good, content: { type: 'image', image: { link: TEXT } } }, 'content.image.link'],
  ['no validity', { ...good, until: 'soon' }, 'until'],
])(
  'a payload with %s fails at once, is kept, and the reason names the field without quoting it',
  async ([, payload, field], { deadLetterOf }) => {
    const { job } = await deadLetterOf(payload)
    expect(job.failedReason).toContain(field)
    expect(job.failedReason).not.toContain(TEXT)
    expect(job.attemptsMade).toBeLessThanOrEqual(1)
    expect(job.stacktrace).not.toMatch(/\.[jt]s:\d+/)
    expect(job.data).toEqual(JSON.parse(JSON.stringify(payload)))
  },
)

test('a job with an invalid message id becomes a dead letter', async ({ deadLetterOf }) => {
  const { job } = await deadLetterOf(good, 'not-a-message-id')
  expect(job.failedReason).toContain('message id')
})

test('neighbours of a dead letter are sent, and it is not', async ({ service, tenant, deadLetterOf }) => {
  const before = await sendTo(service, tenant, '+491700005101')
  const { id } = await deadLetterOf({ ...good, to: '491700005102', class: 'urgent' })
  const after = await sendTo(service, tenant, '+491700005103')
  for (const each of [before, after]) await reaches(service, tenant, each, 'read')
  const recipients = (await readLedger(service.simulator.url)).map(({ to }) => to)
  expect(recipients).toContain('491700005101')
  expect(recipients).toContain('491700005103')
  expect(recipients).not.toContain('491700005102')
  expect(id).toBeTruthy()
})

test('a message whose job is a dead letter although readable is shown as failed, with a sentence', async ({
  service,
  tenant,
  giveUp,
}) => {
  await service.stopWorker()
  const id = await sendTo(service, tenant, '+491700005201')
  await giveUp(id)
  const told = await deliveryOf(service, tenant, id)
  expect(told.status).toBe('failed')
  expect(told.error_message).toContain('dead letter')
  expect(await infoOf(service, tenant, id)).toMatchObject({ status: 'failed' })
  await service.startWorker()
})

test('a requeued message whose new job becomes a dead letter is failed again, not queued forever', async ({
  service,
  tenant,
  giveUp,
}) => {
  const id = await sendTo(service, tenant, '+15550100104')
  await reaches(service, tenant, id, 'failed')
  await service.stopWorker()
  const answer = await tenant.api.post(`/messages/${id}/requeue`)
  expect(answer.status).toBe(200)
  await giveUp(id)
  // The sweep looks for its job ten seconds after it was queued again; they are over.
  const { lane = 0, ulid = '' } = parseMessageId(id) ?? {}
  const list = queuedAgainOn(service.redis, lane)
  expect(Number(await list.timeOf(ulid)) - Date.now()).toBeLessThanOrEqual(10_000)
  await list.put(Date.now(), ulid)
  await service.startWorker()
  const told = await eventually(
    async () => {
      const delivery = await deliveryOf(service, tenant, id)
      return delivery.status === 'failed' ? delivery : undefined
    },
    'it is failed',
    25_000,
  )
  expect(told.error_message).toContain('dead letter')
})

test('a failed message of a dead letter can be requeued by hand; an unreadable job stays where it is', async ({
  service,
  tenant,
  deadLetterOf,
  giveUp,
}) => {
  const before = Date.now()
  const unreadable = await deadLetterOf({ ...good, class: 'urgent' })
  await service.stopWorker()
  const id = await sendTo(service, tenant, '+491700005301')
  await giveUp(id)
  const since = new Date(before).toISOString()
  const count = async (filter: object) => {
    const answer = await requeueRequest(service, tenant, { since, ...filter, dry_run: true })
    return answer.body.data?.matched
  }
  expect(await count({ state: 'unknown' })).toBe(0)
  expect(await count({ code: '131026' })).toBe(0)
  expect(await count({ campaign_id: 'summer' })).toBe(0)
  expect(await count({ since: new Date(Date.now() + 60_000).toISOString() })).toBe(0)
  expect(await count({})).toBe(1)
  expect((await deliveryOf(service, tenant, id)).status).toBe('failed')

  await service.startWorker()
  const done = await requeueAll(service, tenant, { since, state: 'failed', code: 'dead_letter' })
  expect(done).toMatchObject({ state: 'done', matched: 1, requeued: 1 })
  await reaches(service, tenant, id, 'read')
  expect(await count({})).toBe(0)
  expect((await readLedger(service.simulator.url)).filter(({ to }) => to === '491700005301')).toHaveLength(1)
  expect((await jobOf(service.redis, unreadable.id))?.failedReason).toBeTruthy()
})
