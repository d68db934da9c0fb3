// Pins: what is accepted and what is refused when a message is sent over HTTP, how repeats with one Idempotency-Key are
// one message, and that nothing is sent past its validity. Real: Redis, HTTP, producer; a worker where it matters.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createAccount, setAccountSettings } from '../../src/accounts/accounts.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { sendPayloadSchema } from '../../src/jobs/send.ts'
import { messageId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'
import { bodyDigest, rememberKey } from '../../src/redis/idempotency.ts'
import { errorOf } from '../support/api-error.ts'
import { audioBody, buttonsBody, imageBody, listBody } from '../support/example-messages.ts'
import { flashSale, invoice, oneTimeCode, orderUpdate, plainHello, visit } from '../support/example-templates.ts'
import { acknowledgedId, audioTo, deliveryOf, infoOf, reaches } from '../support/messages.ts'
import { type Service, startService, type Tenant } from '../support/service.ts'
import { readLedger } from '../support/simulator-wires.ts'
import { templatesOf } from '../support/state/accounts.ts'
import { namesWith } from '../support/state/everything.ts'
import { hasJob, jobOf } from '../support/state/lanes.ts'
import { allIdempotencyOf } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const SERVICE = '/sendservicemessages/sendmessages'
const TEMPLATE = '/chatappbusiness/send-templated-message'
const HOUR = 3_600_000

let service: Service
let tenant: Tenant
let cloudTenant: Tenant
beforeAll(async () => {
  const paused = { ...plainHello, name: 'paused', status: 'PAUSED' }
  service = await startService({
    worker: false,
    templates: [orderUpdate, flashSale, invoice, plainHello, paused, oneTimeCode, visit],
  })
  tenant = await service.addTenant()
  // Some bodies here have fields of other kinds: what is stored of them is nothing.
  await setAccountSettings(service.redis, tenant.account, { unknown_fields: 'ignore' })
  cloudTenant = await service.addTenant({ defaultProvider: 'cloud-api' })
})
afterAll(() => service?.close())

const send = (body: object, headers: Record<string, string> = {}, path = SERVICE, { apiKey }: Tenant = tenant) =>
  service.post(path, { ...body, api_key: apiKey }, headers)
const withKey = (key: string) => ({ 'idempotency-key': key })

/**
 * Has `ask` send with a validity that is soon over, and returns its acknowledgement: with a longer one where the machine
 * let that time pass before the message was accepted.
 */
async function acceptedShortly(ask: (valid_until: string) => ReturnType<typeof send>) {
  for (let ms = 400; ; ms *= 4) {
    const untilMs = Date.now() + ms
    const valid_until = new Date(untilMs).toISOString()
    const answer = await ask(valid_until)
    if (answer.status === 200 || Date.now() < untilMs) return { id: acknowledgedId(answer), valid_until }
  }
}

function refusal(answer: { status: number; body: unknown }) {
  const { code, details } = errorOf({ json: answer.body })
  return { status: answer.status, code, paths: details.map(({ path }) => String(path)) }
}

/** The job of a message that waits. */
async function payloadOf(name: string) {
  return sendPayloadSchema.parse((await jobOf(service.redis, name))?.data)
}

const templateTo = (more: object = {}, template: object = {}) => ({
  ...audioTo('+49 170 0000001', { type: 'template', audio: undefined }),
  sender: tenant.partnerNumber,
  template: { name: 'plain_hello', language: { code: 'en_US' }, ...template },
  ...more,
})

describe('an acknowledgement', () => {
  test('holds the recipient as given, its digits and our id, and nothing else', async () => {
    const answer = await send(audioTo('+49 (170) 000-00 01'))
    const id = acknowledgedId(answer)
    expect(answer.body).toEqual({
      messaging_product: 'chatapp',
      contacts: [{ input: '+49 (170) 000-00 01', wa_id: '491700000001' }],
      messages: [{ id }],
    })
    expect(parseMessageId(id)?.lane).toBe(tenant.partnerLane)
  })

  test('of a template looks the same', async () => {
    const answer = await send(templateTo(), {}, TEMPLATE)
    const id = acknowledgedId(answer)
    expect(answer.body).toEqual({
      messaging_product: 'chatapp',
      contacts: [{ input: '+49 170 0000001', wa_id: '491700000001' }],
      messages: [{ id }],
    })
  })

  test('is good for a lookup at once, and still after Redis was killed', async () => {
    const id = acknowledgedId(await send(imageBody()))
    await service.server.kill9()
    await service.server.restart()
    const info = await eventually(() => infoOf(service, tenant, id), 'the lookup')
    expect(info).toEqual({
      message_id: id,
      message_text: 'A cat',
      message_type: 'image',
      message_from: tenant.partnerNumber,
      direction: 'outbound',
      status: 'pending',
      timestamp: expect.any(Number),
    })
    expect(Math.abs(info.timestamp - Date.now() / 1_000)).toBeLessThan(60)
    expect(await deliveryOf(service, tenant, id)).toEqual({ status: 'queued', error_message: null })
  })

  test.each<[string, () => object, string, string, string]>([
    ['a list', listBody, SERVICE, 'interactive', 'What would you like?'],
    ['buttons', buttonsBody, SERVICE, 'interactive', 'Shall we deliver it today?'],
    ['an image with a caption', imageBody, SERVICE, 'image', 'A cat'],
    ['an image without', () => imageBody({ caption: undefined }), SERVICE, 'image', 'https://files.example/cat.png'],
    ['audio', audioBody, SERVICE, 'audio', 'https://files.example/hello.ogg'],
    ['a template', () => templateTo(), TEMPLATE, 'template', 'Hello!'],
    [
      'a template with variables',
      () =>
        templateTo(
          {},
          {
            name: 'order_update',
            components: [
              { type: 'header', parameters: [{ type: 'text', text: 'A-7' }] },
              {
                type: 'body',
                parameters: [
                  { type: 'text', text: 'Ann' },
                  { type: 'text', text: 'Monday' },
                ],
              },
              { type: 'button', sub_type: 'url', index: 0, parameters: [{ type: 'text', text: 'A-7' }] },
            ],
          },
        ),
      TEMPLATE,
      'template',
      'Hi Ann, your order leaves us on Monday.',
    ],
  ])('of %s leads to the text that the person will read', async (_name, body, path, type, text) => {
    const id = acknowledgedId(await send(body(), {}, path))
    expect(await infoOf(service, tenant, id)).toMatchObject({ message_type: type, message_text: text })
  })

  test('is given although a field is unknown, which is not stored', async () => {
    const id = acknowledgedId(await send(imageBody({ link: 'https://x.example/a.png', secret: 'x' })))
    const text = JSON.stringify(await payloadOf(id))
    expect(text).not.toContain('secret')
    expect(text).not.toContain(tenant.apiKey)
  })
})

describe('an Idempotency-Key', () => {
  test('makes equal requests one message, whatever the spelling of the JSON and whichever key of the account', async () => {
    const first = acknowledgedId(await send(audioTo('+491700000001'), withKey('a-1')))
    const turned = Object.fromEntries(Object.entries(audioTo('+491700000001')).reverse())
    const otherKey = await tenant.key('messages:send')
    const again = await service.post(SERVICE, { ...turned, api_key: otherKey }, withKey('a-1'))
    expect(acknowledgedId(again)).toBe(first)
  })

  test.each<[string, object]>([
    ['another recipient', { to: '+491700000002' }],
    ['the same recipient in another spelling', { to: '491700000001' }],
    ['another link', { audio: { link: 'https://example.com/other.ogg' } }],
    ['a field more, even one that nobody knows', { note: 'x' }],
    ['a validity', { valid_until: new Date(Date.now() + HOUR).toISOString() }],
  ])('with %s is 422', async (_name, change) => {
    const key = withKey(`b-${_name}`)
    acknowledgedId(await send(audioTo('+491700000001'), key))
    const answer = await send(audioTo('+491700000001', change), key)
    expect(refusal(answer)).toEqual({ status: 422, code: 'idempotency_key_reused', paths: [] })
  })

  test('stands for one message per account and route, and is case-sensitive', async () => {
    const key = withKey('c-1')
    const ids = [
      acknowledgedId(await send(audioTo('+491700000001'), key)),
      acknowledgedId(await send(templateTo(), key, TEMPLATE)),
      acknowledgedId(await send(audioTo('+491700000001'), key, SERVICE, cloudTenant)),
      acknowledgedId(await send(audioTo('+491700000001'), withKey('C-1'))),
    ]
    expect(new Set(ids).size).toBe(4)
  })

  test('that is empty counts as missing', async () => {
    const [one, two] = [
      await send(audioTo('+491700000001'), withKey('')),
      await send(audioTo('+491700000001'), withKey('')),
    ]
    expect(acknowledgedId(one)).not.toBe(acknowledgedId(two))
  })

  test('of 255 characters is accepted, of 256 refused', async () => {
    acknowledgedId(await send(audioTo('+491700000001'), withKey('k'.repeat(255))))
    const answer = await send(audioTo('+491700000001'), withKey('k'.repeat(256)))
    expect(refusal(answer)).toEqual({ status: 400, code: 'invalid_request', paths: ['Idempotency-Key'] })
  })

  test('is not used up by a refused request', async () => {
    const key = withKey('d-1')
    expect((await send(audioTo('+49'), key)).status).toBe(400)
    expect((await send(audioTo('+491700000001', { valid_until: '2020-01-01T00:00:00Z' }), key)).status).toBe(400)
    acknowledgedId(await send(audioTo('+491700000001'), key))
  })

  test('gets the same acknowledgement when its validity has passed and its template is gone by then', async () => {
    const owner = await service.addTenant()
    const ask = (valid_until: string) =>
      send(templateTo({ sender: owner.partnerNumber, valid_until }), withKey('e-1'), TEMPLATE, owner)
    const { id, valid_until } = await acceptedShortly(ask)
    await templatesOf(service.redis, owner.account).remove()
    await eventually(async () => (await deliveryOf(service, owner, id)).status === 'expired', 'its validity passes')
    expect(acknowledgedId(await ask(valid_until))).toBe(id)
  })

  test('makes the message under the reserved id when the process died before the message was made', async () => {
    const body = audioTo('+491700000009')
    const id = messageId(tenant.partnerLane, newUlid(Date.now()))
    const where = { account: tenant.account, route: 'service', key: 'f-1' }
    await rememberKey(service.redis, { ...where, digest: bodyDigest(body) }, id)
    expect(acknowledgedId(await send(body, withKey('f-1')))).toBe(id)
    expect(await deliveryOf(service, tenant, id)).toMatchObject({ status: 'queued' })
  })

  test('is kept for at least 8 days', async () => {
    await send(audioTo('+491700000001'), withKey('g-1'))
    const all = await allIdempotencyOf(service.redis)
    expect(all.length).toBeGreaterThan(0)
    for (const each of all) expect(await each.livesMs()).toBeGreaterThan(8 * 86_400_000)
  })

  test('is not stored in plain text', async () => {
    await send(audioTo('+491700000001'), withKey('a-secret-of-the-client'))
    expect(await namesWith(service.redis, 'a-secret-of-the-client')).toEqual([])
  })
})

describe('valid_until', () => {
  const until = (time: unknown) => send(audioTo('+491700000001', { valid_until: time }))

  test.each(['2020-01-01T00:00:00Z', new Date(Date.now() - 1).toISOString()])(
    'in the past is refused: %s',
    async (time) => {
      expect(refusal(await until(time))).toEqual({ status: 400, code: 'invalid_request', paths: ['valid_until'] })
    },
  )

  test.each(['tomorrow', '2999-01-01', '2999-01-01T00:00:00', '2999-13-01T00:00:00Z', 4_000_000_000, null, {}, ''])(
    'that is not a time with a zone is refused: %j',
    async (time) => {
      expect(refusal(await until(time))).toMatchObject({ status: 400, paths: ['valid_until'] })
    },
  )

  test('is kept to the millisecond, in any zone', async () => {
    const day = new Date(Date.now() + 48 * HOUR).toISOString().slice(0, 10)
    const id = acknowledgedId(await until(`${day}T02:00:00.123+02:00`))
    expect((await payloadOf(id)).until).toBe(Date.parse(`${day}T00:00:00.123Z`))
  })

  test('may be 30 days ahead and no more', async () => {
    const ahead = (ms: number) => until(new Date(Date.now() + ms).toISOString())
    acknowledgedId(await ahead(30 * 24 * HOUR - 60_000))
    for (const ms of [30 * 24 * HOUR + 60_000, 8_000 * 365 * 24 * HOUR]) {
      const { status, body } = await ahead(Math.min(ms, Date.UTC(9999, 11, 31) - Date.now()))
      const details = [{ path: 'valid_until', message: 'at most 30 days ahead' }]
      expect([status, errorOf({ json: body }).details]).toEqual([400, details])
    }
  })

  test('is the default of the class when none is given', async () => {
    const now = Date.now()
    const near = (time: number, expected: number) => expect(Math.abs(time - expected)).toBeLessThan(60_000)
    near((await payloadOf(acknowledgedId(await send(audioTo('+491700000001'))))).until, now + 24 * HOUR)
    const marketing = templateTo(
      {},
      {
        name: 'flash_sale',
        components: [
          { type: 'HEADER', parameters: [{ type: 'IMAGE', image: { link: 'https://x.example/a.png' } }] },
          { type: 'BODY', parameters: [{ type: 'text', text: 'Ann' }] },
          { type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [{ type: 'text', text: 'x' }] },
          {
            type: 'BUTTON',
            sub_type: 'COPY_CODE',
            index: '1',
            parameters: [{ type: 'coupon_code', coupon_code: 'SAVE' }],
          },
        ],
      },
    )
    const campaign = await payloadOf(acknowledgedId(await send(marketing, {}, TEMPLATE)))
    expect(campaign.class).toBe('campaign')
    near(campaign.until, now + 72 * HOUR)
  })

  test('that has passed makes the message expired before any worker acts, and it is never sent', async () => {
    const to = '491700000077'
    const sent = await Promise.all(
      Array.from({ length: 5 }, () => acceptedShortly((valid_until) => send(audioTo(`+${to}`, { valid_until })))),
    )
    const ids = sent.map(({ id }) => id)
    const fresh = acknowledgedId(await send(audioTo('+491700000078')))
    for (const id of ids) {
      await eventually(async () => (await deliveryOf(service, tenant, id)).status === 'expired', 'it expires')
    }
    await service.startWorker()
    await reaches(service, tenant, fresh, 'read')
    for (const id of ids) {
      await reaches(service, tenant, id, 'expired')
      expect(await deliveryOf(service, tenant, id)).toEqual({ status: 'expired', error_message: null })
      expect(await infoOf(service, tenant, id)).toMatchObject({ status: 'failed' })
    }
    // Its job is done, so it stands in its record now.
    const left = await Promise.all(ids.map((id) => hasJob(service.redis, id)))
    expect(left).toEqual([false, false, false, false, false])
    expect((await readLedger(service.simulator.url)).filter((line) => line.to === to)).toEqual([])
    await service.stopWorker()
  })
})

describe('a template', () => {
  test('is refused with all its faults at once: those of its shape and those against the approved one', async () => {
    const body = {
      ...templateTo(
        {},
        {
          name: 'order_update',
          components: [
            { type: 'HEADER', parameters: [{ type: 'text', text: 'a\nb' }] },
            { type: 'BODY', parameters: [{ type: 'text', text: 'Ann' }] },
            { type: 'BUTTON', sub_type: 'URL', index: '1', parameters: [{ type: 'text', text: 'x' }] },
          ],
        },
      ),
      to: 'nobody',
      recipient_type: 'group',
    }
    const answer = await send(body, {}, TEMPLATE)
    const { status, code, paths } = refusal(answer)
    expect({ status, code }).toEqual({ status: 400, code: 'invalid_request' })
    expect(paths).toEqual(
      expect.arrayContaining([
        'to',
        'recipient_type',
        'template.components[0].parameters[0].text',
        'template.components[1].parameters',
      ]),
    )
    expect(paths.some((path) => path.startsWith('template.components[2]') || path === 'template.components')).toBe(true)
    expect(paths.length).toBeGreaterThanOrEqual(5)
  })

  test.each<[string, object]>([
    ['nobody approved', { name: 'no_such_template' }],
    ['is not approved in that language', { language: { code: 'de' } }],
    ['is paused', { name: 'paused' }],
  ])('that %s is refused', async (_name, template) => {
    expect(refusal(await send(templateTo({}, template), {}, TEMPLATE))).toEqual({
      status: 400,
      code: 'invalid_request',
      paths: ['template.name'],
    })
  })

  test('of another account does not count as approved', async () => {
    const bare = await service.addTenant()
    await templatesOf(service.redis, bare.account).remove()
    const answer = await send(templateTo({ sender: bare.partnerNumber }), {}, TEMPLATE, bare)
    expect(refusal(answer).paths).toEqual(['template.name'])
  })

  test('is not checked for an account that turned the check off', async () => {
    const owner = await service.addTenant()
    await setAccountSettings(service.redis, owner.account, { template_check: 'off' })
    const body = templateTo({ sender: owner.partnerNumber }, { name: 'not_known_here' })
    expect(acknowledgedId(await send(body, {}, TEMPLATE, owner))).toBeTruthy()
  })

  test.each<[string, object, boolean]>([
    ['without a campaign_id', {}, true],
    ['with an empty one', { campaign_id: '' }, true],
    ['with one of 255 characters', { campaign_id: 'c'.repeat(255) }, true],
    ['with one of 256', { campaign_id: 'c'.repeat(256) }, false],
    ['with a number', { campaign_id: 5 }, false],
  ])('%s', async (_name, more, isTaken) => {
    const answer = await send(templateTo(more), {}, TEMPLATE)
    if (isTaken) acknowledgedId(answer)
    else expect(refusal(answer)).toMatchObject({ status: 400, paths: ['campaign_id'] })
  })
})

describe('the sender', () => {
  test.each([
    (number: string) => number,
    (number: string) => `+${number}`,
    (number: string) => `+${number.slice(0, 2)} ${number.slice(2, 5)} ${number.slice(5)}`,
    () => 'partner',
  ])('of a template may be named by its number in any spelling, or by its name (%#)', async (spell) => {
    const id = acknowledgedId(await send(templateTo({ sender: spell(tenant.partnerNumber) }), {}, TEMPLATE))
    expect(parseMessageId(id)?.lane).toBe(tenant.partnerLane)
  })

  test('of a template may be another one than the default', async () => {
    const id = acknowledgedId(await send(templateTo({ sender: 'cloud' }), {}, TEMPLATE))
    expect(parseMessageId(id)?.lane).toBe(tenant.cloudLane)
  })

  test.each(['Partner', 'nobody', '+491799999999', 'name:partner', ' ', '__proto__', 'constructor'])(
    'that the account does not have is refused: %j',
    async (sender) => {
      const answer = refusal(await send(templateTo({ sender }), {}, TEMPLATE))
      expect(answer).toEqual({ status: 400, code: 'unknown_sender', paths: ['sender'] })
    },
  )

  test.each([
    (number: string) => number,
    (number: string) => `+${number.slice(0, 2)} (${number.slice(2, 5)}) ${number.slice(5)}`,
    () => 'cloud',
  ])('of a service message may be named by number in any spelling, or by name (%#)', async (spell) => {
    const body = { ...audioTo('+491700000001', { sender: spell(tenant.cloudNumber) }), api_key: tenant.apiKey }
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(service.url + SERVICE, { method: 'POST', headers, body: JSON.stringify(body) })
    expect(answer.headers.get('x-laneway-ignored')).toBeNull()
    const id = acknowledgedId({ status: answer.status, body: await answer.json() })
    expect(parseMessageId(id)?.lane).toBe(tenant.cloudLane)
    expect(await payloadOf(id)).not.toHaveProperty('sender')
  })

  test.each(['nobody', '+491799999999', 'name:partner', ' ', '__proto__'])(
    'of a service message that the account does not have is refused: %j',
    async (sender) => {
      const answer = refusal(await send(audioTo('+491700000001', { sender })))
      expect(answer).toEqual({ status: 400, code: 'unknown_sender', paths: ['sender'] })
    },
  )

  test.each(['', 5, null, {}, 'x'.repeat(256)])(
    'of a service message is refused when it is not a name: %j',
    async (sender) => {
      const answer = refusal(await send(audioTo('+491700000001', { sender })))
      expect(answer).toEqual({ status: 400, code: 'invalid_request', paths: ['sender'] })
    },
  )

  test("of a service message of another account is unknown, by its number and by its lane's id", async () => {
    for (const sender of [cloudTenant.cloudNumber, String(cloudTenant.cloudLane)]) {
      const answer = refusal(await send(audioTo('+491700000001', { sender })))
      expect(answer, sender).toEqual({ status: 400, code: 'unknown_sender', paths: ['sender'] })
    }
  })

  test('that is unknown is reported together with all other faults of a service message', async () => {
    const past = await send(audioTo('+491700000001', { sender: 'nobody', valid_until: '2001-01-01T00:00:00Z' }))
    expect(refusal(past)).toEqual({ status: 400, code: 'invalid_request', paths: ['sender', 'valid_until'] })
    const shapeless = await send(audioTo('x', { sender: 'nobody' }))
    expect(refusal(shapeless)).toEqual({ status: 400, code: 'invalid_request', paths: ['to', 'sender'] })
  })

  test('that a service message names decides which provider and which reply window apply', async () => {
    const list = listBody({ header: { type: 'image', image: { link: 'https://x.example/a.png' } } })
    const onCloud = await send({ ...list, sender: 'cloud' })
    expect(refusal(onCloud)).toMatchObject({ code: 'not_supported_by_provider', paths: ['interactive.header.type'] })
    acknowledgedId(await send({ ...list, sender: 'partner' }, {}, SERVICE, cloudTenant))
    const person = 'US.13491208655302741918'
    expect(refusal(await send(audioTo(person)))).toMatchObject({ code: 'not_supported_by_provider', paths: ['to'] })
    acknowledgedId(await send(audioTo(person, { sender: 'cloud' })))

    const strict = await service.addTenant({ defaultProvider: 'cloud-api' })
    await setAccountSettings(service.redis, strict.account, { outside_window: 'refuse' })
    const outside = await send(audioTo('+491700000001'), {}, SERVICE, strict)
    expect(refusal(outside)).toMatchObject({ status: 409, code: 'outside_window' })
    acknowledgedId(await send(audioTo('+491700000001', { sender: 'partner' }), {}, SERVICE, strict))
  })

  test('of a service message is the default one; an account without senders gets an error that says so', async () => {
    const account = await emptyAccount()
    const answer = refusal(await service.post(SERVICE, { ...audioTo('+491700000001'), api_key: account }))
    expect(answer).toEqual({ status: 400, code: 'unknown_sender', paths: ['sender'] })
  })

  test('on cloud-api takes no list with a header other than text; on partner-api it does', async () => {
    const list = listBody({ header: { type: 'image', image: { link: 'https://x.example/a.png' } } })
    const answer = refusal(await send(list, {}, SERVICE, cloudTenant))
    expect(answer).toEqual({ status: 400, code: 'not_supported_by_provider', paths: ['interactive.header.type'] })
    acknowledgedId(await send(list))
  })

  async function emptyAccount(): Promise<string> {
    const account = await createAccount(service.redis, 'empty')
    return (await createCredential(service.redis, account, ['messages:send'], Date.now())).secret
  }
})

test('one answer reports an unknown sender, a template in another language and a validity that is over', async () => {
  const template = { name: 'plain_hello', language: { code: 'en' } }
  const faults = [
    {
      path: 'template.name',
      message: 'no approved template of this name in the language "en", but in en_US',
    },
    { path: 'sender', message: 'not a sender of the account; `senders list` and GET /admin/senders list those it has' },
  ]
  const past = { path: 'valid_until', message: 'must be in the future' }
  const more = { sender: 'nobody', valid_until: '2001-01-01T00:00:00Z' }
  const answer = await send(templateTo(more, template), {}, TEMPLATE)
  expect(errorOf({ json: answer.body })).toMatchObject({ code: 'invalid_request', details: [...faults, past] })
  const shapeless = await send(templateTo({ ...more, to: 'x' }, template), {}, TEMPLATE)
  expect(errorOf({ json: shapeless.body }).details).toMatchObject([{ path: 'to' }, ...faults])
})

test('a parameter_name that matches nothing is neither refused nor stored', async () => {
  const text = { type: 'text', text: 'a', parameter_name: 'idle' }
  const components = [
    { type: 'HEADER', parameters: [text] },
    { type: 'BODY', parameters: [text, { ...text, parameter_name: null }] },
    { type: 'BUTTON', sub_type: 'URL', index: 0, parameters: [text] },
  ]
  const order = { name: 'order_update', components }
  const id = acknowledgedId(await send(templateTo({}, order), {}, TEMPLATE))
  expect(JSON.stringify((await payloadOf(id)).content)).not.toContain('idle')
})

const detail = z.object({ path: z.string(), message: z.string() })

test('a refusal names the first fault in its sentence and all of them in its details', async () => {
  const answer = await send({ ...audioTo('x'), type: 'image', image: { link: 'ftp://x' } })
  const { message, details } = errorOf({ json: answer.body })
  const [first, ...rest] = details.map((each) => detail.parse(each))
  expect(rest.length).toBeGreaterThanOrEqual(1)
  expect(message).toContain(`${first?.path}: ${first?.message}`)
  expect(message).toContain(`${rest.length} more`)
})

describe('a template of a newer kind', () => {
  const place = { type: 'location', location: { latitude: 51.5, longitude: '-0.1' } }
  const components = [
    { type: 'HEADER', parameters: [place] },
    { type: 'BODY', parameters: [{ type: 'text', text: 'Ann' }] },
    { type: 'BUTTON', sub_type: 'FLOW', index: 0 },
  ]

  test('is accepted for the Cloud API, and refused for a partner, whose wire cannot express it', async () => {
    const body = templateTo({ sender: cloudTenant.cloudNumber }, { name: 'visit', components })
    const taken = await send(body, {}, TEMPLATE, cloudTenant)
    expect(taken.status, JSON.stringify(taken.body)).toBe(200)
    const refused = await send(templateTo({}, { name: 'visit', components }), {}, TEMPLATE)
    expect(refusal(refused)).toEqual({
      ...{ status: 400, code: 'not_supported_by_provider' },
      paths: ['template.components[0]', 'template.components[2]'],
    })
  })

  test('that carries a code may go to a number, and not to a user id', async () => {
    const text = [{ type: 'text', text: '123456' }]
    const code = [
      { type: 'BODY', parameters: text },
      { type: 'BUTTON', sub_type: 'URL', index: '0', parameters: text },
    ]
    const to = (recipient: string) =>
      templateTo({ to: recipient, sender: cloudTenant.cloudNumber }, { name: 'one_time_code', components: code })
    expect((await send(to('+49 170 0000001'), {}, TEMPLATE, cloudTenant)).status).toBe(200)
    const refused = await send(to('US.13491208655302741918'), {}, TEMPLATE, cloudTenant)
    expect(refusal(refused)).toMatchObject({ status: 400, paths: ['to'] })
  })
})
