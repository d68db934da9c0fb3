// Pins: an account that is removed stops at once, whole, wherever a removal dies; what must be kept of it can be shown and
// forgotten until its end, and then nothing in Redis names the account for ever. Real: Redis, HTTP, producer, files,
// command line. Stood in for: the passing of months, by a later time and keys that have come to their end.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { findAccount, findKeptAccount, keptAccounts, listAccounts } from '../../src/accounts/accounts.ts'
import { listSenders } from '../../src/accounts/senders.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { addWebhookSecret } from '../../src/accounts/webhook-secrets.ts'
import { expireAll } from '../../src/admin/expiry.processor.ts'
import { endAccount, removeAccount } from '../../src/admin/remove-account.ts'
import { startRelay } from '../../src/events/relay.processor.ts'
import { addEventJob, openEndpointQueue } from '../../src/events/store/endpoint-queue.ts'
import { createEndpoint, newEndpointId } from '../../src/events/store/endpoints.ts'
import { receive } from '../../src/files/drafts.ts'
import { openFolder } from '../../src/files/folder.ts'
import { contentPath } from '../../src/gallery/content.ts'
import { addFile, trashFile } from '../../src/gallery/files.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import { messageId } from '../../src/kernel/message-id.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import { secretKeysOf } from '../../src/kernel/secret-keys.ts'
import { type LaneQueues, openLaneQueues } from '../../src/lanes/queues.ts'
import { newEndpointFields } from '../../src/model/events/endpoint.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { keepNames } from '../../src/people/names/names.ts'
import { addOptOuts, eraseOptOut, findOptOut, removeOptOuts } from '../../src/people/opt-outs/opt-outs.ts'
import { createCampaign, findCampaign, moveCampaign } from '../../src/recipients/campaigns.ts'
import type { Redis } from '../../src/redis/connect.ts'
import type { Api } from '../support/api.ts'
import { silentLog } from '../support/app.ts'
import { runAtTerminal, runCli } from '../support/cli.ts'
import { fillLane } from '../support/filled-lane.ts'
import { changesOf, dyingAfterWrites } from '../support/redis.ts'
import { failMessages } from '../support/requeueable.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { accountRecord, endpointLooks, sendersLock } from '../support/state/accounts.ts'
import { endlessOf, namesOfAccount, namesWith, stored } from '../support/state/everything.ts'
import { letLaneExpire, messageRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const setTimeoutOf = globalThis.setTimeout
const DAY_MS = 86_400_000
const RETENTION_MS = 30 * DAY_MS
const PHONE = '491520661001'
const QUIET = '491520661002'
const BACK = '491520661003'

let service: Service
let redis: Redis
let queues: LaneQueues
let operator: Api
beforeAll(async () => {
  service = await startService({ worker: false })
  redis = service.redis
  queues = openLaneQueues(redis)
  operator = await service.operator()
})
afterAll(async () => {
  await queues?.close()
  await service?.close()
})

const definition = {
  sender: 'partner',
  template: { name: 'hi', language: { code: 'en' }, components: [] },
  recipients: { tags: [1], except: [] },
}
const files = () => openFolder(service.config.dataDir)

/** An account that has something of everything; `indexed` is how many messages its lane has ever had. */
async function wholeAccount(indexed: number) {
  const tenant = await service.addTenant()
  const { account, partnerLane: lane } = tenant
  const seal = createSeal(secretKeysOf(service.config))
  const [ulid = ''] = await fillLane(redis, lane, { total: indexed, every: indexed, phone: PHONE })
  await messageRecord(redis, { lane, ulid }).expireIn(RETENTION_MS)
  await failMessages({ redis, queues }, lane, { count: 2 })
  const tag = await createTag(redis, account, 'Customers')
  await importContacts(redis, account, tag.id, [{ phone: PHONE, name: 'Ada', email: '' }])
  await addOptOuts(redis, account, [PHONE, QUIET], { source: 'http', atMs: Date.now() })
  await eraseOptOut(redis, account, [QUIET])
  await addOptOuts(redis, account, [BACK], { source: 'word', atMs: Date.now() - 1_000 })
  await removeOptOuts(redis, account, [BACK], { source: 'word', atMs: Date.now() })
  await keepNames(redis, account, [{ names: [PHONE, 'DE.1234567890'] }])
  const template = { name: 'hi', language: 'en', status: 'APPROVED', category: 'MARKETING', components: [] }
  await importTemplate(redis, account, templateSchema.parse(template))
  await addWebhookSecret(redis, seal, account, 'webhook.app_secret', 'sixteen characters')
  const folder = await createFolder(redis, account, { name: 'Pictures' })
  const draft = async (text: string) => receive(files(), [Buffer.from(`${text} of ${account}`)])
  const file = await addFile(redis, files(), account, folder.id, 'a.txt', await draft('one'))
  const trashed = await addFile(redis, files(), account, folder.id, 'b.txt', await draft('two'))
  await trashFile(redis, account, trashed.id)
  const fields = newEndpointFields.parse({ url: 'https://example.com/hook' })
  const { endpoint } = await createEndpoint(redis, account, fields, { seal, nowMs: Date.now(), id: newEndpointId() })
  const queue = openEndpointQueue(redis, endpoint)
  const how = { waitMs: 600_000, jobId: 'tst_1', nowMs: Date.now() }
  await addEventJob(redis, queue, endpoint, { v: 1, kind: 'test', at: Date.now() }, how)
  await queue.close()
  const campaign = await createCampaign(redis, { account, lane, definition }, Date.now())
  return { tenant, ulid, campaign, endpoint, file }
}

const removeOver = (account: number) => operator.delete(`/admin/accounts/${account}`)

/** Names of what has no end and belongs to the account or names it. */
const endlessKeys = (
  { account, partnerLane, cloudLane }: Tenant,
  texts: readonly string[],
  all?: Record<string, string>,
): Promise<string[]> => endlessOf(redis, { account, lanes: [partnerLane, cloudLane], texts }, all)

const look = (nowMs: number) => {
  const config = { ...service.config, retentionMs: RETENTION_MS }
  return expireAll({ redis, queues, files: files(), config, log: silentLog }, nowMs)
}

/** Two months pass: what has an end comes to it, and a worker looks. */
async function monthsPass(...tenants: Tenant[]): Promise<void> {
  for (const lane of tenants.flatMap(({ partnerLane, cloudLane }) => [partnerLane, cloudLane])) {
    await letLaneExpire(redis, lane)
  }
  await look(Date.now() + 3 * RETENTION_MS)
  await look(Date.now() + 3 * RETENTION_MS + DAY_MS)
}

test('a removed account stops at once; its messages and opt-outs are kept until they expire, and then nothing is left', async () => {
  const { tenant, ulid, campaign, endpoint, file } = await wholeAccount(1_000)
  const { account, partnerLane: lane, api } = tenant
  const admin = await tenant.apiWith('admin')
  expect((await api.get('/messages')).status).toBe(200)
  const removed = await removeOver(account)
  expect([removed.status, removed.json]).toEqual([200, { status: true, message: 'removed' }])

  expect((await api.get('/messages')).status).toBe(401)
  expect((await admin.get(`/admin/people/${PHONE}`)).status).toBe(401)
  expect(await listSenders(redis, account)).toEqual([])
  expect(await findAccount(redis, account)).toBeUndefined()
  expect((await listAccounts(redis)).map(({ id }) => id)).not.toContain(account)
  expect((await operator.get(`/admin/accounts/${account}`)).status).toBe(404)
  const actingFor = { 'x-laneway-account': String(account) }
  expect((await operator.get('/contacts', actingFor)).status).toBe(404)
  expect(await findCampaign(redis, campaign)).toMatchObject({ state: 'cancelled' })
  expect(await namesWith(redis, endpoint.id)).toEqual([])
  expect(await endpointLooks(redis).all()).toEqual([])
  for (const of of ['files', 'events'] as const) expect(await namesOfAccount(redis, account, of)).toEqual([])
  expect(Object.keys(await accountRecord(redis, account).fields()).sort()).toEqual(
    ['id', 'name', 'opt_out.erased_key', 'removed_at'].sort(),
  )

  // An operator answers a person who asks, for as long as anything is kept.
  const shown = await operator.get(`/admin/people/${PHONE}`, actingFor)
  expect(shown.json).toMatchObject({
    data: { contact: null, opt_out: { person: PHONE }, messages: [{ id: messageId(lane, ulid) }] },
  })
  const listed = await operator.get(`/messages?to=${PHONE}`, actingFor)
  expect(listed.json).toMatchObject({ data: [{ id: messageId(lane, ulid) }] })
  expect(await findOptOut(redis, account, QUIET)).toMatchObject({ source: 'http' })

  // Again it is the same, over HTTP and on the command line.
  expect((await removeOver(account)).status).toBe(200)
  const env = service.settings
  const again = ['accounts', 'remove', String(account), '--json']
  // Nobody need be asked about what is not there any more.
  expect(await runCli(again, env)).toMatchObject({ code: 0, stderr: '' })
  expect(await runCli([...again, '--yes'], env)).toMatchObject({ code: 0, stderr: '' })
  expect(await runAtTerminal(again, env, 'yes')).toMatchObject({ code: 0 })
  await look(Date.now())
  expect(await keptAccounts(redis)).toContain(account)

  await monthsPass(tenant)
  expect(await keptAccounts(redis)).not.toContain(account)
  expect(await endlessKeys(tenant, [PHONE, QUIET, endpoint.id])).toEqual([])
  expect(await namesOfAccount(redis, account, 'contacts')).toEqual([])
  expect(existsSync(join(service.config.dataDir, contentPath(file.hash)))).toBe(false)
  expect((await removeOver(account)).status).toBe(404)
  expect(await runCli(['accounts', 'remove', String(account)], env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('does not exist'),
  })
})

test('an account with a busy sender is refused as a whole, with the reason in one sentence', async () => {
  const tenant = await service.addTenant()
  const { account, partnerLane: lane, api } = tenant
  const campaign = await createCampaign(redis, { account, lane, definition }, Date.now())
  await moveCampaign(redis, campaign, 'check', RETENTION_MS)
  const refused = await removeOver(account)
  expect(refused).toMatchObject({ status: 409, json: { error: { code: 'sender_busy' } } })
  expect(JSON.stringify(refused.json)).toMatch(/Account \d+ cannot be removed: sender \d+: campaign \w+ is checking/)
  expect((await api.get('/messages')).status).toBe(200)
  expect(await findAccount(redis, account)).toBeDefined()
  await moveCampaign(redis, campaign, 'cancel', RETENTION_MS)
  expect((await removeOver(account)).status).toBe(200)
})

test('only an operator removes an account', async () => {
  const tenant = await service.addTenant()
  const admin = await tenant.apiWith('admin')
  expect((await admin.delete(`/admin/accounts/${tenant.account}`)).status).toBe(403)
  expect((await operator.delete('/admin/accounts/4711')).status).toBe(404)
  expect(await findAccount(redis, tenant.account)).toBeDefined()
})

test('when the removal dies at any of its writes, the hourly check removes the rest', async () => {
  // There are no other processes that the removal must wait for.
  const wait = vi
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation(((work: () => void, ms?: number) =>
      setTimeoutOf(work, ms === 1_500 ? 0 : ms)) as typeof setTimeout)
  const left: Awaited<ReturnType<typeof wholeAccount>>[] = []
  const unharmed = await wholeAccount(2)
  const changes = await changesOf(service.server.url, async (own) => {
    const ownQueues = openLaneQueues(own)
    await removeAccount({ redis: own, queues: ownQueues }, unharmed.tenant.account, RETENTION_MS)
    await ownQueues.close()
  })
  let died = true
  for (const writes of [0, ...changes]) {
    const whole = await wholeAccount(2)
    const { account } = whole.tenant
    const dying = await dyingAfterWrites(service.server.url, writes)
    const lost = openLaneQueues(dying)
    died = await removeAccount({ redis: dying, queues: lost }, account, RETENTION_MS).then(
      () => false,
      () => true,
    )
    void lost.close()
    dying.disconnect()
    // As it does by itself when its holder has died.
    await sendersLock(redis).remove()
    const found = await findKeptAccount(redis, account)
    if (found?.removed_at === undefined) await removeAccount({ redis, queues }, account, RETENTION_MS)
    expect(await endAccount({ redis, queues }, account, RETENTION_MS), `after ${writes} writes`).toBe(false)
    left.push(whole)
  }
  wait.mockRestore()
  // After the last change there is nothing more to die at.
  expect(died).toBe(false)
  expect(left.length).toBeGreaterThan(40)
  await monthsPass(...left.map(({ tenant }) => tenant))
  // Queues of endpoints are left to the relay.
  const seal = createSeal(secretKeysOf(service.config))
  const relay = startRelay({ redis, config: service.config, log: silentLog, seal, worker: 'a relay' })
  const removed = new Set(left.map(({ endpoint }) => endpoint.id))
  const noneIsDue = async () => {
    const due = await endpointLooks(redis).all()
    return due.every((member) => !removed.has(member.split(' ').at(-1) ?? '')) || undefined
  }
  await eventually(noneIsDue, 'the queues are removed')
  await relay.stop(1_000)
  const all = await stored(redis)
  for (const [i, { tenant, endpoint }] of left.entries()) {
    expect(await endlessKeys(tenant, [endpoint.id], all), `after ${changes[i - 1] ?? 0} writes`).toEqual([])
  }
})
