// Pins: whatever a producer still believes of a sender while it is removed, its message is refused or keeps the sender, and
// is never accepted and then forgotten. Real: Redis; the producer that stalls is a connection of its own.
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { addSender } from '../../src/accounts/add-sender.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { findSender, setDefaultSender } from '../../src/accounts/senders.ts'
import { dropSender } from '../../src/admin/senders.ts'
import { startCampaign } from '../../src/campaigns/commands/moves.ts'
import { runAgain } from '../../src/campaigns/commands/run-again.ts'
import { openCampaignQueue } from '../../src/campaigns/store/queue.ts'
import { openFolder } from '../../src/files/folder.ts'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import { Refusal } from '../../src/kernel/refusal.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { closeLane, isLaneClosed } from '../../src/lanes/closed-lanes.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { addPlaces } from '../../src/lanes/places.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { acceptBatch, writePlan } from '../../src/messages/accept/accept-batch.ts'
import { acceptMessage } from '../../src/messages/accept/accept-message.ts'
import { requeueMessage } from '../../src/messages/requeue/requeue.ts'
import { type Campaign, createCampaign, findCampaign } from '../../src/recipients/campaigns.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { bodyDigest, rememberKey } from '../../src/redis/idempotency.ts'
import { errorOf } from '../support/api-error.ts'
import { imageBody, listBody } from '../support/example-messages.ts'
import { acknowledgedId } from '../support/messages.ts'
import { failMessages } from '../support/requeueable.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { accountRecord } from '../support/state/accounts.ts'
import { placesOfWork } from '../support/state/everything.ts'
import { hasJob as hasJobThere, isAboutJobsOf, namesInQueue } from '../support/state/lanes.ts'
import { campaignRecord, campaignsOf, messageRecord } from '../support/state/messages.ts'
import { gate } from '../support/wait.ts'

const setTimeoutOf = globalThis.setTimeout
const RETENTION_MS = 86_400_000
/** How long that is, as accounts/add-sender.ts has it. */
const CACHED_MS = 1_500

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
  const { open: letGo, opened: isLetGo } = gate()
  const { open: isHeld, opened: held } = gate()
  Reflect.set(own, 'sendCommand', (...args: Parameters<typeof send>) => {
    if (!isAboutJobsOf(lane, args[0].args)) return Reflect.apply(send, own, args)
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
/** A removal waits until no process has the sender cached. Here none has, or only one that is to believe in it longer. */
async function remove(lane: number): Promise<void> {
  const wait = vi
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation(((work: () => void, ms?: number) =>
      setTimeoutOf(work, ms === CACHED_MS ? 0 : ms)) as typeof setTimeout)
  await removeAfterWait(lane).finally(() => wait.mockRestore())
}
const removeAfterWait = (lane: number) => dropSender({ redis, queues }, lane, RETENTION_MS)
const hasJob = (id: string): Promise<boolean> => hasJobThere(redis, id)

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

/** A first request of the tenant's that died between its key and its message, which was to leave from this lane. */
async function diedBefore({ account }: Tenant, lane: number, key: string, body: Record<string, unknown>) {
  const id = messageId(lane, newUlid(Date.now()))
  await rememberKey(redis, { account, route: 'service', key, digest: bodyDigest(body) }, id)
  return id
}
const SERVICE = '/sendservicemessages/sendmessages'
const repeat = async ({ apiKey }: Pick<Tenant, 'apiKey'>, key: string, body: object) =>
  service.post(SERVICE, { ...body, api_key: apiKey }, { 'idempotency-key': key })
/** Only partner-api takes it. */
const partnerOnly = () =>
  bodyOf({
    image: undefined,
    ...listBody({ header: { type: 'image', image: { link: 'https://x.example/a.png' } } }),
    api_key: undefined,
  })

describe('a repeat whose first request died before it made the message', () => {
  test('is checked against the sender in its reserved id, even if the default one has changed', async () => {
    const tenant = await service.addTenant()
    const id = await diedBefore(tenant, tenant.partnerLane, 'judged', partnerOnly())
    await setDefaultSender(redis, tenant.account, tenant.cloudLane)
    expect(acknowledgedId(await repeat(tenant, 'judged', partnerOnly()))).toBe(id)
    expect(await hasJob(id)).toBe(true)
  })

  test('is checked in the same way when the first request takes the key while the repeat is under way', async () => {
    const tenant = await service.addTenant()
    await setDefaultSender(redis, tenant.account, tenant.cloudLane)
    const own = connectWithRetry(service.server.url)
    const send = own.sendCommand
    let id = ''
    Reflect.set(own, 'sendCommand', (...args: Parameters<typeof send>) => {
      const [{ name, args: words }] = args
      if (id !== '' || name !== 'set' || !JSON.stringify(words).includes('idempotency')) {
        return Reflect.apply(send, own, args)
      }
      diedBefore(tenant, tenant.partnerLane, 'raced', bodyOf())
        .then((made) => {
          id = made
          return Reflect.apply(send, own, args)
        })
        .catch(() => {})
      return args[0].promise
    })
    const ownQueues = openLaneQueues(own)
    try {
      const accepting = acceptMessage(
        { redis: own, queues: ownQueues, config: service.config },
        {
          ...{ account: tenant.account, kind: 'service', body: bodyOf(), unknownFields: 'ignored' },
          ...{ idempotencyKey: 'raced', senders: [tenant.cloudLane] },
        },
      )
      await expect(accepting).rejects.toMatchObject({ code: 'forbidden' })
      expect([parseMessageId(id)?.lane, await hasJob(id)]).toEqual([tenant.partnerLane, false])
    } finally {
      await ownQueues.close()
      own.disconnect()
    }
  })

  test.each([
    ['may be made with a key for that sender', 'partnerLane', 200],
    ['is refused with a key for the default one alone', 'cloudLane', 403],
  ] as const)('%s', async (_name, lane, status) => {
    const tenant = await service.addTenant()
    const id = await diedBefore(tenant, tenant.partnerLane, 'bound', bodyOf())
    await setDefaultSender(redis, tenant.account, tenant.cloudLane)
    const permissions = ['messages:send'] as const
    const bound = { senders: [tenant[lane]] }
    const { secret } = await createCredential(redis, tenant.account, permissions, Date.now(), 0, '', bound)
    expect((await repeat({ apiKey: secret }, 'bound', bodyOf())).status).toBe(status)
    expect(await hasJob(id)).toBe(status === 200)
  })

  test('counts as a first request when its sender was removed: it gets one id, however often it comes', async () => {
    const tenant = await service.addTenant()
    const id = await diedBefore(tenant, tenant.partnerLane, 'removed', bodyOf())
    await remove(tenant.partnerLane)
    const none = await repeat(tenant, 'removed', bodyOf())
    expect(errorOf({ json: none.body })).toMatchObject({ code: 'unknown_sender' })
    await setDefaultSender(redis, tenant.account, tenant.cloudLane)
    const answers = await Promise.all(Array.from({ length: 20 }, () => repeat(tenant, 'removed', bodyOf())))
    const ids = new Set(answers.map(acknowledgedId))
    expect(ids.size).toBe(1)
    const [made = ''] = ids
    expect(parseMessageId(made)?.lane).toBe(tenant.cloudLane)
    expect([await hasJob(made), await hasJob(id)]).toEqual([true, false])
    expect(acknowledgedId(await repeat(tenant, 'removed', bodyOf()))).toBe(made)
    const other = await repeat(tenant, 'removed', bodyOf({ to: '+491700000077' }))
    expect([other.status, errorOf({ json: other.body }).code]).toEqual([422, 'idempotency_key_reused'])
  })

  test('is the one message even if its first request goes on later, which is refused for the removed sender', async () => {
    const tenant = await service.addTenant()
    const first = await acceptWhileRemoved(tenant, (deps) =>
      acceptMessage(deps, {
        ...{ account: tenant.account, kind: 'service', body: bodyOf(), unknownFields: 'ignored' },
        idempotencyKey: 'revived',
      }),
    )
    expect(first).toMatchObject({ status: 'rejected', reason: { code: 'unknown_sender' } })
    await setDefaultSender(redis, tenant.account, tenant.cloudLane)
    const made = acknowledgedId(await repeat(tenant, 'revived', bodyOf()))
    expect([parseMessageId(made)?.lane, await hasJob(made)]).toEqual([tenant.cloudLane, true])
  })
})

test('a repeat of a campaign whose sender was removed before it was made is made for the new owner of the number', async () => {
  const tenant = await service.addTenant()
  const { account, partnerNumber: number, partnerLane } = tenant
  const template = { name: 'x', language: { code: 'en' }, components: [] }
  const body = { name: 'late', sender: number, template, recipients: { tags: [1] } }
  const where = { account, route: 'campaign', key: 'campaign' }
  await rememberKey(redis, { ...where, digest: bodyDigest(body) }, `cmp_${partnerLane}_7`)
  await remove(partnerLane)
  const lane = await addSender(redis, {
    ...{ account, number, name: '', provider: 'partner-api', phoneNumberId: '', baseUrl: service.simulator.url },
    ...{ rate: 10, honoursIdempotency: false, isDefault: false },
    sealedToken: createSeal(secretKeysOf(service.config)).encrypt('token'),
  })
  const once = { 'idempotency-key': 'campaign' }
  const made = await tenant.api.post('/campaigns', body, once)
  expect(made).toMatchObject({
    status: 201,
    json: { data: { id: expect.stringMatching(`^cmp_${lane}_`), sender: number } },
  })
  expect((await tenant.api.post('/campaigns', body, once)).json).toEqual(made.json)
})

test('a repeat of a message that was sent keeps its id after its sender was removed', async () => {
  const tenant = await service.addTenant()
  const id = await diedBefore(tenant, tenant.partnerLane, 'sent', bodyOf())
  const parsed = parseMessageId(id)
  if (!parsed) throw new Error('no id')
  await messageRecord(redis, parsed).change({ state: 'sent' })
  await remove(tenant.partnerLane)
  await setDefaultSender(redis, tenant.account, tenant.cloudLane)
  expect(acknowledgedId(await repeat(tenant, 'sent', bodyOf()))).toBe(id)
})

test('a repeat of a batch is checked against the lanes of its plan, and reports a sender that was removed', async () => {
  const tenant = await service.addTenant()
  const messages = [partnerOnly(), bodyOf({ to: '+491700000088' })]
  const lane = tenant.partnerLane
  const plan = writePlan({ ulid: newUlid(Date.now()), lanes: [lane, lane] })
  const digest = bodyDigest({ messages })
  await rememberKey(redis, { account: tenant.account, route: 'batch', key: 'plan', digest }, plan)
  await setDefaultSender(redis, tenant.account, tenant.cloudLane)
  const once = { 'idempotency-key': 'plan' }
  const first = await tenant.api.post('/messages/batch', { messages }, once)
  const id = expect.stringContaining(`msg_${lane}_`)
  expect(first.json).toEqual({
    results: [
      { index: 0, id },
      { index: 1, id },
    ],
  })

  const gone = await service.addTenant()
  const ofGone = writePlan({ ulid: newUlid(Date.now()), lanes: [gone.partnerLane, gone.cloudLane] })
  await rememberKey(redis, { account: gone.account, route: 'batch', key: 'plan', digest }, ofGone)
  await remove(gone.partnerLane)
  await setDefaultSender(redis, gone.account, gone.cloudLane)
  const second = await gone.api.post('/messages/batch', { messages }, once)
  const message = 'The sender of this message was removed; send it again under a new Idempotency-Key.'
  expect(second.json).toMatchObject({
    results: [
      { index: 0, error: { code: 'unknown_sender', message } },
      { index: 1, id: expect.stringContaining(`msg_${gone.cloudLane}_`) },
    ],
  })
})

describe('a message that was checked before its sender was removed, and reaches its lane afterwards,', () => {
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
    expect(await namesInQueue(redis, tenant.partnerLane)).toEqual([])
  })

  test('is the only one refused in a batch; the other lanes get theirs', async () => {
    const tenant = await tenantWithout()
    const named = (sender: string) =>
      bodyOf({ sender, type: 'template', image: undefined, template: { name: 'x', language: { code: 'en' } } })
    await accountRecord(redis, tenant.account).change({ template_check: 'off' })
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
  const places = placesOfWork(redis, lane)
  expect(places).toHaveLength(8)
  for (const { name, put, clear } of places) {
    await put()
    expect([await closeLane(redis, lane), await isLaneClosed(redis, lane)], name).toEqual([false, false])
    await clear()
  }
  expect([await closeLane(redis, lane), await isLaneClosed(redis, lane)]).toEqual([true, true])
})

test('a message accepted at the last moment keeps its sender', async () => {
  const tenant = await tenantWithout()
  const removing = removeAfterWait(tenant.partnerLane)
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

test('a message that ended is not requeued once its sender is removed', async () => {
  const tenant = await tenantWithout()
  const [failed] = await failMessages({ redis, queues }, tenant.partnerLane, { count: 1 })
  if (failed === undefined) throw new Error('no message failed')
  await remove(tenant.partnerLane)
  const config = { ...service.config, files: openFolder(service.config.dataDir) }
  const requeued = await requeueMessage({ redis, queues, config }, failed)
  expect(requeued).toMatchObject({ verdict: 'sender_removed' })
  expect((await readMessage(redis, failed))?.state).toBe('failed')
  expect(await hasJob(failed.name)).toBe(false)
  const answer = await tenant.api.post(`/messages/${failed.name}/requeue`)
  expect([answer.status, answer.json]).toMatchObject([409, { error: { code: 'sender_removed' } }])
})

test('a campaign prepared while its sender was removed does not start', async () => {
  const tenant = await tenantWithout()
  await remove(tenant.partnerLane)
  const definition: Campaign['definition'] = {
    name: 'late',
    sender: tenant.partnerNumber,
    template: { name: 'x', language: { code: 'en' }, components: [] },
    recipients: { tags: [1], except: [] },
  }
  await accountRecord(redis, tenant.account).change({ template_check: 'off' })
  const id = await createCampaign(redis, { account: tenant.account, lane: tenant.partnerLane, definition }, Date.now())
  await campaignRecord(redis, id).change({ state: 'ready' })
  const campaign = await findCampaign(redis, id)
  if (campaign === undefined) throw new Error('no campaign')
  const queue = openCampaignQueue(redis)
  const starting = startCampaign({ redis, queue, retentionMs: RETENTION_MS }, campaign)
  await expect(starting).rejects.toMatchObject({ code: 'wrong_state', message: expect.stringContaining('was removed') })
  expect((await findCampaign(redis, id))?.state).toBe('ready')
  await queue.close()
})

test('a new run of a campaign whose sender was removed is refused before anything is made', async () => {
  const tenant = await tenantWithout()
  await remove(tenant.partnerLane)
  const definition: Campaign['definition'] = {
    name: 'over',
    sender: tenant.partnerNumber,
    template: { name: 'x', language: { code: 'en' }, components: [] },
    recipients: { tags: [1], except: [] },
  }
  const id = await createCampaign(redis, { account: tenant.account, lane: tenant.partnerLane, definition }, Date.now())
  await campaignRecord(redis, id).change({ state: 'cancelled', snapshot: 'frozen', total: 2 })
  const campaign = await findCampaign(redis, id)
  if (campaign === undefined) throw new Error('no campaign')
  const queue = openCampaignQueue(redis)
  const resuming = runAgain({ redis, queue, retentionMs: RETENTION_MS }, campaign, 'cancelled', undefined)
  await expect(resuming).rejects.toMatchObject({ code: 'wrong_state', message: expect.stringContaining('was removed') })
  expect(await campaignsOf(redis, tenant.account).count()).toBe(1)
  await queue.close()
})

test('places of a campaign are not put on the lane of a removed sender', async () => {
  const tenant = await tenantWithout()
  const lane = tenant.partnerLane
  await remove(lane)
  await addPlaces(redis, { lane, number: 1 }, [{ from: 0, count: 1 }])
  expect((await queues.counts(lane)).places).toBe(0)
})

test('a sender added again with the number of its lane accepts messages', async () => {
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
