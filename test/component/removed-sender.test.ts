// Pins: whatever a producer still believes of a sender while it is removed, its message is refused or keeps the sender, and
// is never accepted and then forgotten. Real: Redis; the producer that stalls is a connection of its own.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acceptBatch } from '../../src/accept/accept-batch.ts'
import { acceptMessage } from '../../src/accept/accept-message.ts'
import { Refusal } from '../../src/accept/refusal.ts'
import { dropSender } from '../../src/accounts/commands/senders.ts'
import { createSeal } from '../../src/accounts/seal.ts'
import { secretKeysOf } from '../../src/accounts/secret-key.ts'
import { addSender } from '../../src/accounts/store/add-sender.ts'
import { findSender } from '../../src/accounts/store/senders.ts'
import { startCampaign } from '../../src/campaigns/commands/lifecycle.ts'
import { type Campaign, createCampaign, findCampaign } from '../../src/campaigns/store/campaigns.ts'
import { openCampaignQueue } from '../../src/campaigns/store/queue.ts'
import { closeLane, isLaneClosed } from '../../src/lanes/close.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { parseMessageId } from '../../src/messages/message-id.ts'
import { readMessage } from '../../src/messages/store/records.ts'
import { laneBacklogKeys, laneChunkKeys, laneJobKey } from '../../src/redis/bullmq-layout.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { activeCampaignsKey, campaignKey, inDoubtKey, queuedAgainKey } from '../../src/redis/keys.ts'
import { requeueMessage } from '../../src/requeue/requeue.ts'
import { imageBody } from '../support/example-messages.ts'
import { failMessages } from '../support/requeueable.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'

const RETENTION_MS = 86_400_000

let service: Service
let redis: Redis
let queues: LaneQueues
beforeAll(async () => {
  service = await startService({ worker: false })
  redis = service.redis
  queues = openLaneQueues(redis)
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

/** A producer that knows the tenant's senders, and whose steps on a queue of the lane are held until they are let go. */
async function stallingProducer(lane: number) {
  const own = connectWithRetry(service.server.url)
  await own.ping()
  const ownQueues = openLaneQueues(own)
  const send = own.sendCommand
  let letGo = (): void => {}
  const isLetGo = new Promise<void>((resolve) => {
    letGo = resolve
  })
  let isHeld = (): void => {}
  const held = new Promise<void>((resolve) => {
    isHeld = resolve
  })
  Reflect.set(own, 'sendCommand', (...args: Parameters<typeof send>) => {
    if (!JSON.stringify(args[0].args).includes(`:lane-${lane}`)) return Reflect.apply(send, own, args)
    isHeld()
    isLetGo.then(() => Reflect.apply(send, own, args)).catch(() => {})
    return args[0].promise
  })
  const deps = {
    redis: own,
    queues: ownQueues,
    config: service.config,
    onFault: (error: unknown) => expect(error).toBe('none'),
  }
  return {
    deps,
    held,
    letGo,
    async close() {
      letGo()
      await ownQueues.close()
      own.disconnect()
    },
  }
}

const bodyOf = (more: object = {}): Record<string, unknown> => ({ ...imageBody(), api_key: undefined, ...more })
const remove = (lane: number) => dropSender({ redis, queues }, lane, RETENTION_MS)
const hasJob = async (id: string): Promise<boolean> =>
  (await redis.exists(laneJobKey(parseMessageId(id)?.lane ?? 0, id))) === 1

async function tenantWithout(): Promise<Tenant> {
  return service.addTenant()
}

/** Accepts while the sender is removed: it is known before, and the step that adds comes after. */
async function acceptWhileRemoved<T>(
  tenant: Tenant,
  accept: (deps: Awaited<ReturnType<typeof stallingProducer>>['deps']) => Promise<T>,
): Promise<PromiseSettledResult<T>> {
  const producer = await stallingProducer(tenant.partnerLane)
  try {
    const accepting = accept(producer.deps)
    const ended = Promise.allSettled([accepting])
    await producer.held
    await remove(tenant.partnerLane)
    producer.letGo()
    const [end] = await ended
    return end
  } finally {
    await producer.close()
  }
}

describe('a message that was judged before its sender was removed, and reaches its lane after that,', () => {
  test.each([
    ['is refused as one of an unknown sender', {}],
    ['is refused when it was to leave later', { send_at: new Date(Date.now() + 3_600_000).toISOString() }],
  ])('%s', async (_name, more) => {
    const tenant = await tenantWithout()
    const end = await acceptWhileRemoved(tenant, (deps) =>
      acceptMessage(deps, {
        ...{ account: tenant.account, kind: 'service', body: bodyOf(more), unknownFields: 'ignored' },
        idempotencyKey: undefined,
      }),
    )
    expect(end).toMatchObject({ status: 'rejected', reason: { code: 'unknown_sender' } })
    expect('reason' in end && end.reason).toBeInstanceOf(Refusal)
    expect(await redis.keys(`${laneJobKey(tenant.partnerLane, '')}*`)).toEqual([])
  })

  test('is refused alone in a batch, whose other lanes get theirs', async () => {
    const tenant = await tenantWithout()
    const named = (sender: string) =>
      bodyOf({ sender, type: 'template', image: undefined, template: { name: 'x', language: { code: 'en' } } })
    await redis.hset(`lw:account:${tenant.account}`, 'template_check', 'off')
    const messages = [named(tenant.partnerNumber), named(tenant.cloudNumber)]
    const end = await acceptWhileRemoved(tenant, (deps) =>
      acceptBatch(deps, { account: tenant.account, body: { messages }, idempotencyKey: undefined }),
    )
    expect(end).toMatchObject({
      status: 'fulfilled',
      value: [
        { index: 0, error: { code: 'unknown_sender' } },
        { index: 1, id: expect.any(String) },
      ],
    })
    const [, other] = end.status === 'fulfilled' ? end.value : []
    expect(other !== undefined && 'id' in other && (await hasJob(other.id))).toBe(true)
  })
})

test('a lane is closed only when nothing at all is on it', async () => {
  const lane = 4_711
  const { waiting, prioritized, delayed, active } = laneBacklogKeys(lane)
  const { chunksWaiting, chunksDelayed, chunksActive } = laneChunkKeys(lane)
  const lists = [waiting, active, chunksWaiting, chunksActive]
  const sorted = [prioritized, delayed, chunksDelayed, inDoubtKey(lane), queuedAgainKey(lane)]
  const campaigns = activeCampaignsKey(lane)
  const places = [
    ...lists.map((key) => ({ key, put: () => redis.rpush(key, 'a') })),
    ...sorted.map((key) => ({ key, put: () => redis.zadd(key, 1, 'a') })),
    { key: campaigns, put: () => redis.hset(campaigns, '1', 'running') },
  ]
  for (const { key, put } of places) {
    await put()
    expect([await closeLane(redis, lane), await isLaneClosed(redis, lane)], key).toEqual([false, false])
    await redis.del(key)
  }
  expect([await closeLane(redis, lane), await isLaneClosed(redis, lane)]).toEqual([true, true])
})

test('a message that was accepted in the last moment keeps its sender', async () => {
  const tenant = await tenantWithout()
  const removing = remove(tenant.partnerLane)
  removing.catch(() => {})
  const { id } = await acceptMessage(
    { redis, queues, config: service.config },
    {
      ...{ account: tenant.account, kind: 'service', body: bodyOf(), unknownFields: 'ignored' },
      idempotencyKey: undefined,
    },
  )
  await expect(removing).rejects.toMatchObject({ code: 'sender_busy' })
  expect(await hasJob(id)).toBe(true)
  expect((await findSender(redis, tenant.partnerLane))?.removed_at).toBeUndefined()
})

test('a message that ended is not queued again once its sender is removed', async () => {
  const tenant = await tenantWithout()
  const [failed] = await failMessages({ redis, queues }, tenant.partnerLane, { count: 1 })
  if (failed === undefined) throw new Error('no message failed')
  await remove(tenant.partnerLane)
  const requeued = await requeueMessage({ redis, queues, config: service.config }, failed)
  expect(requeued).toMatchObject({ verdict: 'sender_removed' })
  expect((await readMessage(redis, failed))?.state).toBe('failed')
  expect(await hasJob(failed.name)).toBe(false)
  const path = `/messages/${failed.name}/requeue`
  const key = await tenant.key('messages:send')
  const answer = await fetch(service.url + path, { method: 'POST', headers: { authorization: `Bearer ${key}` } })
  expect([answer.status, await answer.json()]).toMatchObject([409, { error: { code: 'sender_removed' } }])
})

test('a campaign that was made ready while its sender was removed does not start', async () => {
  const tenant = await tenantWithout()
  await remove(tenant.partnerLane)
  const definition: Campaign['definition'] = {
    name: 'late',
    sender: tenant.partnerNumber,
    template: { name: 'x', language: { code: 'en' }, components: [] },
    recipients: { tags: [1], except: [] },
  }
  await redis.hset(`lw:account:${tenant.account}`, 'template_check', 'off')
  const id = await createCampaign(redis, { account: tenant.account, lane: tenant.partnerLane, definition }, Date.now())
  await redis.hset(campaignKey(id.lane, id.number), 'state', 'ready')
  const campaign = await findCampaign(redis, id)
  if (campaign === undefined) throw new Error('no campaign')
  const queue = openCampaignQueue(redis)
  const starting = startCampaign({ redis, queue, retentionMs: RETENTION_MS }, campaign)
  await expect(starting).rejects.toMatchObject({ code: 'wrong_state', message: expect.stringContaining('was removed') })
  expect((await findCampaign(redis, id))?.state).toBe('ready')
  await queue.close()
})

test('chunks of a campaign are not put on the lane of a removed sender', async () => {
  const tenant = await tenantWithout()
  const lane = tenant.partnerLane
  await remove(lane)
  await queues.addChunks(lane, [{ v: 1, run: 1, from: 0, count: 1 }], '1-0')
  expect((await queues.counts(lane)).chunked).toBe(0)
  expect(await redis.keys(`${laneJobKey(lane, '').slice(0, -1)}-chunks:*`)).toEqual([])
})

test('a sender that is added again with the number of its lane takes messages', async () => {
  const tenant = await tenantWithout()
  const lane = tenant.partnerLane
  await remove(lane)
  await addSender(redis, {
    ...{ id: lane, account: tenant.account, number: tenant.partnerNumber, name: '', provider: 'partner-api' },
    ...{ baseUrl: service.simulator.url, phoneNumberId: '', rate: 10, honoursIdempotency: false, isDefault: false },
    sealedToken: createSeal(secretKeysOf(service.config)).encrypt('token'),
  })
  const other = openLaneQueues(redis)
  const request = { account: tenant.account, kind: 'service', body: bodyOf(), unknownFields: 'ignored' } as const
  const { id } = await acceptMessage(
    { redis, queues: other, config: service.config },
    { ...request, idempotencyKey: undefined },
  )
  expect(await hasJob(id)).toBe(true)
  await other.close()
})
