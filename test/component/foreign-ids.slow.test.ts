// Pins: what belongs to another account answers exactly as what does not exist, at every route that takes an id, and
// nothing of it changes. Real: Redis, HTTP, producer, worker.

import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { createCredential, PERMISSIONS } from '../../src/accounts/credentials.ts'
import { importTemplate } from '../../src/accounts/templates.ts'
import { receive } from '../../src/files/drafts.ts'
import { openFolder } from '../../src/files/folder.ts'
import { addFile, trashFile } from '../../src/gallery/files.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import { messageId, newUlid } from '../../src/kernel/message-id.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { createPortfolio, newPortfolioId } from '../../src/portfolios/portfolios.ts'
import { DECLARED, type Inspected } from '../support/declared-routes.ts'
import { orderUpdate, plainHello } from '../support/example-templates.ts'
import { audioTo, reaches, sendTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { contactsOf, galleryOf, lastNumbers } from '../support/state/accounts.ts'
import { allVisible } from '../support/state/everything.ts'

const GALLERY = '/partners/wp-gallery/manage'

/** Ids of things, of one account or of nobody. */
interface Ids {
  folder: number
  file: number
  trashed: number
  job: string
  message: string
  inbound: string
  tag: number
  portfolio: number
  campaign: string
  lane: number
  sender: string
  /** Number of a contact. */
  person: string
  /** A job that sends messages again. */
  requeue: string
  /** An endpoint of events, and a replay of it. */
  endpoint: string
  replay: string
  contact: number
  keyId: string
  template: string
}

let service: Service
let ours: Ids & { key: string; tenant: Tenant }
let theirs: Ids & { key: string; tenant: Tenant }
beforeAll(async () => {
  service = await startService({ templates: [orderUpdate, plainHello] })
  // Ids that cannot be taken for any other number in an answer.
  const far = {
    account: 550_000,
    lane: 540_000,
    folder: 510_000,
    file: 520_000,
    tag: 530_000,
    contact: 560_000,
    portfolio: 570_000,
  }
  await lastNumbers(service.redis).change(far)
  ours = await everything('ours')
  theirs = await everything('theirs')
})
afterAll(() => service?.close())

const nobodys: Ids = {
  folder: 999_001,
  file: 999_002,
  trashed: 999_003,
  job: 'mv_01JD3V5T9GZQ4XNB8M2K6R0WCY',
  message: messageId(999_004, newUlid(Date.now())),
  inbound: 'wamid.nobodys',
  tag: 999_005,
  portfolio: 999_010,
  campaign: 'cmp_999006_1',
  lane: 999_007,
  requeue: 'rq_01JD3V5T9GZQ4XNB8M2K6R0WCY',
  contact: 999_008,
  keyId: 'key_999009999009',
  template: 'no_such_template',
  sender: '+49 171 9990007',
  endpoint: 'ep_000000000000000000',
  replay: 'rpl_01JD3V5T9GZQ4XNB8M2K6R0WCY',
  person: '491700000999',
}

/** An account that has one of everything that has an id. */
async function everything(name: string): Promise<Ids & { key: string; tenant: Tenant }> {
  const { redis } = service
  const files = openFolder(service.config.dataDir)
  const tenant = await service.addTenant({ defaultProvider: 'cloud-api' })
  const { account } = tenant
  const { secret: key } = await createCredential(redis, account, PERMISSIONS, Date.now())
  const { id: keyId } = await createCredential(redis, account, ['messages:read'], Date.now())
  const folder = (await createFolder(redis, account, { name })).id
  const add = async (text: string) =>
    (await addFile(redis, files, account, folder, `${text}.txt`, await receive(files, [Buffer.from(text)]))).id
  const file = await add(`${name} kept`)
  const moved = await add(`${name} moved`)
  const trashed = await add(`${name} trashed`)
  await trashFile(redis, account, trashed)
  const { id: tag } = await createTag(redis, account, name)
  const { id: portfolio } = await createPortfolio(redis, { id: await newPortfolioId(redis), account, name })
  const person = name === 'ours' ? '491700000011' : '491700000012'
  const anybody = { name, email: '' }
  await importContacts(redis, account, tag, [{ ...anybody, phone: '491700000001' }])
  await importContacts(redis, account, tag, [{ ...anybody, phone: person }])
  const [contact = 0] = Object.values(await contactsOf(redis, account).phones.fields()).map(Number)
  await importTemplate(redis, account, templateSchema.parse({ ...plainHello, name: `only_${name}` }))
  const inbound = `wamid.${name}`
  const received = { id: inbound, lane: tenant.cloudLane, from: person, type: 'text', text: name }
  await storeInbound(redis, account, { ...received, received_at: Date.now() }, 3_600_000)
  const message = await sendTo(service, tenant, '+491700000001')
  await reaches(service, tenant, message, 'read')
  const campaign = await request(key, 'POST', '/campaigns', {
    sender: tenant.cloudNumber,
    template: { name: 'order_update', language: { code: 'en_US' } },
    recipients: { rows: {} },
  })
  const move = await request(key, 'POST', `${GALLERY}/files/bulk-move`, { file_ids: [moved], folder_id: folder })
  expect(move.status).toBe(200)
  const again = await request(key, 'POST', '/messages/requeue', { state: 'unknown' })
  const [job = ''] = await galleryOf(redis, account).moves()
  const made = await request(key, 'POST', '/event-endpoints', { url: 'https://hooks.example.invalid/', enabled: false })
  const endpoint = z.object({ data: z.object({ id: z.string() }) }).parse(made.json).data.id
  await request(key, 'POST', '/opt-outs', { person })
  const told = await request(key, 'POST', `/event-endpoints/${endpoint}/replay`, { since: '2026-01-01T00:00:00Z' })
  return {
    ...{ key, tenant, folder, file, trashed, tag, portfolio, message, inbound, endpoint, keyId, contact, person },
    replay: z.object({ data: z.object({ replay_id: z.string() }) }).parse(told.json).data.replay_id,
    template: `only_${name}`,
    job,
    campaign: z.object({ data: z.object({ id: z.string() }) }).parse(campaign.json).data.id,
    lane: tenant.cloudLane,
    requeue: z.object({ data: z.object({ job_id: z.string() }) }).parse(again.json).data.job_id,
    sender: `+${tenant.cloudNumber}`,
  }
}

function request(key: string, method: string, path: string, body?: object, type = 'application/json') {
  const sent = body !== undefined && type !== 'application/json' ? 'phone\n491700000001\n' : body
  return service.api.as(key).request(method, path, sent, body === undefined ? {} : { 'content-type': type })
}

/** The routes that take an id, and how: what they answer to our key for ids of ours, of theirs and of nobody. */
const asking: Readonly<Record<string, (of: Ids) => Promise<Inspected>>> = {
  [`PUT ${GALLERY}/folders/:folder_id`]: ({ folder }) => put(`/folders/${folder}`, { name: 'x' }),
  [`POST ${GALLERY}/folders`]: ({ folder }) => gallery('POST', '/folders', { name: 'x', parent_id: folder }),
  [`GET ${GALLERY}/files`]: ({ folder }) => gallery('GET', `/files?folder_id=${folder}`),
  [`POST ${GALLERY}/files`]: ({ folder }) => upload(folder),
  [`POST ${GALLERY}/files/:file_id/restore`]: ({ trashed }) => gallery('POST', `/files/${trashed}/restore`),
  [`POST ${GALLERY}/files/bulk-move`]: ({ folder }) => move([ours.file], folder),
  [`POST ${GALLERY}/files/bulk-move of a file`]: ({ file }) => move([file], ours.folder),
  // After the moves, which need it.
  [`DELETE ${GALLERY}/files/:file_id`]: ({ file }) => gallery('DELETE', `/files/${file}`),
  [`GET ${GALLERY}/jobs/:job_id`]: ({ job }) => gallery('GET', `/jobs/${job}`),
  'POST /chatappbusiness/fetchmessageinfo': ({ message }) => lookUp('fetchmessageinfo', message),
  'POST /chatappbusiness/fetchmessageinfo of a received one': ({ inbound }) => lookUp('fetchmessageinfo', inbound),
  'POST /chatappbusiness/getmessgageinfobyid': ({ message }) => lookUp('getmessgageinfobyid', message),
  'POST /chatappbusiness/getmessgageinfobyid of a received one': ({ inbound }) =>
    lookUp('getmessgageinfobyid', inbound),
  'POST /chatappbusiness/send-templated-message': ({ sender }) =>
    withKey('/chatappbusiness/send-templated-message', {
      ...audioTo('+491700000002', { type: 'template', audio: undefined }),
      ...{ sender, template: { name: 'plain_hello', language: { code: 'en_US' } } },
    }),
  'POST /messages/batch': ({ sender }) => {
    const body = {
      ...audioTo('+491700000002', { type: 'template', audio: undefined }),
      sender,
      template: { name: 'plain_hello', language: { code: 'en_US' } },
    }
    return request(ours.key, 'POST', '/messages/batch', { messages: [body] })
  },
  'GET /messages/:id': ({ message }) => request(ours.key, 'GET', `/messages/${message}`),
  'GET /messages/:id of a received one': ({ inbound }) => request(ours.key, 'GET', `/messages/${inbound}`),
  'POST /messages/:id/cancel': ({ message }) => request(ours.key, 'POST', `/messages/${message}/cancel`),
  'POST /messages/:id/read': ({ inbound }) => request(ours.key, 'POST', `/messages/${inbound}/read`, {}),
  'POST /messages/:id/requeue': ({ message }) => request(ours.key, 'POST', `/messages/${message}/requeue`),
  'POST /messages/requeue': ({ sender }) => request(ours.key, 'POST', '/messages/requeue', { sender, dry_run: true }),
  'GET /jobs/:id': ({ requeue }) => request(ours.key, 'GET', `/jobs/${requeue}`),
  'POST /api/betav3/tagmanage/tag/fetchContactsTagWise': ({ tag }) =>
    withKey('/api/betav3/tagmanage/tag/fetchContactsTagWise', { tags: [tag] }),
  'POST /campaigns': ({ sender }) =>
    request(ours.key, 'POST', '/campaigns', {
      sender,
      template: { name: 'order_update', language: { code: 'en_US' } },
      recipients: { rows: {} },
    }),
  'GET /campaigns/:id': ({ campaign }) => request(ours.key, 'GET', `/campaigns/${campaign}`),
  ...Object.fromEntries(
    ['preflight', 'start', 'pause', 'cancel', 'resume'].map((verb) => [
      `POST /campaigns/:id/${verb}`,
      ({ campaign }: Ids) => request(ours.key, 'POST', `/campaigns/${campaign}/${verb}`, {}),
    ]),
  ),
  'POST /campaigns/:id/schedule': ({ campaign }) =>
    request(ours.key, 'POST', `/campaigns/${campaign}/schedule`, { at: '2999-01-01T00:00:00Z' }),
  'POST /campaigns/:id/rows': ({ campaign }) =>
    request(ours.key, 'POST', `/campaigns/${campaign}/rows`, {}, 'text/csv'),
  'GET /campaigns/:id/export': ({ campaign }) => request(ours.key, 'GET', `/campaigns/${campaign}/export`),
  'GET /campaigns/:id/refused': ({ campaign }) => request(ours.key, 'GET', `/campaigns/${campaign}/refused`),
  'GET /event-endpoints/:id': ({ endpoint }) => request(ours.key, 'GET', `/event-endpoints/${endpoint}`),
  'PATCH /event-endpoints/:id': ({ endpoint }) =>
    request(ours.key, 'PATCH', `/event-endpoints/${endpoint}`, { include_content: true }),
  'POST /event-endpoints/:id/rotate-secret': ({ endpoint }) =>
    request(ours.key, 'POST', `/event-endpoints/${endpoint}/rotate-secret`),
  'POST /event-endpoints/:id/test': ({ endpoint }) => request(ours.key, 'POST', `/event-endpoints/${endpoint}/test`),
  'POST /event-endpoints/:id/replay': ({ endpoint }) =>
    request(ours.key, 'POST', `/event-endpoints/${endpoint}/replay`, { since: '2026-01-01T00:00:00Z', dry_run: true }),
  'GET /event-endpoints/:id/replays/:replay': ({ endpoint, replay }) =>
    request(ours.key, 'GET', `/event-endpoints/${endpoint}/replays/${replay}`),
  'GET /event-endpoints/:id/attempts': ({ endpoint }) =>
    request(ours.key, 'GET', `/event-endpoints/${endpoint}/attempts`),
  'DELETE /event-endpoints/:id': ({ endpoint }) => request(ours.key, 'DELETE', `/event-endpoints/${endpoint}`),
  'GET /messages/:id/media': ({ inbound }) => request(ours.key, 'GET', `/messages/${inbound}/media`),
  'GET /conversations/:person': ({ person }) => request(ours.key, 'GET', `/conversations/${person}`),
  'GET /conversations/:person/messages': ({ person }) => request(ours.key, 'GET', `/conversations/${person}/messages`),
  'GET /opt-outs/:person': ({ person }) => request(ours.key, 'GET', `/opt-outs/${person}`),
  'DELETE /opt-outs/:person': ({ person }) => request(ours.key, 'DELETE', `/opt-outs/${person}`),
  'GET /admin/people/:person': ({ person }) => request(ours.key, 'GET', `/admin/people/${person}`),
  'DELETE /admin/people/:person': ({ person }) => request(ours.key, 'DELETE', `/admin/people/${person}`),
  'POST /admin/lanes/:lane/pause': ({ lane }) => request(ours.key, 'POST', `/admin/lanes/${lane}/pause`, {}),
  'POST /admin/lanes/:lane/resume': ({ lane }) => request(ours.key, 'POST', `/admin/lanes/${lane}/resume`),
  'GET /admin/lanes/:lane': ({ lane }) => request(ours.key, 'GET', `/admin/lanes/${lane}`),
  'GET /admin/lanes/:lane/dead-letters': ({ lane }) => request(ours.key, 'GET', `/admin/lanes/${lane}/dead-letters`),
  'POST /admin/lanes/:lane/end-cooldown': ({ lane }) =>
    request(ours.key, 'POST', `/admin/lanes/${lane}/end-cooldown`, {}),
  'GET /admin/senders/:id': ({ lane }) => request(ours.key, 'GET', `/admin/senders/${lane}`),
  'GET /admin/senders/:id/check': ({ lane }) => request(ours.key, 'GET', `/admin/senders/${lane}/check`),
  'PATCH /admin/senders/:id': ({ lane }) => request(ours.key, 'PATCH', `/admin/senders/${lane}`, { rate: 7 }),
  'GET /admin/portfolios/:id': ({ portfolio }) => request(ours.key, 'GET', `/admin/portfolios/${portfolio}`),
  'PATCH /admin/portfolios/:id': ({ portfolio }) =>
    request(ours.key, 'PATCH', `/admin/portfolios/${portfolio}`, { name: 'theirs' }),
  'DELETE /admin/portfolios/:id': ({ portfolio }) => request(ours.key, 'DELETE', `/admin/portfolios/${portfolio}`),
  'GET /admin/templates/:name': ({ template }) => request(ours.key, 'GET', `/admin/templates/${template}`),
  'DELETE /admin/templates/:name': ({ template }) => request(ours.key, 'DELETE', `/admin/templates/${template}`),
  'GET /contacts of a list': ({ tag }) => request(ours.key, 'GET', `/contacts?tag=${tag}`),
  'POST /contacts/import of a list': ({ tag }) =>
    request(ours.key, 'POST', `/contacts/import?tag=${tag}`, {}, 'text/csv'),
  'GET /contacts/:id': ({ contact }) => request(ours.key, 'GET', `/contacts/${contact}`),
  'PATCH /contacts/:id': ({ contact }) => request(ours.key, 'PATCH', `/contacts/${contact}`, { name: 'x' }),
  'DELETE /contacts/:id': ({ contact }) => request(ours.key, 'DELETE', `/contacts/${contact}`),
  'POST /admin/keys/:key/rotate': ({ keyId }) => request(ours.key, 'POST', `/admin/keys/${keyId}/rotate`, {}),
  'POST /admin/lanes/:lane/rate': ({ lane }) => request(ours.key, 'POST', `/admin/lanes/${lane}/rate`, { rate: 7 }),
  // After all that needs them.
  'GET /admin/keys/:key': ({ keyId }) => request(ours.key, 'GET', `/admin/keys/${keyId}`),
  'DELETE /admin/keys/:key': ({ keyId }) => request(ours.key, 'DELETE', `/admin/keys/${keyId}`),
  'DELETE /admin/senders/:id': ({ lane }) => request(ours.key, 'DELETE', `/admin/senders/${lane}`),
}

const gallery = (method: string, path: string, body?: object) => request(ours.key, method, GALLERY + path, body)
const put = (path: string, body: object) => gallery('PUT', path, body)
const move = (file_ids: number[], folder_id: number) => gallery('POST', '/files/bulk-move', { file_ids, folder_id })
const withKey = (path: string, body: object) => request('', 'POST', path, { ...body, api_key: ours.key })
const lookUp = (path: string, message_id: string) => withKey(`/chatappbusiness/${path}`, { message_id })
function upload(folder: number): Promise<Inspected> {
  const form = new FormData()
  form.set('folder_id', String(folder))
  form.set('file', new File(['x'], 'x.txt'))
  return service.api.as(ours.key).post(`${GALLERY}/files`, form)
}

/** What an answer says, without its own id and without the ids that may have been asked for. */
function said(answer: Inspected, ids: object): unknown {
  let text = answer.text.replace(/"(request_id|job_id|created_at|ended_at)":"[^"]*"/g, '')
  for (const id of Object.values(ids)) text = text.replaceAll(String(id), '#')
  return { status: answer.status, text }
}

test('every route with an id in its path is tested', () => {
  const withIds = DECLARED.filter(
    ({ name, key, needs }) =>
      // The name of a webhook secret is a word that every account has.
      name.includes(':') && key !== 'none' && needs !== 'operator' && !name.endsWith('/webhook-secrets/:name'),
  ).map(({ name }) => name)
  expect(withIds.filter((name) => !(name in asking))).toEqual([])
  const declared = new Set(DECLARED.map(({ name }) => name))
  expect(Object.keys(asking).filter((name) => !declared.has(name.replace(/ of a .*/, '')))).toEqual([])
})

/** Everything of theirs that a person could see change. */
function allOfTheirs(): Promise<Record<string, string>> {
  const { account, cloudLane: lane } = theirs.tenant
  return allVisible(service.redis, { account, lane })
}

test('a foreign id is answered like one that does not exist, and changes nothing', async () => {
  const before = await allOfTheirs()
  expect(Object.keys(before).length).toBeGreaterThan(8)
  for (const [name, ask] of Object.entries(asking)) {
    const ofTheirs = await ask(theirs)
    const ofNobody = await ask(nobodys)
    expect(said(ofTheirs, theirs), name).toEqual(said(ofNobody, nobodys))
    const mayBeEmpty =
      name.endsWith('/fetchContactsTagWise') ||
      name.endsWith('/batch') ||
      /(people|conversations)\/:person(\/messages)?$/.test(name)
    expect(ofTheirs.status, name).toBe(
      mayBeEmpty
        ? 200
        : ['send-templated', 'messages/requeue'].some((part) => name.includes(part)) || name === 'POST /campaigns'
          ? 400
          : 404,
    )
  }
  expect(await allOfTheirs()).toEqual(before)
})

test('an id of our own is answered otherwise, so that the comparison means something', async () => {
  for (const [name, ask] of Object.entries(asking)) {
    const ofOurs = await ask(ours)
    const ofNobody = await ask(nobodys)
    expect(said(ofOurs, ours), name).not.toEqual(said(ofNobody, nobodys))
  }
})

test('a list shows nothing of another account', async () => {
  for (const path of [
    `${GALLERY}/folders`,
    `${GALLERY}/files?trash=true`,
    '/campaigns',
    '/admin/lanes',
    '/admin/senders',
    '/admin/keys',
    '/admin/templates',
    '/contacts',
    '/contacts/tags',
  ]) {
    const { status, text } = await request(ours.key, 'GET', path)
    expect(status, path).toBe(200)
    for (const id of [theirs.folder, theirs.trashed, theirs.campaign, theirs.tenant.cloudNumber, 'theirs']) {
      expect(text, path).not.toContain(String(id))
    }
  }
})
