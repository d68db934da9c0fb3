// Pins: what waits on a lane but must not be sent is cleared in bulk, leaves what its claim would have left, and holds
// nobody up. Real: Redis, BullMQ, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SendPayload } from '../../src/jobs/send.ts'
import { acceptedAtMs, messageId, newAttemptId, newUlid } from '../../src/kernel/message-id.ts'
import { cancelStep } from '../../src/lanes/cancel-message.ts'
import { clearPage, filterUnsendable } from '../../src/lanes/clear.ts'
import { createClearing } from '../../src/lanes/clearing.ts'
import { newMessageOf } from '../../src/lanes/messages/new-message.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { setNotSent } from '../../src/lanes/messages/steps.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { readHistory } from '../../src/model/messages/history.ts'
import { createCampaign, moveCampaign } from '../../src/recipients/campaigns.ts'
import { readCounts } from '../../src/recipients/recipient-states.ts'
import { redisNowMs } from '../../src/redis/clock.ts'
import { silentLog } from '../support/app.ts'
import { claim } from '../support/claim.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { addSilently, hasJob, jobsOn, waitingOn } from '../support/state/lanes.ts'
import { clearingOf, inDoubtOn, messageRecord, namesOnLane, requeueableOn } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const KEEP_MS = 3_600_000
/** At the pace of the lane they would take 25 s. On an idle machine it is less than a second, see test/prove/. */
const SOON_MS = 12_000
const definition = {
  sender: '1',
  template: { name: 't', language: { code: 'en' }, components: [] },
  recipients: { tags: [1], except: [] },
}
const content = { type: 'audio', audio: { link: 'https://example.com/a.mp3' } } as const

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

type Options = Partial<Pick<SendPayload, 'class' | 'run' | 'until'>> & { from?: number }

/** Puts messages on a lane without a worker being told; returns their ULIDs, the next one first. */
async function queued(lane: number, count: number, options: Options = {}) {
  const { from = 0, ...more } = options
  const now = await redisNowMs(service.redis)
  const messages = Array.from({ length: count }, (_, n) => {
    const ulid = newUlid(Date.now())
    const to = String(491_700_000_000 + from + n)
    const payload: SendPayload = { v: 1, to, class: 'transactional', content, until: now + KEEP_MS, ...more }
    return { ulid, id: messageId(lane, ulid), payload }
  })
  await queues.addMany(messages)
  return messages
}

async function campaignThat(lane: number, ...moves: ('pause' | 'cancel')[]) {
  const id = await createCampaign(service.redis, { account: 1, lane, definition }, Date.now())
  for (const move of ['check', 'pass', 'start', ...moves] as const) await moveCampaign(service.redis, id, move, KEEP_MS)
  return id
}

async function recordOf(lane: number, ulid: string) {
  const record = await readMessage(service.redis, { lane, ulid })
  return record && { ...record, story: readHistory(record.history, acceptedAtMs(ulid)).map(({ code }) => code) }
}

const pastMs = async (): Promise<number> => (await redisNowMs(service.redis)) - 1

/** A lane of 80 a second that is paused, so that a backlog can be laid on it. */
async function pausedLane(): Promise<Tenant> {
  const tenant = await service.addTenant({ defaultProvider: 'cloud-api', rate: 80 })
  await queues.pause(tenant.cloudLane)
  return tenant
}

let lanes = 50_000
const newLane = () => (lanes += 1)

/**
 * What comes of `act` on a lane that `one` clears. Its mark lasts a second: where the machine took longer, another lane is
 * looked at.
 */
const whileOneClears = <T>(act: (lane: number) => Promise<T>) =>
  eventually(async () => {
    const lane = newLane()
    const found = await act(lane)
    const isMarked = (await clearingOf(service.redis, lane, 'transactional').value()) === 'one'
    return isMarked ? { lane, found } : undefined
  }, 'it is seen while the lane is marked')

const arrived = async (to: string): Promise<boolean> =>
  (await readLedger(service.simulator.url)).some((line) => line.to === to)

describe('a fresh message', () => {
  test('leaves soon after the resume although it waits behind 2,000 expired ones, which each get their record', async () => {
    const { cloudLane: lane } = await pausedLane()
    const expired = await queued(lane, 2_000, { until: await pastMs() })
    await queued(lane, 1, { from: 9_001 })
    await queues.resume(lane)
    await eventually(() => arrived('491700009001'), 'the fresh message arrives', SOON_MS)
    await eventually(async () => (await requeueableOn(service.redis, lane).count()) === 2_000, 'all have expired')
    for (const { ulid } of expired.filter((_, n) => n % 100 === 0)) {
      expect(await recordOf(lane, ulid)).toMatchObject({ state: 'expired', story: ['x'], attempt: '' })
    }
  })

  test('of a campaign leaves soon after the resume although it waits behind 2,000 of a cancelled one', async () => {
    const { cloudLane: lane } = await pausedLane()
    const cancelled = await campaignThat(lane, 'cancel')
    await queued(lane, 2_000, { class: 'campaign', run: cancelled.number })
    await queued(lane, 1, { class: 'campaign', from: 9_002 })
    await queues.resume(lane)
    await eventually(() => arrived('491700009002'), 'the fresh message arrives', SOON_MS)
  })
})

describe('clearing a page', () => {
  const page = (lane: number, of: SendPayload['class'], kept = 0, by = 'test') =>
    clearPage(service.redis, { lane, of, by }, { kept, retentionMs: KEEP_MS })
  beforeAll(() => service.stopWorker())

  test('leaves the same record of an expired message as its claim would have', async () => {
    const lane = newLane()
    const [cleared, claimed] = await queued(lane, 2, { until: await pastMs() })
    if (!cleared || !claimed) throw new Error('not queued')
    const times = { lostAfterMs: 1_000, evidenceWaitMs: 1_000, retentionMs: KEEP_MS }
    await claim(service.redis, { lane, ulid: claimed.ulid }, newAttemptId(), newMessageOf(claimed.payload), times)
    expect(await page(lane, 'transactional')).toMatchObject({ expired: 1 })
    const [one, other] = await Promise.all(
      [cleared, claimed].map(async ({ ulid }) => {
        const { h: _history, ...fields } = await messageRecord(service.redis, { lane, ulid }).fields()
        return {
          ...fields,
          t: '',
          ttl: String(Math.round((await messageRecord(service.redis, { lane, ulid }).livesMs()) / 60_000)),
        }
      }),
    )
    expect(one).toMatchObject({ s: 'x', k: 'a', y: 't', p: JSON.stringify(cleared.payload) })
    expect({ ...one, p: '' }).toEqual({ ...other, p: '' })
    expect(await requeueableOn(service.redis, lane).all()).toEqual(expect.arrayContaining([cleared.ulid, claimed.ulid]))
    expect(await hasJob(service.redis, cleared.id)).toBe(false)
  })

  test('keeps messages that may be sent, in order, with their jobs', async () => {
    const lane = newLane()
    const [first] = await queued(lane, 1)
    const expired = await queued(lane, 30, { until: await pastMs(), from: 100 })
    const [last] = await queued(lane, 1, { from: 200 })
    expect(await page(lane, 'transactional')).toEqual({ seen: 32, expired: 30, stopped: 0 })
    expect(await waitingOn(service.redis, lane)).toEqual([first?.id, last?.id])
    expect(await page(lane, 'transactional')).toEqual({ seen: 2, expired: 0, stopped: 0 })
    expect(await jobsOn(service.redis, lane)).toHaveLength(2)
    expect(expired).toHaveLength(30)
  })

  test('leaves no trace of a paused campaign, which feeds its messages again when resumed', async () => {
    const lane = newLane()
    const paused = await campaignThat(lane, 'pause')
    const [message] = await queued(lane, 20, { class: 'campaign', run: paused.number })
    expect(await page(lane, 'campaign')).toEqual({ seen: 20, expired: 0, stopped: 20 })
    expect(await recordOf(lane, message?.ulid ?? '')).toBeUndefined()
    expect(await readCounts(service.redis, paused)).toEqual({})
    expect(await namesOnLane(service.redis, lane, message?.ulid)).toEqual([])
    await moveCampaign(service.redis, paused, 'resume', KEEP_MS)
    await queued(lane, 1, { class: 'campaign', run: paused.number })
    expect(await page(lane, 'campaign')).toEqual({ seen: 1, expired: 0, stopped: 0 })
  })

  test('cancels messages of a cancelled campaign that waited for another try, and counts them', async () => {
    const lane = newLane()
    const campaign = await campaignThat(lane)
    const [message] = await queued(lane, 1, { class: 'campaign', run: campaign.number })
    if (!message) throw new Error('not queued')
    const [id, attempt] = [{ lane, ulid: message.ulid }, newAttemptId()]
    const times = { lostAfterMs: 1_000, evidenceWaitMs: 1_000, retentionMs: KEEP_MS }
    await claim(service.redis, id, attempt, newMessageOf(message.payload), times)
    await setNotSent(service.redis, id, attempt, { counts: false, maxTries: 3, problem: { code: '4', sentence: '' } })
    await moveCampaign(service.redis, campaign, 'cancel', KEEP_MS)
    expect(await page(lane, 'campaign')).toEqual({ seen: 1, expired: 0, stopped: 1 })
    expect(await recordOf(lane, message.ulid)).toMatchObject({ state: 'cancelled', story: ['c', 'u', 'k'] })
    expect(await readCounts(service.redis, campaign)).toEqual({ cancelled: 1 })
    expect(await inDoubtOn(service.redis, lane).timeOf(message.ulid)).toBeNull()
    expect(await requeueableOn(service.redis, lane).timeOf(message.ulid), 'a requeue counts it').not.toBeNull()
  })

  test('removes the jobs of messages that were cancelled with their campaign', async () => {
    const lane = newLane()
    const messages = await queued(lane, 3, { class: 'campaign' })
    for (const { ulid } of messages.slice(0, 2)) await cancelStep(service.redis, { lane, ulid }, KEEP_MS)
    expect(await page(lane, 'campaign')).toEqual({ seen: 3, expired: 0, stopped: 2 })
    expect(await queues.counts(lane)).toMatchObject({ prioritized: 1 })
    expect(await recordOf(lane, messages[0]?.ulid ?? '')).toMatchObject({ state: 'cancelled' })
  })

  test('does not touch an expired job whose id belongs to another lane, nor writes a record for it', async () => {
    const [lane, other] = [newLane(), newLane()]
    const ulid = newUlid(Date.now())
    const payload = { v: 1, to: '491700000000', class: 'transactional', content, until: await pastMs() }
    await addSilently(service.redis, lane, messageId(other, ulid), payload)
    expect(await page(lane, 'transactional')).toEqual({ seen: 1, expired: 0, stopped: 0 })
    expect(await waitingOn(service.redis, lane)).toEqual([messageId(other, ulid)])
    expect([await recordOf(lane, ulid), await recordOf(other, ulid)]).toEqual([undefined, undefined])
  })

  test('does not touch a job that cannot be read', async () => {
    const lane = newLane()
    await addSilently(service.redis, lane, messageId(lane, newUlid(Date.now())), { v: 1, until: 1 })
    await addSilently(service.redis, lane, 'not-an-id', { any: 'thing' })
    expect(await page(lane, 'transactional')).toEqual({ seen: 2, expired: 0, stopped: 0 })
    expect(await waitingOn(service.redis, lane)).toHaveLength(2)
  })

  test('is left to the worker that already clears the lane', async () => {
    const { lane, found } = await whileOneClears(async (lane) => {
      await queued(lane, 510, { until: await pastMs() })
      return [await page(lane, 'transactional', 0, 'one'), await page(lane, 'transactional', 0, 'another')]
    })
    expect(found).toMatchObject([{ expired: 500 }, undefined])
    expect(await page(lane, 'transactional', 0, 'one')).toMatchObject({ expired: 10 })
  })

  test('ends when few messages must not be sent and many may', async () => {
    const lane = newLane()
    await queued(lane, 520)
    await queued(lane, 50, { until: await pastMs() })
    await queued(lane, 470)
    const stale = await queued(lane, 5, { until: await pastMs() })
    const clearing = createClearing({ redis: service.redis, config: { retentionMs: KEEP_MS }, log: silentLog })
    expect(await filter(lane, 'transactional', { kept: 0, most: 1 })).toEqual({ seen: 1, moved: 0 })
    clearing.begin(lane, 'transactional')
    // Nothing is moved of the first page, so that nothing is cleared.
    await eventually(async () => !(await clearingOf(service.redis, lane, 'transactional').isThere()), 'it ends')
    clearing.stop()
    expect(await waitingOn(service.redis, lane)).toHaveLength(1_045)
    expect(stale).toHaveLength(5)
  })
})

describe('filtering', () => {
  beforeAll(() => service.stopWorker())

  test('moves messages that may be sent to the front, in order, and removes nothing', async () => {
    const lane = 60_001
    const ids = (messages: { id: string }[]) => messages.map(({ id }) => id)
    const first = ids(await queued(lane, 2, { until: await pastMs() }))
    const fresh = ids(await queued(lane, 3, { from: 100 }))
    const between = ids(await queued(lane, 2, { until: await pastMs(), from: 200 }))
    const last = ids(await queued(lane, 2, { from: 300 }))
    expect(await filter(lane, 'transactional', { kept: 0, most: 7 })).toEqual({ seen: 7, moved: 4 })
    expect(await waitingOn(service.redis, lane)).toEqual([...fresh, ...last, ...first, ...between])
    expect(await filter(lane, 'transactional', { kept: 3, most: 4 })).toEqual({ seen: 4, moved: 2 })
  })

  test('moves campaign messages that may be sent to the front, and lets later ones follow', async () => {
    const lane = 60_002
    const [cancelled, running] = [await campaignThat(lane, 'cancel'), await campaignThat(lane)]
    const held = await queued(lane, 3, { class: 'campaign', run: cancelled.number })
    const fresh = await queued(lane, 2, { class: 'campaign', run: running.number, from: 100 })
    expect(await filter(lane, 'campaign', { kept: 0, most: 5 })).toEqual({ seen: 5, moved: 3 })
    const later = await queued(lane, 2, { class: 'campaign', run: running.number, from: 200 })
    const order = await waitingOn(service.redis, lane, 'campaign')
    expect(order.slice(0, 4)).toEqual([...fresh, ...later].map(({ id }) => id))
    expect(new Set(order.slice(4))).toEqual(new Set(held.map(({ id }) => id)))
    // What was moved is not looked at again.
    expect(await filter(lane, 'campaign', { kept: 0, most: 10 })).toEqual({ seen: 4, moved: 0 })
  })

  test('does not move a job that cannot be read', async () => {
    const lane = 60_003
    await addSilently(service.redis, lane, 'not-an-id', { any: 'thing' })
    await queued(lane, 1, { until: await pastMs() })
    expect(await filter(lane, 'transactional', { kept: 0, most: 2 })).toEqual({ seen: 2, moved: 1 })
    expect((await waitingOn(service.redis, lane))[0]).toBe('not-an-id')
  })

  test('is left to the worker that already clears the lane', async () => {
    const { found } = await whileOneClears(async (lane) => {
      await queued(lane, 2, { until: await pastMs() })
      const filtered = (by: string) => filter(lane, 'transactional', { kept: 0, most: 1 }, by)
      return [await filtered('one'), await filtered('another')]
    })
    expect(found).toEqual([{ seen: 1, moved: 1 }, undefined])
  })
})

const filter = (lane: number, of: SendPayload['class'], how: { kept: number; most: number }, by = 'test') =>
  filterUnsendable(service.redis, { lane, of, by }, how)
