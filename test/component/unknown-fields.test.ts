// Pins: a field that nobody knows is never silently dropped. At the addresses of the older interface a misspelt one is
// refused, and the path of any other named in a header, unless the account refuses all; at our own all are refused.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createAccount, findAccount, setAccountSettings } from '../../src/accounts/accounts.ts'
import { createFolder, findFolder } from '../../src/gallery/folders.ts'
import { loadConfig, unknownSettings } from '../../src/kernel/config.ts'
import { readSend } from '../../src/messages/accept/read-send.ts'
import { NOT_A_SENDER } from '../../src/model/accounts/sender.ts'
import { definitionSchema } from '../../src/model/campaigns/definition.ts'
import { createTag } from '../../src/people/contacts/tags.ts'
import { imageBody, templateBody } from '../support/example-messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { accountRecord } from '../support/state/accounts.ts'

let service: Service
/** An account as it is made today, which refuses all, and one that ignores what is no misspelling. */
let strict: Tenant
let tenant: Tenant
const template = {
  name: 'order_update',
  language: 'en_US',
  category: 'UTILITY',
  components: [{ type: 'BODY', text: 'Hi {{1}}' }],
}
beforeAll(async () => {
  service = await startService({ worker: false, templates: [template] })
  strict = await service.addTenant()
  tenant = await service.addTenant()
  await setAccountSettings(service.redis, tenant.account, { unknown_fields: 'ignore' })
})
afterAll(() => service?.close())

const HEADER = 'x-laneway-ignored'
const SEND = '/sendservicemessages/sendmessages'
const XHR = { 'x-requested-with': 'XMLHttpRequest' }

/** One is named with what it was meant for: `captoin>caption`. */
const unknown = (...fields: string[]) =>
  fields.map((field) => {
    const [path, meant] = field.split('>')
    return { path, message: meant === undefined ? 'unknown field' : `unknown field; is "${meant}" meant?` }
  })

async function ask(method: string, path: string, body: object | undefined, api = service.api, headers = {}) {
  const answer = await api.request(method, path, body, headers)
  // biome-ignore lint/suspicious/noExplicitAny: every test looks at what it needs
  const json: any = answer.json
  return { status: answer.status, ignored: answer.headers.get(HEADER), body: json }
}

const filled = (inParameter: object = { lang: 'en' }) => ({
  ...templateBody({
    components: [{ type: 'body', parameters: [{ type: 'TEXT', text: 'a', ...inParameter }], colour: 'red' }],
  }),
  sender: tenant.partnerNumber,
})

describe('the older interface ignores it and names it', () => {
  // Express takes what does not say how long it is.
  test.each([
    ['on the fast path', { 'content-type': 'application/json' }],
    ['through Express', { 'content-type': 'application/json ;charset=UTF-8' }],
  ])('%s', async (_way, headers) => {
    const body = { ...imageBody({ width: 9 }), api_key: tenant.apiKey, to: '+447700900123', note: { a: 1 } }
    expect(await ask('POST', SEND, body, service.api, headers)).toMatchObject({
      status: 200,
      ignored: 'image.width, note',
    })
  })

  test('in every part of a template message', async () => {
    const body = { ...filled(), api_key: tenant.apiKey }
    const answer = await ask('POST', '/chatappbusiness/send-templated-message', body)
    expect(answer).toMatchObject({
      status: 200,
      ignored: 'template.components[0].parameters[0].lang, template.components[0].colour',
    })
  })

  test('in lookups, contact lists and the gallery', async () => {
    const sent = await ask('POST', SEND, { ...imageBody(), api_key: tenant.apiKey, to: '+447700900123' })
    const message_id = sent.body.messages[0].id
    const lookup = { api_key: tenant.apiKey, message_id, x: 1 }
    const { id: tag } = await createTag(service.redis, tenant.account, 'people')
    const folder = await createFolder(service.redis, tenant.account, { name: 'a' })
    const gallery = await tenant.apiWith('gallery')
    const lists = await tenant.apiWith('contacts:write')
    const answers = [
      await ask('POST', '/chatappbusiness/fetchmessageinfo', lookup),
      await ask('POST', '/chatappbusiness/getmessgageinfobyid', lookup),
      await ask('POST', '/api/betav3/tagmanage/tag/fetchContactsTagWise', {
        api_key: await tenant.key('contacts:read'),
        tags: [tag],
        x: 1,
      }),
      await ask('POST', '/partners/broadcast/addnewcontacttag', { name: 'more people', x: 1 }, lists, XHR),
      await ask('PUT', `/partners/wp-gallery/manage/folders/${folder.id}`, { name: 'b', x: 1 }, gallery),
    ]
    expect(answers.map(({ status, ignored }) => [status, ignored])).toEqual(answers.map(() => [200, 'x']))
  })

  test('in a header of limited length that cannot be used for injection', async () => {
    const names = ['a\r\nset-cookie: x=1', 'ü', '😀', 'x'.repeat(500), ...Array.from({ length: 50 }, (_, i) => `f${i}`)]
    const more = Object.fromEntries(names.map((name) => [name, 'secret']))
    const { status, ignored } = await ask('POST', SEND, { ...imageBody(), api_key: tenant.apiKey, ...more })
    expect(status).toBe(200)
    expect(ignored).toMatch(/^[\w.[\]$@:/,? -]{1,1000}$/)
    expect(ignored?.split(', ')).toHaveLength(20)
    expect(ignored).not.toContain('secret')
  })

  test('and mentions nothing when every field is known', async () => {
    const text = { type: 'BODY', parameters: [{ type: 'text', text: 'a', parameter_name: 'idle' }] }
    const known = {
      ...templateBody({ components: [text] }, { campaign_id: 'c', valid_until: soon() }),
      sender: tenant.partnerNumber,
    }
    const answer = await ask('POST', '/chatappbusiness/send-templated-message', { ...known, api_key: tenant.apiKey })
    expect(answer).toMatchObject({ status: 200, ignored: null })
  })
})

const soon = () => new Date(Date.now() + 60_000).toISOString()

describe('the older interface refuses a misspelt one', () => {
  const later = '2030-01-01T00:00:00Z'

  test.each<[string, object, string]>([
    ['sendAt', { sendAt: later }, 'sendAt>send_at'],
    ['send_At', { send_At: later }, 'send_At>send_at'],
    ['valid_untill', { valid_untill: later, note: 1 }, 'valid_untill>valid_until'],
    ['Sender', { Sender: 'cloud' }, 'Sender>sender'],
    ['captoin', { image: { link: 'https://shop.example/a.png', captoin: 'a' } }, 'image.captoin>caption'],
    ['messageId', { context: { message_id: 'wamid.1', messageId: 'wamid.2' } }, 'context.messageId>message_id'],
  ])('%s in a service message, which is not sent', async (_name, more, field) => {
    const before = await waiting()
    const body = { ...imageBody(), ...more, api_key: tenant.apiKey, to: '+447700900123' }
    const answer = await ask('POST', SEND, body)
    expect(answer).toMatchObject({ status: 400, ignored: null })
    expect(answer.body.error.details).toEqual(unknown(field))
    expect(await waiting()).toBe(before)
  })

  test('in every part of a template message', async () => {
    const body = { ...filled({ txet: 'b' }), campaignId: 'spring', api_key: tenant.apiKey }
    const answer = await ask('POST', '/chatappbusiness/send-templated-message', body)
    expect(answer.status).toBe(400)
    expect(answer.body.error.details).toEqual(
      unknown('template.components[0].parameters[0].txet>text', 'campaignId>campaign_id'),
    )
  })

  test('with the faults of the template and the sender that can still be found', async () => {
    const body = { ...filled({ Text: 'b' }), sender: 'nobody', api_key: tenant.apiKey }
    const answer = await ask('POST', '/chatappbusiness/send-templated-message', body)
    expect(answer.body.error.details).toEqual([
      ...unknown('template.components[0].parameters[0].Text>text'),
      { path: 'sender', message: NOT_A_SENDER },
    ])
  })

  test('in lookups, contact lists and the gallery', async () => {
    const folder = await createFolder(service.redis, tenant.account, { name: 'misspelt' })
    const gallery = await tenant.apiWith('gallery')
    const lists = await tenant.apiWith('contacts:write')
    const lookup = { api_key: tenant.apiKey, message_id: 'x', messageId: 'y' }
    const answers = [
      await ask('POST', '/chatappbusiness/fetchmessageinfo', lookup),
      await ask('POST', '/chatappbusiness/getmessgageinfobyid', lookup),
      await ask('POST', '/api/betav3/tagmanage/tag/fetchContactsTagWise', {
        api_key: await tenant.key('contacts:read'),
        tags: [1],
        Tags: [2],
      }),
      await ask('POST', '/partners/broadcast/addnewcontacttag', { name: 'never made', nmae: 'x' }, lists, XHR),
      await ask('PUT', `/partners/wp-gallery/manage/folders/${folder.id}`, { name: 'b', Name: 'c' }, gallery),
      await ask(
        'POST',
        '/partners/wp-gallery/manage/files/bulk-move',
        { file_ids: [1], folder_id: 1, folderId: 2 },
        gallery,
      ),
    ]
    const meant = ['messageId>message_id', 'messageId>message_id', 'Tags>tags', 'nmae>name', 'Name>name']
    expect(answers.map(({ status, body }) => [status, body.error.details])).toEqual(
      [...meant, 'folderId>folder_id'].map((field) => [400, unknown(field)]),
    )
    expect(await findFolder(service.redis, tenant.account, folder.id)).toMatchObject({ name: 'misspelt' })
  })

  const waiting = async () =>
    (await service.redis.keys('*')).filter((key) => key.includes(`lane-${tenant.partnerLane}`)).length
})

describe('the policy of a language, which clients of the Cloud API send out of habit', () => {
  const components = [{ type: 'body', parameters: [{ type: 'text', text: 'a' }] }]
  const withPolicy = (policy: string) => ({
    ...templateBody({ language: { code: 'en_US', policy }, components }),
    sender: strict.partnerNumber,
  })

  test('is not an unknown field of a message, at any address', async () => {
    const path = '/chatappbusiness/send-templated-message'
    const answer = await ask('POST', path, { ...withPolicy('deterministic'), api_key: strict.apiKey })
    expect(answer).toMatchObject({ status: 200, ignored: null })
    expect(readSend('template', { ...withPolicy('deterministic'), api_key: undefined }, 'refused').ok).toBe(true)
  })

  test('is one with any other value, which may be intended', async () => {
    const path = '/chatappbusiness/send-templated-message'
    const answer = await ask('POST', path, { ...withPolicy('fallback'), api_key: strict.apiKey })
    expect([answer.status, answer.body.error.details]).toEqual([400, unknown('template.language.policy')])
  })

  test('is not one in a campaign, and is not stored there', () => {
    const template = { name: 'order_update', language: { code: 'en_US', policy: 'deterministic' } }
    const definition = { sender: 'shop', template, recipients: { tags: [1] } }
    const { language } = definitionSchema.parse(definition).template
    expect(JSON.stringify(language)).toBe('{"code":"en_US"}')
    const other = { ...definition, template: { ...template, language: { code: 'en_US', policy: 'fallback' } } }
    expect(definitionSchema.safeParse(other).success).toBe(false)
  })
})

describe('an account created today', () => {
  test('refuses all of them on those addresses as well, and sends nothing', async () => {
    const message = { ...imageBody({ width: 9 }), api_key: strict.apiKey, to: '+447700900123', note: { a: 1 } }
    const answer = await ask('POST', SEND, message)
    expect(answer).toMatchObject({ status: 400, ignored: null })
    expect(answer.body.error.details).toEqual(unknown('image.width', 'note'))
    const template = { ...filled(), sender: 'nobody', api_key: strict.apiKey }
    const { body } = await ask('POST', '/chatappbusiness/send-templated-message', template)
    expect(body.error.details).toEqual([
      ...unknown('template.components[0].parameters[0].lang', 'template.components[0].colour'),
      { path: 'sender', message: NOT_A_SENDER },
    ])
    // One of them would be refused everywhere.
    const both = await ask('POST', SEND, { ...imageBody(), api_key: strict.apiKey, note: 1, sendAt: 'tomorrow' })
    expect(both.body.error.details).toEqual(unknown('note', 'sendAt>send_at'))
    const lookup = { api_key: strict.apiKey, message_id: 'x', y: 1 }
    const lookedUp = await ask('POST', '/chatappbusiness/getmessgageinfobyid', lookup)
    expect([lookedUp.status, lookedUp.body.error.details]).toEqual([400, unknown('y')])
  })

  test('ignores them when set to', async () => {
    const other = await service.addTenant()
    const body = { ...imageBody(), api_key: other.apiKey, to: '+447700900123', note: 1 }
    expect((await ask('POST', SEND, body)).status).toBe(400)
    await setAccountSettings(service.redis, other.account, { unknown_fields: 'ignore' })
    await expect.poll(() => ask('POST', SEND, body)).toMatchObject({ status: 200, ignored: 'note' })
  })

  test('is one created after the setting was added: an older one ignores them', async () => {
    const before = await createAccount(service.redis, 'from before')
    expect(await findAccount(service.redis, before)).toMatchObject({ unknown_fields: 'refuse' })
    await accountRecord(service.redis, before).drop('unknown_fields')
    expect(await findAccount(service.redis, before)).toMatchObject({ unknown_fields: 'ignore' })
  })
})

describe('an address of our own refuses it', () => {
  test('in a message of a batch, and accepts its neighbour', async () => {
    const messages = [
      { ...imageBody({ captoin: 'a' }), note: 1 },
      { ...imageBody(), api_key: undefined },
      { ...filled({ txet: 'b' }), api_key: undefined, sender: 'nobody' },
    ]
    const { status, body } = await ask('POST', '/messages/batch', { messages }, await tenant.apiWith('messages:send'))
    expect(status).toBe(200)
    expect(body.results[0].error.details).toEqual(unknown('api_key', 'image.captoin>caption', 'note'))
    expect(body.results[1].id).toBeDefined()
    expect(body.results[2].error.details).toEqual([
      ...unknown('template.components[0].parameters[0].txet>text', 'template.components[0].colour'),
      { path: 'sender', message: NOT_A_SENDER },
    ])
  })

  const campaign = (more: object = {}, recipients: object = { tags: [1] }, language: object = {}) => ({
    sender: tenant.partnerNumber,
    template: { name: 'order_update', language: { code: 'en_US', ...language }, components: [] },
    recipients,
    ...more,
  })

  test.each<[string, string, () => object | undefined, string[]]>([
    ['a batch', '/messages/batch', () => ({ messages: [imageBody()], mesages: [] }), ['mesages>messages']],
    ['a campaign', '/campaigns', () => campaign({ valid_untill: 'x', x: 1 }), ['valid_untill>valid_until', 'x']],
    ["a campaign's language", '/campaigns', () => campaign({}, undefined, { x: 1 }), ['template.language.x']],
    ["a campaign's tags", '/campaigns', () => campaign({}, { tags: [1], exept: [2] }), ['recipients.exept>except']],
    ["a campaign's rows", '/campaigns', () => campaign({}, { rows: { fone: 'a' } }), ['recipients.rows.fone']],
    [
      "a campaign's components",
      '/campaigns',
      () => ({
        ...campaign(),
        template: {
          ...campaign().template,
          components: [{ type: 'BODY', parameters: [{ type: 'text', text: 'a', txet: 'b' }] }],
        },
      }),
      ['template.components[0].parameters[0].txet>text'],
    ],
    ['a pause', '/campaigns/cmp_1_1/pause', () => ({ raeson: 'a' }), ['raeson>reason']],
    ['a start', '/campaigns/cmp_1_1/start', () => ({ at: 'a' }), ['at']],
  ])('in the body of %s', async (_what, path, body, paths) => {
    const answer = await ask('POST', path, body(), await tenant.apiWith('messages:send'))
    expect(answer).toMatchObject({ status: 400, ignored: null, body: { error: { details: unknown(...paths) } } })
  })

  test('in the body of lanes, requeue and folders, and in the query of lists', async () => {
    const admin = await tenant.apiWith('admin')
    const gallery = await tenant.apiWith('gallery')
    const answers = [
      await ask('POST', `/admin/lanes/${tenant.partnerLane}/pause`, { x: 1 }, admin),
      await ask('POST', `/admin/lanes/${tenant.partnerLane}/resume`, { x: 1 }, admin),
      await ask('POST', `/admin/lanes/${tenant.partnerLane}/rate`, { rate: 5, x: 1 }, admin),
      await ask('POST', '/partners/wp-gallery/manage/folders', { name: 'c', x: 1 }, gallery),
      await ask('GET', '/partners/wp-gallery/manage/folders?x=1', undefined, gallery),
      await ask('GET', '/campaigns?x=1', undefined, await tenant.apiWith('messages:read')),
    ]
    for (const { status, body } of answers) expect([status, body.error.details]).toEqual([400, unknown('x')])
  })
})

test('unknown settings are reported, known ones and those of other programs are not', () => {
  const env = { LANEWAY_TYPO: '1', LANEWAY_LOG_LEVEL: 'info', PORT: '0', OTHER: '1', LANEWAY_RETENTION_DAY: '9' }
  expect(unknownSettings(env)).toEqual(['LANEWAY_RETENTION_DAY', 'LANEWAY_TYPO'])
  expect(() => loadConfig(env)).not.toThrow()
})

test('a validity longer than the retention is refused at the start', () => {
  const env = { LANEWAY_RETENTION_DAYS: '9', LANEWAY_VALIDITY_CAMPAIGN_SECONDS: String(10 * 86_400) }
  expect(() => loadConfig(env)).toThrow('must not be longer than LANEWAY_RETENTION_DAYS')
})
