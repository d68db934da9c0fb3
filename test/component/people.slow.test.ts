// Pins: all that is kept of a person can be read and forgotten, of one account only, while campaigns run, and a worker that does
// it may die. Real: Redis, HTTP, producer, worker, files. Stood in for: WhatsApp.
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { erasePerson } from '../../src/erase/erase.ts'
import { newErasureId } from '../../src/erase/erasures.ts'
import { openFolder } from '../../src/files/folder.ts'
import { parseMessageId } from '../../src/kernel/message-id.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { createTombstones } from '../../src/people/tombstones.ts'
import { startProducer } from '../../src/producer/main.ts'
import { connectWithRetry } from '../../src/redis/connect.ts'
import { apiClient } from '../support/api.ts'
import { silentLog } from '../support/app.ts'
import { type CampaignService, startCampaigns } from '../support/campaigns.ts'
import { documentIn, runAtTerminal, runCli } from '../support/cli.ts'
import { fillLane } from '../support/filled-lane.ts'
import { reaches, sendTo } from '../support/messages.ts'
import { interceptCommands } from '../support/redis.ts'
import { contactsOf } from '../support/state/accounts.ts'
import { stored } from '../support/state/everything.ts'
import { allWaitingOn } from '../support/state/lanes.ts'
import { messageRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

let service: CampaignService
let queues: LaneQueues
let admin: string
beforeAll(async () => {
  service = await startCampaigns()
  queues = openLaneQueues(service.redis)
  admin = await service.tenant.key('admin')
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const erased = z.object({
  data: z.object({
    job_id: z.string(),
    state: z.literal('done'),
    ...{ contacts: z.number(), messages: z.number(), received: z.number(), recipients: z.number() },
  }),
})
async function erase(person: string, key = admin) {
  const answer = await service.request('DELETE', `/admin/people/${person}`, undefined, key)
  expect(answer.status, answer.text).toBe(200)
  return erased.parse(answer.json()).data
}

const shown = z.object({
  data: z.object({
    person: z.string(),
    contact: z.looseObject({}).nullable(),
    messages: z.array(z.looseObject({ id: z.string(), direction: z.string(), text: z.string() })),
    campaigns: z.array(z.looseObject({ campaign: z.string(), state: z.string().nullable(), rows: z.number() })),
  }),
})
async function show(person: string, key = admin) {
  const answer = await service.request('GET', `/admin/people/${person}`, undefined, key)
  expect(answer.status, answer.text).toBe(200)
  return shown.parse(answer.json()).data
}

/** Where the text stands, in Redis or in a file of the data folder. */
async function placesOf(...texts: string[]): Promise<string[]> {
  const inRedis = Object.entries(await stored(service.redis)).map(([key, value]) => [key, key + value] as const)
  const folder = join(service.config.dataDir, 'campaigns')
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .map((file) => join(folder, file))
    .filter((file) => statSync(file).isFile())
    .map((file) => [file, readFileSync(file, 'latin1')] as const)
  return [...inRedis, ...files].filter(([, content]) => texts.some((text) => content.includes(text))).map(([at]) => at)
}

const { redis: _redis, ...nothing } = { redis: 0, contact: null, messages: [], campaigns: [] }

test('everything kept of a person is returned, and after the erasure nothing of it is left anywhere', async () => {
  const { redis, tenant } = service
  const phone = '491520990001'
  const { id: tag } = await createTag(redis, tenant.account, 'erased')
  await importContacts(redis, tenant.account, tag, [{ phone, name: 'Zoë Canary', email: 'zoe@canary.example' }])
  const sent = await sendTo(service, tenant, `+${phone}`)
  await reaches(service, tenant, sent, 'read')
  const received = { id: 'wamid.canary', lane: tenant.cloudLane, from: phone, type: 'text', text: 'Canary wrote this' }
  await storeInbound(redis, tenant.account, { ...received, received_at: Date.now() }, 3_600_000)
  const campaign = await service.ready({ tags: [tag] })
  await service.move(campaign, 'start')
  await endsRead(campaign, { total: 1, cancelled: 0 })
  const draft = await service.create({ rows: {} })
  const rows = `note,phone,name\nü,+49 (1520) 990 001,Zoë Canary\n"of,\nmine",491520990002,Jürgen\nß,491520990001,Zoë Canary\n`
  expect((await service.upload(draft, rows)).status).toBe(200)

  const found = await show(encodeURIComponent('+49 1520 990001'))
  expect(found).toMatchObject({ person: phone, contact: { name: 'Zoë Canary', tags: [tag] } })
  expect(found.messages.map(({ direction }) => direction)).toEqual(['outbound', 'outbound', 'inbound'])
  expect(found.messages.map(({ text }) => text)).toContain('Canary wrote this')
  expect(found.campaigns.find((each) => each.campaign === campaign)).toMatchObject({ state: 'read', rows: 0 })
  expect(found.campaigns.find((each) => each.campaign === draft)).toMatchObject({ state: null, rows: 2 })

  const before = (await service.show(campaign)).progress
  expect(await erase(phone)).toMatchObject({ contacts: 1, messages: 2, received: 1, recipients: 3 })
  expect(await show(phone)).toEqual({ person: phone, ...nothing })
  expect(await placesOf(phone, '990 001', 'Canary', 'canary', 'Zo\u00eb')).toEqual([])
  // The figures stay, and so does what became of the message.
  expect((await service.show(campaign)).progress).toEqual(before)
  const lookup = await service.request('GET', `/messages/${sent}`)
  expect(lookup.json().data).toMatchObject({ state: 'read', to: '', text: '', provider_id: null })
  // Nobody else's row has changed.
  const checked = await service.checked(draft)
  expect(checked).toMatchObject({ state: 'ready', preflight: { recipients: 1 } })
  expect((await show('491520990002')).campaigns).toMatchObject([{ campaign: draft, values: ['Jürgen'] }])
  expect(await erase(phone)).toMatchObject({ contacts: 0, messages: 0, received: 0, recipients: 0 })
})

test('a person is shown and erased in unreadable rows, and in each of several columns with one name', async () => {
  const ids = await Promise.all(['phone,name,phone', 'phone,name,order'].map(() => service.create({ rows: {} })))
  const [twice = '', garbled = ''] = ids
  const others = '+447700901302,"Bob,C\n+447700901303,N,D\n'
  await service.upload(twice, 'phone,name,phone\n+447700901301,Zoë Canary,+447700901302\n')
  await service.upload(garbled, 'phone,name,order\n')
  const { rows_file = '' } = (await service.record(garbled)) ?? {}
  // As it was stored before such files were refused.
  writeFileSync(
    join(service.config.dataDir, 'campaigns', garbled, rows_file),
    `phone,name,order\n${others}+447700901301,Zoë Canary,E\n`,
  )
  const found = await show('447700901301')
  expect(found.campaigns.map(({ campaign, rows }) => [campaign, rows]).sort()).toEqual(ids.map((id) => [id, 1]).sort())
  expect(await erase('447700901301')).toMatchObject({ recipients: 2 })
  expect(await placesOf('447700901301', 'Canary')).toEqual([])
  expect(await placesOf(others)).toHaveLength(1)
})

test('later reports about a message bring back nothing of the person', async () => {
  const { redis, tenant } = service
  const sent = await sendTo(service, tenant, '+491520990011')
  await reaches(service, tenant, sent, 'read')
  const { lane, ulid } = parseMessageId(sent) ?? { lane: 0, ulid: '' }
  const record = await messageRecord(redis, { lane, ulid }).fields()
  await erase('491520990011')
  // As if it had been sent only, and WhatsApp told now that it was delivered.
  await messageRecord(redis, { lane, ulid }).change({ s: 's' })
  const { recordStatus } = await import('../../src/lanes/messages/steps.ts')
  await recordStatus(redis, { lane, ulid }, record.a ?? '', 'delivered', { providerId: 'wamid.of491520990011' })
  const after = await messageRecord(redis, { lane, ulid }).fields()
  expect(after).toMatchObject({ s: 'd', t: '' })
  expect(after).not.toHaveProperty('w')
})

test('waiting messages of an erased person are cancelled and never sent', async () => {
  const { redis, tenant, lane } = service
  await queues.pause(lane)
  const waiting = await sendTo(service, tenant, '+491520990021')
  const other = await sendTo(service, tenant, '+491520990022')
  expect(await erase('491520990021')).toMatchObject({ messages: 1 })
  await queues.resume(lane)
  await reaches(service, tenant, other, 'read')
  expect(await service.ledger()).not.toContain('491520990021')
  const lookup = await service.request('GET', `/messages/${waiting}`)
  expect(lookup.json().data).toMatchObject({ state: 'cancelled', to: '', text: '', problem: { code: 'person_erased' } })
  expect(lookup.json().data.history.at(-1)).toMatchObject({ event: 'cancelled', detail: 'person_erased' })
  expect(await placesOf('491520990021')).toEqual([])
  expect((await service.request('POST', `/messages/${waiting}/requeue`)).status).toBe(409)
  expect(await contactsOf(redis, tenant.account).tombstones.isThere()).toBe(true)
})

/** A campaign ends, and all others have read it. It is done before what it sent is read. */
async function endsRead(id: string, { total, cancelled }: { total: number; cancelled: number }): Promise<void> {
  expect((await service.reaches(id, 'done')).progress).toMatchObject({ total, cancelled, failed: 0 })
  await eventually(async () => (await service.show(id)).progress.read === total - cancelled, 'all others have read it')
}

test('a running campaign sends an erased person nothing and ends, with everybody in its figures', async () => {
  const { tag, phones } = await service.addPeople(40)
  const [first = '', , third = '', last = ''] = [phones[0], phones[1], phones[2], phones[39]]
  await queues.pause(service.lane)
  const campaign = await service.ready({ tags: [tag] })
  const waiting = await service.ready({ tags: [tag] })
  await service.move(campaign, 'start')
  for (const phone of [first, third, last]) await erase(phone)
  await queues.resume(service.lane)
  await endsRead(campaign, { total: 40, cancelled: 3 })
  // One that was frozen and starts only now.
  await service.move(waiting, 'start')
  await endsRead(waiting, { total: 40, cancelled: 3 })
  const sent = await service.ledger()
  expect([first, third, last].filter((phone) => sent.includes(phone))).toEqual([])
  expect(await placesOf(first, third, last)).toEqual([])
  const exported = await service.request('GET', `/campaigns/${waiting}/export`)
  expect(exported.text.split('\n').filter((line) => line.startsWith(',,cancelled'))).toHaveLength(3)
  // Nobody is found again by a new run for those whose message was cancelled.
  expect(await show(first)).toMatchObject({ messages: [], campaigns: [] })
})

test('a campaign message waiting for another try is not tried again once its person is to be erased', async () => {
  const { redis, tenant, lane } = service
  const { tag, phones } = await service.addPeople(1)
  const [phone = ''] = phones
  await service.misbehave({ match: { to: phone }, behaviour: 'rate-limited' })
  const campaign = await service.ready({ tags: [tag] })
  await service.move(campaign, 'start')
  const waiting = async () => (await allWaitingOn(redis, lane)).length === 1
  await eventually(waiting, 'a job of its own')
  await queues.pause(lane)
  // It may have been tried again in between: that is over once the job is back.
  await eventually(waiting, 'no try is under way')
  // The job that erases may wait for others: as if it had not begun.
  await createTombstones(redis, secretKeysOf(service.config)).bury(tenant.account, phone, Date.now(), 3_600_000)
  await service.misbehave({ clear: true })
  await queues.resume(lane)
  expect((await service.reaches(campaign, 'done')).progress).toMatchObject({ total: 1, cancelled: 1 })
  expect(await service.ledger()).not.toContain(phone)
  // And the job finds what is left of them.
  expect(await erase(phone)).toMatchObject({ messages: 1, recipients: 1 })
  expect(await placesOf(phone)).toEqual([])
})

test('a list uploaded again for an older campaign does not reach the person, and one for a newer campaign does', async () => {
  const older = await service.create({ rows: {} })
  await erase('491520990041')
  const newer = await service.create({ rows: {} })
  for (const [id, cancelled] of [
    [older, 1],
    [newer, 0],
  ] as const) {
    await service.upload(id, 'phone,name\n491520990041,Zoe\n491520990042,Bob\n')
    expect(await service.checked(id)).toMatchObject({ state: 'ready' })
    await service.move(id, 'start')
    await endsRead(id, { total: 2, cancelled })
  }
  expect((await service.ledger()).filter((phone) => phone === '491520990041')).toHaveLength(1)
})

test("another account's data are neither shown nor erased, and its key gets the answer for an unknown person", async () => {
  const other = await service.addTenant({ defaultProvider: 'cloud-api' })
  const key = await other.key('admin')
  const phone = '491520990051'
  const sent = await sendTo(service, service.tenant, `+${phone}`)
  await reaches(service, service.tenant, sent, 'read')
  expect(await show(phone, key)).toEqual({ person: phone, ...nothing })
  const { job_id } = await erase(phone, key)
  expect((await show(phone)).messages).toHaveLength(1)
  // Nor does it learn of erasures of others.
  expect((await service.request('GET', `/jobs/${job_id}`, undefined, admin)).status).toBe(404)
  expect((await service.request('GET', `/jobs/${job_id}`, undefined, key)).status).toBe(200)
  expect((await service.request('GET', `/jobs/${job_id}`, undefined, other.apiKey)).status).toBe(404)
})

test('an invalid number or id is refused, and neither the activity nor the job names the person', async () => {
  for (const wrong of ['12', 'abc', '%2B49+1520+x', 'de.lower']) {
    const answer = await service.request('DELETE', `/admin/people/${wrong}`, undefined, admin)
    expect([answer.status, answer.json().error.details[0].path], wrong).toEqual([400, 'person'])
  }
  const forbidden = await service.request('DELETE', '/admin/people/491520990061')
  expect(forbidden.status).toBe(403)
  const { job_id } = await erase('491520990061')
  expect(await erase('DE.Abc123')).toMatchObject({ messages: 0 })
  const activity = await service.request('GET', '/admin/activity?limit=2', undefined, admin)
  expect(activity.json().data[1]).toMatchObject({ action: 'person.erase', target: job_id })
  expect(await placesOf('491520990061', 'DE.Abc123')).toEqual([])
})

test('without a worker the erasure waits and reports so, and the next worker does it', async () => {
  const phone = '491520990071'
  const sent = await sendTo(service, service.tenant, `+${phone}`)
  await reaches(service, service.tenant, sent, 'read')
  await service.stopWorker()
  // Another producer, whose requests wait no longer than this test likes to.
  const hasty = await startProducer({ ...service.config, bulkMoveWaitMs: 200 }, service.server.url, silentLog)
  const answer = await apiClient(hasty.url).as(admin).request('DELETE', `/admin/people/${phone}`)
  expect(answer.status).toBe(202)
  const { job_id, status_url } = JSON.parse(answer.text).data
  expect(status_url).toBe(`${hasty.url}/jobs/${job_id}`)
  await hasty.close()
  await service.startWorker()
  await eventually(async () => {
    const job = await service.request('GET', `/jobs/${job_id}`, undefined, admin)
    return job.json().data.state === 'done' || undefined
  }, 'it is done')
  expect(await placesOf(phone)).toEqual([])
})

test('the command line shows and erases a person', async () => {
  const phone = '491520990081'
  const sent = await sendTo(service, service.tenant, `+${phone}`)
  await reaches(service, service.tenant, sent, 'read')
  const env = service.settings
  const of = [`+${phone}`, '--account', String(service.tenant.account)]
  const all = await runCli(['people', 'show', ...of, '--json'], env)
  expect(documentIn(all.stdout)).toMatchObject({ person: phone, messages: [{ id: sent }] })
  expect((await runCli(['people', 'show', ...of], env)).stdout).toContain('No contact, no opt-out, 1 message,')
  await runCli(['opt-outs', 'add', ...of], env)
  // A script says that it means it; a person is asked.
  const refused = await runCli(['people', 'erase', ...of], env)
  expect(refused).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining('Confirm with --yes.') })
  const declined = await runAtTerminal(['people', 'erase', ...of], env, 'n')
  expect(declined).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('Nothing was erased.') })
  expect(declined.stderr).toMatch(/^This erases for good all that account \d+ keeps of this person\. Continue\?/)
  expect((await runCli(['people', 'show', ...of], env)).stdout).toContain('1 message,')
  const agreed = await runAtTerminal(['people', 'erase', ...of], env, 'y')
  expect(agreed.stdout).toContain('Forgotten: 0 contacts, 1 message,')
  expect((await runCli(['people', 'erase', ...of, '--yes'], env)).stdout).toContain(
    'Forgotten: 0 contacts, 0 messages,',
  )
  // An opt-out goes on to hold.
  expect((await runCli(['people', 'show', ...of], env)).stdout).toContain('No contact, an opt-out, 0 messages, 0 camp')
  expect((await runCli(['people', 'erase', 'nobody', '--account', '1'], env)).code).toBe(2)
})

test.each([1, 3, 10, 40, 120])(
  'a worker that dies at command %i is followed by another that erases the rest',
  async (n) => {
    const { redis, tenant, config } = service
    const phone = String(491_520_991_000 + n)
    const { id: tag } = await createTag(redis, tenant.account, `kill ${n}`)
    await importContacts(redis, tenant.account, tag, [{ phone, name: 'Canary', email: '' }])
    const files = openFolder(config.dataDir)
    const ulids = await fillLane(redis, tenant.partnerLane, { total: 500, every: 10, phone })
    expect(ulids).toHaveLength(50)
    const of = { id: newErasureId(Date.now()), account: tenant.account, person: phone, nowMs: Date.now() + 120_000 }
    const doomed = connectWithRetry(service.server.url)
    doomed.on('error', () => {})
    await new Promise((resolve) => doomed.once('ready', resolve))
    let left = n
    interceptCommands(doomed, (send) => {
      left -= 1
      if (left === -1) doomed.disconnect()
      return send()
    })
    const lost = openLaneQueues(doomed)
    await expect(erasePerson({ redis: doomed, files, config, log: silentLog, queues: lost }, of)).rejects.toThrow()
    void lost.close()
    expect(await erasePerson({ redis, files, config, log: silentLog, queues }, of)).toBe(true)
    expect(await placesOf(phone)).toEqual([])
    for (const ulid of ulids)
      expect(await messageRecord(redis, { lane: tenant.partnerLane, ulid }).field('s')).toBe('r')
  },
)

test('tombstones under an older secret are recognized, and expire', async () => {
  const { redis } = service
  const old = createTombstones(redis, ['old'])
  const both = createTombstones(redis, ['new', 'old'])
  await old.bury(999, '491520990091', 1_000_000, 60_000)
  expect(await both.erasedOf(999, ['491520990091', '491520990092'], 900_000)).toEqual(new Set(['491520990091']))
  expect(await both.erasedOf(999, ['491520990091'], 1_100_000)).toEqual(new Set())
  expect(await both.erasedOf(998, ['491520990091'], 900_000)).toEqual(new Set())
  await both.bury(999, '491520990092', 1_070_000, 60_000)
  expect(await both.erasedOf(999, ['491520990091'], 900_000)).toEqual(new Set())
  expect(await contactsOf(redis, 999).tombstones.livesMs()).toBeGreaterThan(0)
})
