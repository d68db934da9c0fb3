// Pins: a record in Redis that is not what Laneway wrote is answered 500 with nothing of our inside, at every family of
// routes, and the log says which one it is. Real: Redis, HTTP, producer.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { PERMISSIONS } from '../../src/accounts/credentials.ts'
import { receive } from '../../src/files/drafts.ts'
import { openFolder } from '../../src/files/folder.ts'
import { addFile } from '../../src/gallery/files.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import { loadConfig } from '../../src/kernel/config.ts'
import { parseMessageId } from '../../src/kernel/message-id.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { importContacts } from '../../src/people/contacts/contacts.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { startProducer } from '../../src/producer/main.ts'
import { apiClient } from '../support/api.ts'
import { errorOf } from '../support/api-error.ts'
import { type Inspected, inspect } from '../support/declared-routes.ts'
import { plainHello } from '../support/example-templates.ts'
import { acknowledgedId, audioTo } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import {
  accountRecord,
  contactsOf,
  credentialRecord,
  credentialsOf,
  galleryOf,
  senderRecord,
  templatesOf,
  workersHeardOf,
} from '../support/state/accounts.ts'
import { breakJob } from '../support/state/lanes.ts'
import { allIdempotencyOf, messageRecord, receivedRecord } from '../support/state/messages.ts'

const GALLERY = '/partners/wp-gallery/manage'
const SECRET_TEXT = 'the text that nobody may log'

let service: Service
let producer: { url: string; close: () => Promise<void> }
const logged: string[] = []
const dataDir = mkdtempSync(join(tmpdir(), 'laneway-data-'))
const files = openFolder(dataDir)
beforeAll(async () => {
  service = await startService({ worker: false, templates: [plainHello] })
  const log = pino({ level: 'info' }, { write: (line: string) => void logged.push(line) })
  const config = loadConfig({ PORT: '0', LANEWAY_DATA_DIR: dataDir })
  producer = await startProducer(config, service.server.url, log)
})
afterAll(async () => {
  await producer?.close()
  await service?.close()
  rmSync(dataDir, { recursive: true, force: true })
})

interface Owner extends Tenant {
  /** A key that may do everything. */
  all: string
  ask: (method: string, path: string, body?: object) => Promise<Inspected>
}

/** A new account, so that nothing of it was read before it is broken. */
async function newOwner(): Promise<Owner> {
  const tenant = await service.addTenant()
  const all = await tenant.key(...PERMISSIONS)
  const ask = (method: string, path: string, body?: object) =>
    apiClient(producer.url, all).request(
      method,
      path,
      body === undefined || path.startsWith(GALLERY) ? body : { ...body, api_key: all },
    )
  return { ...tenant, all, ask }
}

const sendAudio = ({ ask }: Owner) => ask('POST', '/sendservicemessages/sendmessages', audioTo('+491700000123'))
const sendTemplate = ({ ask, partnerNumber }: Owner) =>
  ask('POST', '/chatappbusiness/send-templated-message', {
    ...audioTo('+491700000123', { type: 'template', audio: undefined, sender: partnerNumber }),
    template: { name: 'plain_hello', language: { code: 'en_US' } },
  })
const lookUp = ({ ask }: Owner, message_id: string, path = 'fetchmessageinfo') =>
  ask('POST', `/chatappbusiness/${path}`, { message_id })
const sentBy = async (owner: Owner): Promise<string> => {
  const { status, json } = await sendAudio(owner)
  return acknowledgedId({ status, body: json })
}

/** Breaks something and asks for it. */
const cases: Readonly<Record<string, (owner: Owner) => Promise<Inspected>>> = {
  'the record of a key': async (owner) => {
    const hashes = Object.values(await credentialsOf(service.redis, owner.account).fields())
    for (const hash of hashes) await credentialRecord(service.redis, hash).change({ permissions: 'everything' })
    return owner.ask('GET', '/admin/lanes')
  },
  'the settings of an account, on fetching contacts': async (owner) => {
    await accountRecord(service.redis, owner.account).change({ contacts_shape: 'round' })
    return owner.ask('POST', '/api/betav3/tagmanage/tag/fetchContactsTagWise', { tags: [1] })
  },
  'the settings of an account, on sending a template': async (owner) => {
    await accountRecord(service.redis, owner.account).change({ template_check: 'perhaps' })
    return sendTemplate(owner)
  },
  'a sender, on sending': async (owner) => {
    await senderRecord(service.redis, owner.partnerLane).change({ provider: 'pigeon' })
    return sendAudio(owner)
  },
  'a sender, on looking at lanes': async (owner) => {
    await senderRecord(service.redis, owner.partnerLane).change({ rate: 'fast' })
    return owner.ask('GET', '/admin/lanes')
  },
  'an approved template': async (owner) => {
    await templatesOf(service.redis, owner.account).change({ 'plain_hello/en_US': '{"name":' })
    return sendTemplate(owner)
  },
  'a message that waits, its job': async (owner) => {
    const id = parseMessageId(await sentBy(owner))
    if (!id) throw new Error('no id')
    const name = `msg_${id.lane}_${id.ulid}`
    await breakJob(service.redis, name, `{"x":"${SECRET_TEXT}"}`)
    return lookUp(owner, name)
  },
  'a message that was claimed, on its info': async (owner) => {
    const name = await sentBy(owner)
    await breakMessage(name)
    return lookUp(owner, name)
  },
  'a message that was claimed, on its status': async (owner) => {
    const name = await sentBy(owner)
    await breakMessage(name)
    return lookUp(owner, name, 'getmessgageinfobyid')
  },
  'a message whose record is of another kind': async (owner) => {
    const name = await sentBy(owner)
    const id = parseMessageId(name)
    await messageRecord(service.redis, { lane: id?.lane ?? 0, ulid: id?.ulid ?? '' }).ruin(SECRET_TEXT)
    return lookUp(owner, name)
  },
  'a received message': async (owner) => {
    const received = {
      id: 'wamid.x',
      lane: owner.cloudLane,
      from: '49',
      type: 'text',
      text: SECRET_TEXT,
      received_at: 1,
    }
    await storeInbound(service.redis, owner.account, received, 60_000)
    await receivedRecord(service.redis, owner.account, 'wamid.x').drop('type')
    return lookUp(owner, 'wamid.x')
  },
  'what an Idempotency-Key stands for': async (owner) => {
    const send = () =>
      inspect(`${producer.url}/sendservicemessages/sendmessages`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'idempotency-key': 'k' },
        body: JSON.stringify({ ...audioTo('+491700000123'), api_key: owner.all }),
      })
    expect((await send()).status).toBe(200)
    const [remembered] = await allIdempotencyOf(service.redis, owner.account)
    await remembered?.ruin(SECRET_TEXT)
    return send()
  },
  'a folder, on renaming it': async (owner) => {
    const { id } = await createFolder(service.redis, owner.account, { name: 'x' })
    await galleryOf(service.redis, owner.account).folder(id).change({ is_system: 'maybe' })
    return owner.ask('PUT', `${GALLERY}/folders/${id}`, { name: 'y' })
  },
  'a folder, on listing folders': async (owner) => {
    const { id } = await createFolder(service.redis, owner.account, { name: 'x' })
    await galleryOf(service.redis, owner.account).folder(id).drop('created_at')
    return owner.ask('GET', `${GALLERY}/folders`)
  },
  'a file, on moving it to the trash': async (owner) => {
    const { id } = await createFolder(service.redis, owner.account, { name: 'x' })
    const file = await addFile(
      service.redis,
      files,
      owner.account,
      id,
      'x.txt',
      await receive(files, [Buffer.from('x')]),
    )
    await galleryOf(service.redis, owner.account).file(file.id).drop('hash')
    return owner.ask('DELETE', `${GALLERY}/files/${file.id}`)
  },
  'the trash': async (owner) => {
    await galleryOf(service.redis, owner.account).trash.ruin(SECRET_TEXT)
    return owner.ask('GET', `${GALLERY}/files?trash=true`)
  },
  'the members of a tag': async (owner) => {
    const { id } = await createTag(service.redis, owner.account, 'x')
    await contactsOf(service.redis, owner.account).members(id).ruin(SECRET_TEXT)
    return owner.ask('POST', '/api/betav3/tagmanage/tag/fetchContactsTagWise', { tags: [id] })
  },
  'a contact': async (owner) => {
    const { id } = await createTag(service.redis, owner.account, 'x')
    await importContacts(service.redis, owner.account, id, [{ phone: '491700000001', name: SECRET_TEXT, email: '' }])
    const [contact = ''] = await contactsOf(service.redis, owner.account).members(id).all()
    await contactsOf(service.redis, owner.account).contact(Number(contact)).drop('phone')
    return owner.ask('POST', '/api/betav3/tagmanage/tag/fetchContactsTagWise', { tags: [id] })
  },
  'the names of tags, on creating a list': async (owner) => {
    await contactsOf(service.redis, owner.account).tagNames.ruin(SECRET_TEXT)
    const headers = { 'x-requested-with': 'XMLHttpRequest' }
    return apiClient(producer.url, owner.all).post('/partners/broadcast/addnewcontacttag', { name: 'x' }, headers)
  },
}

async function breakMessage(name: string): Promise<void> {
  const id = parseMessageId(name)
  await messageRecord(service.redis, { lane: id?.lane ?? 0, ulid: id?.ulid ?? '' }).change({ s: 'z', x: SECRET_TEXT })
}

const logLine = z.looseObject({ request_id: z.string(), code: z.string(), err: z.looseObject({ message: z.string() }) })

describe('500 for', () => {
  test.each(Object.entries(cases))('%s', async (_name, breakAndAsk) => {
    const owner = await newOwner()
    logged.length = 0
    const answer = await breakAndAsk(owner)
    expect(answer.status, answer.text).toBe(500)
    const error = errorOf(answer)
    expect(error.code).toBe('internal')
    expect(error.details).toEqual([])
    expect(error.message).toBe('Something went wrong on our side. Quote the request id when you ask for support.')
    expect(answer.text).not.toContain(SECRET_TEXT)

    const lines = logged.map((line) => logLine.safeParse(JSON.parse(line))).flatMap(({ data }) => data ?? [])
    expect(lines.map(({ request_id }) => request_id)).toContain(error.request_id)
    expect(lines[0]?.err.message).toBeTruthy()
    for (const secret of [SECRET_TEXT, owner.all, '491700000123']) expect(logged.join('')).not.toContain(secret)
  })

  test('the list of workers, and readiness fails without hanging', async () => {
    const { redis } = service
    await workersHeardOf(redis).ruin('x')
    expect((await inspect(`${producer.url}/readyz`)).status).toBe(500)
    await workersHeardOf(redis).remove()
    expect((await inspect(`${producer.url}/readyz`)).status).toBe(503)
  })
})
