// Pins: campaigns through the client, over both ways to Laneway: the same rules, every job safe to run again.
// Real: Redis, producer, worker, client, a plain BullMQ queue. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type CampaignDefinition, connectLaneway, type Laneway } from '../../packages/client/src/index.ts'
import { setSenderRate } from '../../src/accounts/senders.ts'
import { INTAKE_QUEUE, intakeAnswers } from '../../src/jobs/intake.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { intakeQueue } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

let service: CampaignService
let laneway: Laneway
let queue: ReturnType<typeof intakeQueue>

beforeAll(async () => {
  service = await startCampaigns({ rate: 1 })
  laneway = await connectLaneway({ redisUrl: service.server.url, apiKey: service.tenant.apiKey })
  queue = intakeQueue(service.server.url, INTAKE_QUEUE)
})
afterAll(async () => {
  await laneway?.close()
  await queue?.close()
  await service?.close()
})

const toTag = (tag: number, more: Partial<CampaignDefinition> = {}): CampaignDefinition => ({
  sender: service.sender,
  template: {
    name: 'spring',
    language: { code: 'en_US' },
    components: [{ type: 'BODY', parameters: [{ type: 'text', text: { from: 'contact.name' } }] }],
  },
  recipients: { tags: [tag] },
  ...more,
})

/** What a promise was rejected with. */
const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'no error',
    (error: unknown) => error,
  )

async function ready(tag: number): Promise<string> {
  const id = await laneway.campaigns.create(toTag(tag))
  await laneway.campaigns.preflight(id)
  await laneway.campaigns.waitFor(id, ['ready'])
  return id
}

test('a campaign is created, checked, started, paused, resumed and followed to its end', async () => {
  const { campaigns } = laneway
  const { tag, phones } = await service.addPeople(150)
  const id = await campaigns.create(toTag(tag, { name: 'Spring' }))
  expect(await campaigns.show(id)).toMatchObject({ id, name: 'Spring', state: 'draft' })
  await campaigns.preflight(id)
  const checked = await campaigns.waitFor(id, ['ready', 'blocked'])
  expect(checked).toMatchObject({ state: 'ready', preflight: { recipients: 150 } })

  await campaigns.start(id)
  await eventually(async () => (await campaigns.show(id)).progress.queued < 150, 'some are taken up')
  await campaigns.pause(id, { reason: 'lunch' })
  expect(await campaigns.show(id)).toMatchObject({ state: 'paused', reason: 'lunch' })
  // So slow until here that it cannot be done before it is paused.
  await setSenderRate(service.redis, service.lane, 50)
  await campaigns.resume(id)
  const done = await campaigns.waitFor(id, ['done'])
  expect(done.progress).toMatchObject({ total: 150, queued: 0 })
  expect([...(await service.ledger())].sort()).toEqual([...phones].sort())
})

test('a campaign is scheduled, and cancelled before its time', async () => {
  const { campaigns } = laneway
  const { tag } = await service.addPeople(1)
  const id = await ready(tag)
  const past = failureOf(campaigns.schedule(id, new Date(Date.now() - 1_000)))
  expect(await past).toMatchObject({ code: 'invalid_request', message: 'at: must be in the future.' })
  const at = new Date(Date.now() + 3_600_000)
  await campaigns.schedule(id, at)
  expect(await campaigns.show(id)).toMatchObject({ state: 'scheduled', scheduled_at: at.toISOString() })
  await campaigns.cancel(id)
  expect(await failureOf(campaigns.waitFor(id, ['done']))).toMatchObject({
    name: 'LanewayRefused',
    code: 'wrong_state',
    message: 'The campaign is cancelled.',
  })
})

test('a repeated request takes effect once: creating with a key, and every move', async () => {
  const { campaigns } = laneway
  const { tag } = await service.addPeople(2)
  const ids = [
    await campaigns.create(toTag(tag), { idempotencyKey: 'spring-26' }),
    await campaigns.create(toTag(tag), { idempotencyKey: 'spring-26' }),
  ]
  expect(ids[0]).toBe(ids[1])
  const other = failureOf(campaigns.create(toTag(tag, { name: 'Other' }), { idempotencyKey: 'spring-26' }))
  expect(await other).toMatchObject({ code: 'idempotency_key_reused' })

  const id = await ready(tag)
  await campaigns.start(id)
  await campaigns.start(id)
  await campaigns.waitFor(id, ['done'])
  await campaigns.start(id)
  expect(await failureOf(campaigns.pause(id))).toMatchObject({
    code: 'wrong_state',
    message: 'This needs a campaign that is running; it is done.',
  })
})

test('what is not allowed is refused with the same errors as over HTTP', async () => {
  const { campaigns } = laneway
  const faulty = toTag(0, { sender: service.sender, template: { name: '', language: { code: 'en_US' } } })
  const failure = await failureOf(campaigns.create(faulty))
  expect(failure).toMatchObject({ name: 'LanewayRefused', code: 'invalid_request' })
  expect(failure).toHaveProperty(
    'details',
    expect.arrayContaining([expect.objectContaining({ path: 'template.name' })]),
  )

  const { tag } = await service.addPeople(1)
  const id = await campaigns.create(toTag(tag))
  const other = await service.addTenant()
  const reader = await service.tenant.key('messages:read')
  for (const [apiKey, code] of [
    [other.apiKey, 'not_found'],
    [reader, 'forbidden'],
  ] as const) {
    const theirs = await connectLaneway({ redisUrl: service.server.url, apiKey })
    expect(await failureOf(theirs.campaigns.start(id))).toMatchObject({ code })
    if (code === 'not_found') expect(await failureOf(theirs.campaigns.show(id))).toMatchObject({ code })
    await theirs.close()
  }
  expect(await campaigns.show(id)).toMatchObject({ state: 'draft' })
})

test('a plain BullMQ client controls campaigns too, and a job that runs again does nothing more', async () => {
  const { tag } = await service.addPeople(1)
  const api_key = service.tenant.apiKey
  const run = async (name: string, data: object) => {
    const job = await queue.add(name, { v: 1, api_key, ...data })
    const finish = () =>
      eventually(async () => {
        const now = await queue.getJob(job.id ?? '')
        if (now?.failedReason) throw new Error(now.failedReason)
        return now?.finishedOn ? now : undefined
      }, `${name} is done`)
    const first = await finish()
    const answer: unknown = first.returnvalue
    // As it was when the worker died right after doing it.
    await first.updateData({ v: 1, api_key, ...data })
    await first.retry('completed')
    return [answer, (await finish()).returnvalue]
  }
  const [created, again] = await run('campaign-create', { campaign: toTag(tag) })
  expect(again).toEqual(created)
  const { campaign_id } = intakeAnswers['campaign-create'].parse(created)
  await run('campaign-preflight', { campaign_id })
  await laneway.campaigns.waitFor(campaign_id, ['ready'])
  const before = (await service.ledger()).length
  const [started] = await run('campaign-start', { campaign_id })
  expect(started).toMatchObject({ campaign_id, state: expect.stringMatching(/running|done/) })
  await laneway.campaigns.waitFor(campaign_id, ['done'])
  const [shown] = await run('campaign-show', { campaign_id })
  expect(shown).toMatchObject({ id: campaign_id, state: 'done', progress: { total: 1 } })
  expect((await service.ledger()).length).toBe(before + 1)
})
