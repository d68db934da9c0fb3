// Pins: many messages are sent again by a job that finds them by a filter, counts truthfully, and sends none of them
// twice. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { readMessage, readProgress } from '../../src/lanes/messages/records.ts'
import { requeueStep } from '../../src/lanes/messages/requeue-step.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { markLane } from '../../src/lanes/wake.ts'
import { requeueOrder } from '../../src/messages/requeue/accept-requeue.ts'
import { createRequeueJob, findRequeueJob, newRequeueJobId, openRequeueQueue } from '../../src/messages/requeue/jobs.ts'
import { startRequeues } from '../../src/messages/requeue/requeue.processor.ts'
import { trimLane, trimRequeueable } from '../../src/messages/requeue/requeueable.ts'
import { silentLog } from '../support/app.ts'
import { claim } from '../support/claim.ts'
import { slowness } from '../support/machine.ts'
import { jobOf, requeueAll, requeueRequest } from '../support/requeue.ts'
import { failMessages } from '../support/requeueable.ts'
import { type Service, startService } from '../support/service.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { lanesKnown, requeueJobRecord, trimmedLately } from '../support/state/accounts.ts'
import { allWaitingOn, loseAllJobs } from '../support/state/lanes.ts'
import {
  campaignRecord,
  idempotencyOf,
  inDoubtOn,
  messageRecord,
  queuedAgainOn,
  requeueableOn,
} from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

let service: Service
let queues: LaneQueues
beforeAll(async () => {
  service = await startService()
  queues = openLaneQueues(service.redis)
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const deps = () => ({ redis: service.redis, queues })
const stateOf = async (lane: number, ulid: string) => (await readMessage(service.redis, { lane, ulid }))?.state
const timesSent = async (tos: readonly string[]) => {
  const ledger = await readLedger(service.simulator.url)
  return tos.map((to) => ledger.filter((line) => line.to === to).length)
}
const isRead = (lane: number, ulids: readonly string[]) =>
  eventually(
    async () =>
      (await readProgress(service.redis, lane, ulids)).every(
        (found) => found && 'state' in found && found.state === 'read',
      ),
    'all are read',
    60_000,
  )

async function tenantWith(count: number, more: { first?: number; code?: string } = {}) {
  const tenant = await service.addTenant()
  return {
    tenant,
    lane: tenant.partnerLane,
    failed: await failMessages(deps(), tenant.partnerLane, { count, ...more }),
  }
}

describe('POST /messages/requeue', () => {
  test('without a filter is refused and changes nothing; "all": true is accepted', async () => {
    const { tenant, lane, failed } = await tenantWith(2, { first: 491_711_100_000 })
    for (const body of [{}, { dry_run: true }, { all: false }]) {
      const answer = await requeueRequest(service, tenant, body)
      expect(answer.status, JSON.stringify(body)).toBe(400)
      expect(answer.body.error?.details).toEqual([{ path: 'all' }])
    }
    expect(await stateOf(lane, failed[0]?.ulid ?? '')).toBe('failed')
    expect(await requeueAll(service, tenant, { all: true })).toMatchObject({ matched: 2, requeued: 2, failed: 0 })
    await isRead(
      lane,
      failed.map(({ ulid }) => ulid),
    )
  })

  test.each([
    ['an unknown field', { stat: 'failed' }, 'stat'],
    ['a state that nothing is sent again from', { state: 'sent' }, 'state'],
    ['a campaign_id as a campaign', { campaign: 'spring' }, 'campaign'],
    ['a number that is none', { to: '12' }, 'to'],
    ['a number that is none to be received from', { from: '12' }, 'from'],
    ['a direction that is none', { direction: 'sideways' }, 'direction'],
    ['a sender that the account does not have', { sender: '491799999' }, 'sender'],
    ['a time without a zone', { since: '2026-03-01T00:00:00' }, 'since'],
  ])('refuses %s by name', async (_what, body, path) => {
    const tenant = await service.addTenant()
    const answer = await requeueRequest(service, tenant, body)
    expect(answer.status).toBe(400)
    expect(answer.body.error?.details.map((each) => each.path)).toEqual([path])
  })

  test('counts what each filter finds, and a dry run changes nothing', async () => {
    const aMinuteBefore = new Date(Date.now() - 60_000).toISOString()
    const { tenant, lane, failed } = await tenantWith(3, { first: 491_711_200_000 })
    await failMessages(deps(), tenant.cloudLane, { count: 2, first: 491_711_200_003, code: '131026' })
    const count = async (body: object) => {
      const answer = await requeueRequest(service, tenant, { ...body, dry_run: true })
      expect(answer.status, answer.body.message).toBe(200)
      return answer.body.data?.matched
    }
    expect(await count({ all: true })).toBe(5)
    expect(await count({ state: 'failed' })).toBe(5)
    expect(await count({ state: 'unknown' })).toBe(0)
    expect(await count({ sender: `+${tenant.partnerNumber}` })).toBe(3)
    expect(await count({ sender: 'cloud' })).toBe(2)
    expect(await count({ to: '+491 711 200001' })).toBe(1)
    expect(await count({ code: '131026' })).toBe(2)
    expect(await count({ direction: 'outbound' })).toBe(5)
    expect(await count({ direction: 'inbound' })).toBe(0)
    expect(await count({ from: '+491711200001' })).toBe(0)
    expect(await count({ class: 'campaign' })).toBe(0)
    expect(await count({ campaign_id: 'spring' })).toBe(0)
    expect(await count({ campaign: `cmp_${lane}_1` })).toBe(0)
    expect(await count({ since: aMinuteBefore })).toBe(5)
    expect(await count({ until: aMinuteBefore })).toBe(0)
    expect(await stateOf(lane, failed[0]?.ulid ?? '')).toBe('failed')
  })

  test('finds nothing of another account, whose jobs do not exist either', async () => {
    const { tenant } = await tenantWith(1, { first: 491_711_300_000 })
    const other = await service.addTenant()
    expect((await requeueRequest(service, other, { all: true, dry_run: true })).body.data?.matched).toBe(0)
    const { jobId = '' } = await requeueRequest(service, tenant, { state: 'unknown' })
    expect((await jobOf(service, tenant, jobId)).status).toBe(200)
    expect((await jobOf(service, other, jobId)).status).toBe(404)
    expect((await jobOf(service, tenant, 'rq_nothing')).status).toBe(404)
    expect(await requeueJobRecord(service.redis, jobId).livesMs()).toBeGreaterThan(0)
  })

  test('with an Idempotency-Key is one job, however often it is requested', async () => {
    const { tenant, failed } = await tenantWith(3, { first: 491_711_400_000 })
    const headers = { 'idempotency-key': 'again' }
    const answers = await Promise.all(
      Array.from({ length: 4 }, () => requeueRequest(service, tenant, { state: 'failed' }, headers)),
    )
    expect(new Set(answers.map(({ jobId }) => jobId)).size).toBe(1)
    // Absolute, as that of a bulk move.
    expect(answers.map(({ statusUrl }) => statusUrl)).toContain(`${service.url}/jobs/${answers[0]?.jobId}`)
    expect((await requeueRequest(service, tenant, { state: 'unknown' }, headers)).status).toBe(422)
    await isRead(
      tenant.partnerLane,
      failed.map(({ ulid }) => ulid),
    )
    expect(await timesSent(failed.map(({ to }) => to))).toEqual([1, 1, 1])
    // Or a late repeat would be taken for a first request.
    const job = requeueJobRecord(service.redis, answers[0]?.jobId ?? '')
    const remembered = idempotencyOf(service.redis, tenant.account, 'requeue', 'again')
    expect(await remembered.livesMs()).toBeGreaterThan(0)
    expect(await job.livesMs()).toBeGreaterThan(await remembered.livesMs())
  })

  test('reports how many cannot be sent again because their content is gone', async () => {
    const { tenant, lane, failed } = await tenantWith(3, { first: 491_711_500_000 })
    await messageRecord(service.redis, { lane, ulid: failed[1]?.ulid ?? '' }).drop('p')
    const dry = await requeueRequest(service, tenant, { state: 'failed', dry_run: true })
    expect(dry.body.data).toMatchObject({ matched: 3, without_content: 1 })
    const done = await requeueAll(service, tenant, { state: 'failed' })
    expect(done).toMatchObject({ matched: 3, requeued: 2, without_content: 1, ended_at: expect.any(String) })
    expect(await stateOf(lane, failed[1]?.ulid ?? '')).toBe('failed')
  })

  test('skips a broken record and sends its neighbours', async () => {
    const { tenant, lane, failed } = await tenantWith(3, { first: 491_711_600_000 })
    await messageRecord(service.redis, { lane, ulid: failed[0]?.ulid ?? '' }).change({ k: 'broken' })
    expect(await requeueAll(service, tenant, { all: true })).toMatchObject({ matched: 3, requeued: 2, failed: 1 })
  })

  test('skips messages whose campaign has a broken record, and sends their neighbours', async () => {
    const { tenant, lane } = await tenantWith(2, { first: 491_711_700_000 })
    // Enough for the steps, and not what a campaign is.
    await campaignRecord(service.redis, { lane, number: 77 }).change({ state: 'running', total: 1 })
    const [ofIt] = await failMessages(deps(), lane, { count: 1, first: 491_711_700_010, run: 77 })
    const dry = await requeueRequest(service, tenant, { all: true, dry_run: true })
    expect(dry.body.data).toMatchObject({ matched: 3, failed: 1 })
    expect(await requeueAll(service, tenant, { all: true })).toMatchObject({ matched: 3, requeued: 2, failed: 1 })
    expect(await stateOf(lane, ofIt?.ulid ?? '')).toBe('failed')
    const alone = await tenant.api.post(`/messages/${ofIt?.name}/requeue`, {})
    expect(alone).toMatchObject({ status: 500, json: { error: { code: 'internal' } } })
  })
})

describe('a job that sends messages again', () => {
  test('does not send a third time what fails again meanwhile', async () => {
    // No more than it takes for some to fail again before the job is done: on a busy machine each takes a tenth of a second.
    const { tenant, lane, failed } = await tenantWith(150, { first: 15_550_100_104 })
    // All to a number that WhatsApp refuses: each fails again as soon as it has left.
    for (const { ulid } of failed) {
      const record = messageRecord(service.redis, { lane, ulid })
      const payload = JSON.parse((await record.field('p')) ?? '{}')
      await record.change({ t: '15550100104', p: JSON.stringify({ ...payload, to: '15550100104' }) })
    }
    expect(await requeueAll(service, tenant, { state: 'failed' })).toMatchObject({ matched: 150, requeued: 150 })
    await eventually(async () => (await requeueableOn(service.redis, lane).count()) === 150, 'all have failed again')
    for (const { ulid } of failed.slice(0, 20)) {
      const history = (await readMessage(service.redis, { lane, ulid }))?.history ?? ''
      expect(history.split('|').filter((entry) => entry.startsWith('q'))).toHaveLength(1)
    }
  })

  test('is read completely or not at all while it is being written', async () => {
    const { account } = await service.addTenant()
    const id = newRequeueJobId(Date.now())
    const order = { lanes: [], filter: {}, sinceMs: 0, untilMs: 1 }
    const written = createRequeueJob(service.redis, id, { account, order, nowMs: Date.now() })
    const read = await Promise.all(Array.from({ length: 5 }, () => findRequeueJob(service.redis, id)))
    await written
    expect(read.every((job) => job === undefined || job.state === 'waiting')).toBe(true)
    expect(await findRequeueJob(service.redis, id)).toMatchObject({ account, state: 'waiting', order })
    expect(await requeueJobRecord(service.redis, id).livesMs()).toBeGreaterThan(0)
  })

  test('that two workers do at the same time counts and sends each message once', async () => {
    const tenant = await service.addTenant({ rate: 1_000 })
    const lane = tenant.partnerLane
    await queues.pause(lane)
    const failed = await failMessages(deps(), lane, { count: 450, first: 491_712_000_000 })
    await service.stopWorker()
    const id = newRequeueJobId(Date.now())
    const order = await requeueOrder(service.redis, tenant.account, { state: 'failed' }, Date.now())
    await createRequeueJob(service.redis, id, { account: tenant.account, order, nowMs: Date.now() })
    const requeues = openRequeueQueue(service.redis)
    const { queue } = requeues
    // As after a lock that was lost: BullMQ has two workers at one piece of work.
    for (const name of ['one', 'two']) await queue.add('requeue', { v: 1, job: id }, { jobId: name })
    const parts = [1, 2].map(() =>
      startRequeues({ redis: service.redis, config: service.config, log: silentLog, queues }),
    )
    const job = z.object({ data: z.object({ state: z.string(), matched: z.int(), requeued: z.int() }) })
    const done = await eventually(
      async () => {
        const { data } = job.parse((await jobOf(service, tenant, id)).body)
        return data.state === 'done' ? data : undefined
      },
      'it is done',
      100_000,
    )
    expect(done).toMatchObject({ matched: 450, requeued: 450 })
    await Promise.all(parts.map((part) => part.stop(5_000)))
    await requeues.close()
    expect(await allWaitingOn(service.redis, lane)).toHaveLength(450)
    await queues.resume(lane)
    await service.startWorker()
    await isRead(
      lane,
      failed.map(({ ulid }) => ulid),
    )
    expect(new Set(await timesSent(failed.slice(0, 50).map(({ to }) => to)))).toEqual(new Set([1]))
  })

  test('leaves a message whose job was never added, as after a kill, to the sweep', async () => {
    const { lane, failed } = await tenantWith(1, { first: 491_713_000_000 })
    const [{ ulid, to } = { ulid: '', to: '' }] = failed
    await requeueStep(service.redis, { lane, ulid }, { until: Date.now() + 3_600_000, retentionMs: 3_600_000 })
    await queuedAgainOn(service.redis, lane).move(Date.now(), ulid)
    await markLane(service.redis, lane)
    await isRead(lane, [ulid])
    expect(await timesSent([to])).toEqual([1])
    expect(await queuedAgainOn(service.redis, lane).timeOf(ulid)).toBeNull()
  })

  test('does not delay the recovery of a claim lost with its worker', async () => {
    const tenant = await service.addTenant()
    const lane = tenant.cloudLane
    const failed = await failMessages(deps(), lane, { count: 2_000, first: 491_714_000_000 })
    await queues.pause(lane)
    await requeueAll(service, tenant, { state: 'failed' })
    // All of them are due for a look, before the one that was lost.
    const { redis } = service
    await queuedAgainOn(redis, lane).move(Date.now() - 60_000, ...failed.map(({ ulid }) => ulid))
    const [lost] = await failMessages(deps(), lane, { count: 1, first: 491_714_900_000 })
    const id = { lane, ulid: lost?.ulid ?? '' }
    await requeueStep(redis, id, { until: Date.now() + 60_000, retentionMs: 3_600_000 })
    const message = { to: '491714900000', type: 'audio', text: 'x', class: 'transactional' } as const
    const more = { validUntil: Date.now() + 60_000, campaign: undefined, run: undefined }
    const times = { lostAfterMs: 0, evidenceWaitMs: 0, retentionMs: 60_000 }
    await claim(redis, id, 'BBBBBB', { ...message, ...more }, times)
    expect(await inDoubtOn(redis, lane).timeOf(id.ulid)).not.toBeNull()
    const begunAt = Date.now()
    await eventually(async () => (await stateOf(lane, id.ulid)) === 'unconfirmed', 'it is found')
    expect(Date.now() - begunAt).toBeLessThan(15_000 * (await slowness()))
    await loseAllJobs(redis, lane)
  })
})

describe('the list of messages that ended badly', () => {
  test('loses a message together with its record, also one that ended long after it was accepted', async () => {
    const { redis } = service
    const { lane, failed } = await tenantWith(3, { first: 491_715_000_000 })
    const [old, late, kept] = failed
    const month = 30 * 86_400_000
    await messageRecord(redis, { lane, ulid: old?.ulid ?? '' }).remove()
    await requeueableOn(redis, lane).put(Date.now() - month - 1_000, old?.ulid ?? '')
    expect(await trimLane(redis, lane, Date.now() - month)).toBe(1)
    // Accepted before the retention, failed just now, and its record is gone.
    await messageRecord(redis, { lane, ulid: late?.ulid ?? '' }).remove()
    expect(await trimLane(redis, lane, Date.now() + 1)).toBeGreaterThanOrEqual(1)
    expect(await requeueableOn(redis, lane).timeOf(late?.ulid ?? '')).toBeNull()
    expect(await messageRecord(redis, { lane, ulid: kept?.ulid ?? '' }).isThere()).toBe(true)
  })

  test('is trimmed by one worker in each period', async () => {
    const { redis } = service
    await trimmedLately(redis).remove()
    const [lane] = Object.keys(await lanesKnown(redis).fields()).map(Number)
    const how = { nowMs: Date.now(), retentionMs: 86_400_000, everyMs: 60_000 }
    await requeueableOn(redis, lane ?? 0).put(1, '01KAG3V0Z4Q8N6T2R9X5C7B1MD')
    expect(await trimRequeueable(redis, how)).toBe(1)
    await requeueableOn(redis, lane ?? 0).put(1, '01KAG3V0Z4Q8N6T2R9X5C7B1MD')
    expect(await trimRequeueable(redis, how)).toBe(0)
  })

  test('is cleared of missing records by a job that reads it', async () => {
    const { tenant, lane, failed } = await tenantWith(2, { first: 491_715_100_000 })
    await messageRecord(service.redis, { lane, ulid: failed[0]?.ulid ?? '' }).remove()
    expect((await requeueRequest(service, tenant, { all: true, dry_run: true })).body.data?.matched).toBe(1)
    expect(await requeueableOn(service.redis, lane).count()).toBe(1)
  })
})

test('a sent message keeps its content until it is delivered, and no longer', async () => {
  const { redis } = service
  const [made] = await failMessages(deps(), 9_002, { count: 1 })
  const id = { lane: 9_002, ulid: made?.ulid ?? '' }
  await requeueStep(redis, id, { until: Date.now() + 60_000, retentionMs: 3_600_000 })
  const message = { to: '491716000000', type: 'audio', text: 'x', class: 'transactional' } as const
  const more = { validUntil: Date.now() + 60_000, campaign: undefined, run: undefined }
  await claim(redis, id, 'CCCCCC', { ...message, ...more }, { lostAfterMs: 1, evidenceWaitMs: 0, retentionMs: 60_000 })
  const big = JSON.stringify({ v: 1, text: 'x'.repeat(2_000) })
  await messageRecord(redis, id).change({ p: big })
  await recordStatus(redis, id, 'CCCCCC', 'sent')
  expect((await readMessage(redis, id))?.payload).toBe(big)
  expect(await messageRecord(redis, id).encoding()).toBe('hashtable')
  await recordStatus(redis, id, 'CCCCCC', 'delivered')
  expect((await readMessage(redis, id))?.payload).toBeUndefined()
  expect(await messageRecord(redis, id).encoding()).toBe('listpack')
  expect(await messageRecord(redis, id).livesMs()).toBeGreaterThan(0)
})
