// Pins: of each kind of key that docs/how-it-works/privacy.md says holds something of a person, nothing is left once the person is
// erased. Real: Redis, HTTP, producer, worker. Stood in for: WhatsApp.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { INTAKE_QUEUE } from '../../src/jobs/intake.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { openLaneQueues } from '../../src/lanes/queues.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { keepNames, namesOf } from '../../src/people/names/names.ts'
import { addOptOuts, removeOptOuts } from '../../src/people/opt-outs/opt-outs.ts'
import { cap } from '../../src/portfolios/caps.ts'
import { createPortfolio, listPortfolios, newPortfolioId } from '../../src/portfolios/portfolios.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { audioTo, reaches, sendTo } from '../support/messages.ts'
import { readPage, tableUnder } from '../support/pages.ts'
import { stored } from '../support/state/everything.ts'
import { recipientCooldownOf, replyWindowOf } from '../support/state/messages.ts'
import { intakeQueue, isQueueLog } from '../support/state/queues.ts'
import { eventually } from '../support/wait.ts'

const PHONE = '491520880011'
const OTHER = '491520880022'

let service: CampaignService
let admin: string
let queue: ReturnType<typeof intakeQueue>
beforeAll(async () => {
  service = await startCampaigns()
  admin = await service.tenant.key('admin')
  queue = intakeQueue(service.server.url, INTAKE_QUEUE)
})
afterAll(async () => {
  await queue?.close()
  await service?.close()
})

async function refusedJob(phone: string, jobId: string, name = 'send'): Promise<void> {
  const job = await queue.add(name, { v: 1, api_key: 'lw_wrong', message: audioTo(phone) }, { jobId })
  await eventually(async () => (await job.isFailed()) || undefined, 'it is refused')
}

/** What puts the person there, by the first name of the row. */
const PLANT: Readonly<Record<string, (phone: string) => Promise<unknown>>> = {
  'lw:inbound:<account>:<hash>': (from) =>
    storeInbound(
      service.redis,
      service.tenant.account,
      { id: `wamid.${from}`, lane: service.lane, from, type: 'text', text: `I am ${from}`, received_at: Date.now() },
      3_600_000,
    ),
  'lw:{l12}': async (phone) => {
    const queues = openLaneQueues(service.redis)
    await queues.pause(service.tenant.partnerLane)
    await queues.close()
    const body = { api_key: service.tenant.apiKey, ...audioTo(`+${phone}`), sender: service.tenant.partnerNumber }
    expect((await service.post('/sendservicemessages/sendmessages', body)).status).toBe(200)
  },
  'lw:{l12}:m:<ULID>': async (phone) => {
    await reaches(service, service.tenant, await sendTo(service, service.tenant, `+${phone}`), 'read')
  },
  // Written with the message.
  'lw:{l12}:i': async () => undefined,
  'lw:{l12}:rest:<digits>': (phone) => recipientCooldownOf(service.redis, service.lane, phone).put('1', 600_000),
  'lw:{l12}:window:<person>': (phone) => replyWindowOf(service.redis, service.lane, phone).put(Date.now(), 600_000),
  'lw:{c7}:opt-outs': (phone) => addOptOuts(service.redis, service.tenant.account, [phone], { source: 'http' }),
  'lw:{c7}:opt-out-ends': (phone) =>
    removeOptOuts(service.redis, service.tenant.account, [phone], { source: 'word', atMs: Date.now() - 60_000 }),
  'lw:{c7}:names': (phone) => keepNames(service.redis, service.tenant.account, [{ names: [phone, `DE.9${phone}`] }]),
  'lw:requeue:<job>': async (to) => {
    const asked = await service.request('POST', '/messages/requeue', { to })
    const { job_id } = z.object({ data: z.object({ job_id: z.string() }) }).parse(asked.json()).data
    const isDone = async () =>
      (await service.request('GET', `/jobs/${job_id}`)).json().data.state === 'done' || undefined
    await eventually(isDone, 'the requeue is done')
  },
  'lw:{f3}:cap:<person>': async (phone) => {
    const { redis, lane, tenant } = service
    const [known] = await listPortfolios(redis, tenant.account)
    const id =
      known?.id ??
      (await createPortfolio(redis, { id: await newPortfolioId(redis), account: tenant.account, name: 'P' })).id
    for (const portfolio of [undefined, { id, dailyLimit: null, reservePercent: 10 }]) {
      await cap(redis, { lane, ...(portfolio && { portfolio }) }, phone, { forMs: 600_000 })
    }
  },
  // Written by erasing.
  'lw:erasure:<job>': async () => undefined,
  'lw:{laneway-intake}:*': async (phone) => {
    await refusedJob(`+${phone.slice(0, 2)} (${phone.slice(2, 6)}) ${phone.slice(6)}`, `plain-${phone === PHONE}`)
    await refusedJob(phone, `order-${phone}`)
    await refusedJob('nonsense', `named-${phone === PHONE}`, `to ${phone}`)
  },
  'lw:{c7}': async (phone) => {
    const { id } = await createTag(service.redis, service.tenant.account, `tag of ${phone.slice(-2)}`)
    await importContacts(service.redis, service.tenant.account, id, [{ phone, name: 'N', email: '' }])
  },
}

const rows = tableUnder(readPage('docs/how-it-works/privacy.md'), 'Every key in Redis')
  .filter(([, person]) => person === 'yes')
  .map(([names = '']) => /`([^`]+)`/.exec(names)?.[1] ?? '')

const spelled = (phone: string): RegExp => new RegExp([...phone].join('[\\s().-]{0,2}'))

async function placesOf(phone: string): Promise<string[]> {
  const all = Object.entries(await stored(service.redis))
  return all.filter(([key, value]) => spelled(phone).test(key + value)).map(([key]) => key)
}

test('an erased person is left in keys of no kind, and others are left in all', async () => {
  expect(Object.keys(PLANT).sort()).toEqual([...rows].sort())
  for (const plant of Object.values(PLANT)) {
    for (const phone of [PHONE, OTHER]) await plant(phone)
  }
  const others = await placesOf(OTHER)
  expect((await placesOf(PHONE)).length).toBe(others.length)
  expect(others.length).toBeGreaterThan(7)

  const answer = await service.request('DELETE', `/admin/people/${PHONE}`, undefined, admin)
  expect(answer.status, answer.text).toBe(200)
  expect(await placesOf(PHONE)).toEqual([])
  // Names are packed: their text stands nowhere.
  const { redis, tenant } = service
  expect(await namesOf(redis, tenant.account, PHONE)).toEqual([PHONE])
  expect(await namesOf(redis, tenant.account, `DE.9${PHONE}`)).toEqual([`DE.9${PHONE}`])
  expect(await namesOf(redis, tenant.account, OTHER)).toEqual([OTHER, `DE.9${OTHER}`])
  expect((await placesOf(OTHER)).filter((key) => !isQueueLog(key))).toEqual(others.filter((key) => !isQueueLog(key)))

  // What became of the job is still there for the service that wrote it.
  const left = await queue.getJob('plain-true')
  expect(JSON.parse(left?.failedReason ?? '{}')).toMatchObject({ code: 'unauthorized' })
  expect(left?.data).toEqual({ erased: true })
})

test('a job that another service wrote before the erasure of its person is not sent, and a later one is', async () => {
  const { tenant } = service
  const person = '491520880055'
  const send = { v: 1, api_key: tenant.apiKey, message: audioTo(`+${person}`) }
  // Written before, taken in after.
  await queue.pause()
  const before = await queue.add('send', send)
  const others = await queue.add('send', { ...send, message: audioTo(`+${OTHER}`) })
  const answer = await service.request('DELETE', `/admin/people/${person}`, undefined, admin)
  expect(answer.status, answer.text).toBe(200)
  const after = await queue.add('send', send, { timestamp: Date.now() + 1_000 })
  await queue.resume()
  await eventually(async () => (await before.isFailed()) || undefined, 'it is refused')
  await eventually(
    async () => ((await others.isCompleted()) && (await after.isCompleted())) || undefined,
    'they are taken in',
  )
  const refused = await queue.getJob(before.id ?? '')
  expect(JSON.parse(refused?.failedReason ?? '{}')).toMatchObject({ code: 'person_erased' })
  expect(JSON.stringify(refused?.data)).not.toContain(person)
})
