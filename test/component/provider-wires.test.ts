// Pins: what leaves on each wire, and how each wire's answers are read. Real: HTTP on loopback; the other end only keeps
// what it got and answers as it is told.

import { createServer } from 'node:http'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { CHAT_ERRORS } from '../../packages/simulator/src/chat-errors.ts'
import type { Content } from '../../src/model/messages/content.ts'
import { codeEntry } from '../../src/model/messages/provider-codes.ts'
import type { PollEnd, Provider, ProviderSender } from '../../src/model/provider.ts'
import { cloudApi, createOpaqueIds } from '../../src/providers/cloud-api.ts'
import { createHttpAgent } from '../../src/providers/http-agent.ts'
import { codeIn, partnerApi } from '../../src/providers/partner-api.ts'
import { listen } from '../testbed/free-port.ts'

interface Got {
  method: string
  path: string
  headers: Record<string, unknown>
  body: Record<string, unknown>
  /** Of the connection that it came on. */
  port: number | undefined
}

let got: Got | undefined
let answer: { status: number; body: string; headers?: Record<string, string> } = { status: 200, body: '{}' }
const bodySchema = z.record(z.string(), z.unknown())
const server = createServer(async (request, response) => {
  let text = ''
  for await (const chunk of request) text += String(chunk)
  const { method = '', url: path = '', headers } = request
  got = { method, path, headers, body: bodySchema.parse(JSON.parse(text)), port: request.socket.remotePort }
  response.writeHead(answer.status, answer.headers).end(answer.body)
})

const agent = createHttpAgent()
const opaqueIds = createOpaqueIds(['a secret key of at least 32 characters'])
const sender: ProviderSender = { number: '4917000001', baseUrl: '', token: 'tok/en', phoneNumberId: '10654/../x' }
beforeAll(async () => {
  const port = await listen(server)
  // An address may have a path of its own.
  sender.baseUrl = `http://127.0.0.1:${port}/up`
})
afterAll(async () => {
  await agent.destroy()
  server.close()
})

const ID = 'msg_7_01JD3V5T9GZQ4XNB8M2K6R0WCY'
/** It ends what hangs; no call here is to run out of time. */
const LIMIT_MS = 300_000
const image: Content = { type: 'image', image: { link: 'https://example.com/a.jpg', caption: 'Look' } }
const template: Content = {
  type: 'template',
  template: {
    name: 'flash_sale',
    language: { code: 'en_US' },
    components: [
      {
        type: 'HEADER',
        parameters: [{ type: 'image', image: { link: 'https://example.com/a.jpg' } }],
      },
      { type: 'BODY', parameters: [{ type: 'text', text: 'Type HEADER, URL' }] },
      {
        type: 'BUTTON',
        sub_type: 'COPY_CODE',
        index: '1',
        parameters: [{ type: 'coupon_code', coupon_code: 'SAVE' }],
      },
      {
        type: 'CAROUSEL',
        cards: [{ card_index: 0, components: [{ type: 'HEADER', parameters: [] }] }],
      },
    ],
  },
}

const send = (provider: Provider, content: Content = image, campaign?: string) =>
  provider.send(sender, { id: ID, attempt: 'ABC123', to: '491700000001', content, campaign }, LIMIT_MS)

const cloud = cloudApi(agent, opaqueIds, 'v25.0')
const partner = partnerApi(agent)

describe('on cloud-api', () => {
  test('a message leaves in the form of the Graph API, with our id signed in the opaque field', async () => {
    await send(cloud)
    expect(got).toMatchObject({ method: 'POST', path: '/up/v25.0/10654%2F..%2Fx/messages' })
    expect(got?.headers).toMatchObject({ authorization: 'Bearer tok/en', 'content-type': 'application/json' })
    const { biz_opaque_callback_data: opaque, ...body } = got?.body ?? {}
    expect(body).toEqual({ messaging_product: 'whatsapp', recipient_type: 'individual', to: '+491700000001', ...image })
    expect(opaqueIds.verify(String(opaque))).toEqual({ id: ID, attempt: 'ABC123' })
    expect(String(opaque).length).toBeLessThanOrEqual(512)
  })

  test.each([
    ['https://shop.example/a/invoice%207.pdf?key=1', 'invoice 7.pdf'],
    ['https://shop.example/pr%C3%A9nom.docx#page=2', 'prénom.docx'],
    ['https://shop.example/download?file=a.pdf', undefined],
    ['https://shop.example', undefined],
    ['https://shop.example/a%2Fb.pdf', undefined],
    ['https://shop.example/%E0%A4%A.pdf', '%E0%A4%A.pdf'],
    [`https://shop.example/${'x'.repeat(240)}.pdf`, undefined],
  ])('a document %s without a name gets the one of its link: %s', async (link, filename) => {
    await send(cloud, { type: 'document', document: { link } })
    expect(got?.body.document).toEqual({ link, ...(filename !== undefined && { filename }) })
    const parameters = [{ type: 'document', document: { link } }]
    const header = { type: 'HEADER', parameters }
    await send(cloud, { type: 'template', template: { name: 'a', language: { code: 'en' }, components: [header] } })
    expect(got?.body.template).toMatchObject({
      components: [{ parameters: [{ document: { link, ...(filename !== undefined && { filename }) } }] }],
    })
  })

  test('a document keeps the name that it was given, and gets none on the wire of a partner that did not ask', async () => {
    const link = 'https://shop.example/7.pdf'
    await send(cloud, { type: 'document', document: { link, filename: 'Invoice.pdf' } })
    expect(got?.body.document).toEqual({ link, filename: 'Invoice.pdf' })
    await send(partner, { type: 'document', document: { link } })
    expect(got?.body.document).toEqual({ link })
  })

  test('types in a template are in lower case, texts stay as they are', async () => {
    await send(cloud, template)
    expect(got?.body.template).toEqual({
      name: 'flash_sale',
      language: { code: 'en_US' },
      components: [
        { type: 'header', parameters: [{ type: 'image', image: { link: 'https://example.com/a.jpg' } }] },
        { type: 'body', parameters: [{ type: 'text', text: 'Type HEADER, URL' }] },
        {
          type: 'button',
          sub_type: 'copy_code',
          index: '1',
          parameters: [{ type: 'coupon_code', coupon_code: 'SAVE' }],
        },
        { type: 'carousel', cards: [{ card_index: 0, components: [{ type: 'header', parameters: [] }] }] },
      ],
    })
  })

  test('the data for a flow stays as it is, whatever its fields are called', async () => {
    const data = { type: 'Table For TWO', sub_type: 'A' }
    const parameters = [{ type: 'action', action: { flow_token: 'T', flow_action_data: data } }]
    const components = [{ type: 'BUTTON', sub_type: 'FLOW', index: '0', parameters }]
    await send(cloud, { type: 'template', template: { name: 'visit', language: { code: 'en' }, components } })
    expect(got?.body.template).toMatchObject({
      components: [{ type: 'button', sub_type: 'flow', index: '0', parameters }],
    })
  })

  const graphError = (error: object) =>
    JSON.stringify({ error: { message: '(#1) X', type: 'OAuthException', ...error } })
  test.each<[string, number, string, object]>([
    ['an acknowledgement', 200, '{"messages":[{"id":"wamid.1"}]}', { kind: 'accepted', providerId: 'wamid.1' }],
    ['one after a byte order mark', 200, '\uFEFF{"messages":[{"id":"wamid.1"}]}', { kind: 'accepted' }],
    ['an error after one', 400, `\uFEFF${graphError({ code: 190 })}`, { readable: true, code: 190 }],
    ['an acknowledgement as 201', 201, '{"messages":[{"id":"wamid.1"}]}', { kind: 'accepted', providerId: 'wamid.1' }],
    ['no message in it', 200, '{"messages":[]}', { kind: 'answered', status: 200, readable: false }],
    ['an empty id', 200, '{"messages":[{"id":""}]}', { kind: 'answered', status: 200, readable: false }],
    ['an endless id', 200, `{"messages":[{"id":"${'x'.repeat(513)}"}]}`, { kind: 'answered', readable: false }],
    ['an id that is a number', 200, '{"messages":[{"id":5}]}', { kind: 'answered', status: 200, readable: false }],
    ['garbage', 200, '<html>', { kind: 'answered', status: 200, readable: false }],
    ['nothing', 200, '', { kind: 'answered', status: 200, readable: false }],
    ['an acknowledgement as 400', 400, '{"messages":[{"id":"wamid.1"}]}', { kind: 'answered', readable: false }],
    ['an acknowledgement as 500', 500, '{"messages":[{"id":"wamid.1"}]}', { kind: 'answered', readable: false }],
    [
      'an error',
      400,
      graphError({ code: 131009, error_subcode: 33, error_data: { details: 'Too long.' } }),
      { kind: 'answered', status: 400, readable: true, code: 131009, subcode: 33, text: 'Too long.' },
    ],
    ['an error without details', 401, graphError({ code: 190 }), { readable: true, code: 190, text: '(#1) X' }],
    ['an error in a success', 200, graphError({ code: 131016 }), { status: 200, readable: true, code: 131016 }],
    [
      'an error with odd fields beside its code',
      400,
      graphError({ code: 130429, message: null, error_subcode: null, error_data: 'none' }),
      { readable: true, code: 130429, subcode: undefined, text: undefined },
    ],
    ['an error whose code is no number', 400, graphError({ code: '190' }), { readable: false, code: undefined }],
    ['an error without a code', 400, graphError({}), { readable: false, code: undefined }],
    ['an error of a proxy', 403, '{"error":{"code":403,"message":"Forbidden"}}', { readable: false, code: undefined }],
    ['a page', 502, '<html>Bad Gateway</html>', { kind: 'answered', status: 502, readable: false }],
  ])('%s (%i) is parsed', async (_name, status, body, expected) => {
    answer = { status, body }
    expect(await send(cloud)).toMatchObject(expected)
  })

  test('Retry-After is returned', async () => {
    answer = { status: 429, body: graphError({ code: 130429 }), headers: { 'retry-after': '3' } }
    expect(await send(cloud)).toMatchObject({ code: 130429, retryAfterMs: 3_000 })
  })
})

describe.each([
  ['cloud-api', cloud],
  ['partner-api', partner],
])('on %s a success', (_wire, provider) => {
  const sendTo = async (to: string, body: object) => {
    answer = { status: 200, body: JSON.stringify(body) }
    return provider.send(sender, { id: ID, attempt: 'ABC123', to, content: image, campaign: undefined }, LIMIT_MS)
  }
  const NUMBER = '491700000001'
  const USER = 'DE.AbC123'

  test.each([
    ['blanks', '  '],
    ['a NUL', 'wamid.\u0000'],
    ['a line break', 'wamid.\r\n1'],
    ['an escape', '\u001b[2Jwamid.1'],
    ['a control of Latin-1', 'wamid.\u0085'],
  ])('with an id of %s proves nothing', async (_what, id) => {
    expect(await sendTo(NUMBER, { messages: [{ id }] })).toMatchObject({ kind: 'answered', readable: false })
  })

  test.each<[string, string, object[]]>([
    ['echoes the number', NUMBER, [{ input: `+${NUMBER}`, wa_id: NUMBER }]],
    ['echoes it as somebody might write it', NUMBER, [{ input: '+49 (1700) 000-001', wa_id: NUMBER }]],
    ['knows the person by another number', NUMBER, [{ input: `+${NUMBER}`, wa_id: '4917000000019' }]],
    ['gives the number in another way and knows the person', NUMBER, [{ input: '01700000001', wa_id: NUMBER }]],
    ['echoes a user id', USER, [{ input: USER, user_id: USER }]],
    ['knows the number of a user id', USER, [{ input: USER, wa_id: NUMBER }]],
    ['echoes nobody', NUMBER, []],
    ['echoes what is no text', NUMBER, [{ input: 5 }]],
  ])('that %s is proof', async (_what, to, contacts) => {
    expect(await sendTo(to, { contacts, messages: [{ id: 'wamid.1' }] })).toMatchObject({ kind: 'accepted' })
  })

  test.each<[unknown, string | undefined]>([
    ['paused', 'paused'],
    ['accepted', undefined],
    ['held_for_quality_assessment', undefined],
    [null, undefined],
    [{ state: 'paused' }, '{"state":"paused"}'],
    [`${'x'.repeat(100)}`, 'x'.repeat(64)],
    [`${'x'.repeat(63)}🎉`, 'x'.repeat(63)],
  ])('with the state %j returns that state if it is unknown', async (message_status, word) => {
    const end = await sendTo(NUMBER, { messages: [{ id: 'wamid.1', message_status }] })
    expect(end.kind).toBe('accepted')
    expect('word' in end ? end.word : undefined).toBe(word)
  })

  test('returns the other names by which WhatsApp knows the person', async () => {
    const known = async (to: string, contact: object) => {
      const end = await sendTo(to, { contacts: [contact], messages: [{ id: 'wamid.1' }] })
      return 'knownAs' in end ? end.knownAs : undefined
    }
    expect(await known(NUMBER, { input: `+${NUMBER}`, wa_id: NUMBER })).toBeUndefined()
    expect(await known('5511987654321', { input: '+5511987654321', wa_id: '551187654321' })).toEqual(['551187654321'])
    expect(await known('551187654321', { input: '+551187654321', wa_id: '5511987654321', user_id: USER })).toEqual([
      '5511987654321',
      USER,
    ])
    expect(await known(USER, { input: USER, wa_id: NUMBER })).toEqual([NUMBER])
    // Their own, however it is written.
    const own = [`+${NUMBER}`, `00${NUMBER}`, ` ${NUMBER} `, '+49 (170) 000-0001', '49 170 0000001']
    for (const wa_id of own) expect(await known(NUMBER, { input: NUMBER, wa_id })).toBeUndefined()
    // No number of full length, and one that only ends like theirs.
    expect(await known('14155550123', { input: '14155550123', wa_id: '1455550123' })).toBeUndefined()
    expect(await known(NUMBER, { input: NUMBER, wa_id: '491710000001' })).toBeUndefined()
    // One number for everybody would make one person of them, and a STOP of one that of all.
    expect(await known(NUMBER, { input: `+${NUMBER}`, wa_id: '15550000000' })).toBeUndefined()
    expect(await known(NUMBER, { input: NUMBER, wa_id: '15550000000', user_id: USER })).toEqual([USER])
  })

  test.each<[string, string, object]>([
    ['another number', NUMBER, { input: '+491700000002', wa_id: '491700000002' }],
    ['a user id instead', NUMBER, { input: USER, user_id: USER }],
    ['another user id', USER, { input: 'DE.other', user_id: 'DE.other' }],
  ])('for %s proves nothing, and its connection is not used again', async (_what, to, contact) => {
    await sendTo(NUMBER, { messages: [{ id: 'wamid.1' }] })
    const before = got?.port
    const ghost = { contacts: [contact], messages: [{ id: 'wamid.GHOST' }] }
    expect(await sendTo(to, ghost)).toEqual({ kind: 'unanswered', cause: 'answer_of_another' })
    expect(got?.port).toBe(before)
    await sendTo(NUMBER, { messages: [{ id: 'wamid.2' }] })
    expect(got?.port).not.toBe(before)
  })
})

describe('on partner-api', () => {
  test('a service message leaves in the form of the interface, with our id as Idempotency-Key', async () => {
    await send(partner)
    expect(got).toMatchObject({ method: 'POST', path: '/up/sendservicemessages/sendmessages' })
    expect(got?.headers['idempotency-key']).toBe(ID)
    expect(got?.body).toEqual({
      api_key: 'tok/en',
      messaging_product: 'chatapp',
      recipient_type: 'individual',
      to: '491700000001',
      ...image,
    })
  })

  test('a template leaves with its sender and campaign, and types of media in capitals', async () => {
    await send(partner, template, 'spring')
    expect(got).toMatchObject({ path: '/up/chatappbusiness/send-templated-message' })
    expect(got?.body).toMatchObject({ sender: '4917000001', campaign_id: 'spring', type: 'template' })
    expect(got?.body.template).toMatchObject({
      components: [
        { type: 'HEADER', parameters: [{ type: 'IMAGE', image: { link: 'https://example.com/a.jpg' } }] },
        { type: 'BODY', parameters: [{ type: 'text' }] },
        { type: 'BUTTON', sub_type: 'COPY_CODE', parameters: [{ type: 'coupon_code' }] },
        { type: 'CAROUSEL' },
      ],
    })
    await send(partner, template)
    expect(got?.body.campaign_id).toBe('')
  })

  const refusal = (error: unknown) => JSON.stringify({ status: false, success: false, message: 'No.', error })
  test.each<[string, number, string, object]>([
    ['an acknowledgement', 200, '{"messages":[{"id":"msg_1"}]}', { kind: 'accepted', providerId: 'msg_1' }],
    ['an acknowledgement without an id', 200, '{"messages":[{}]}', { kind: 'answered', readable: false }],
    ['garbage', 200, 'OK', { kind: 'answered', status: 200, readable: false }],
    ['a code of WhatsApp', 400, refusal({ code: 131026 }), { readable: true, code: 131026, text: 'No.' }],
    ['a word', 400, refusal({ code: 'invalid_request' }), { readable: true, code: undefined, text: 'No.' }],
    ['no code', 401, refusal({ code: null, details: 'x' }), { status: 401, readable: true, code: undefined }],
    [
      'no error',
      401,
      '{"status":false,"message":"Who are you?"}',
      { readable: true, code: undefined, text: 'Who are you?' },
    ],
    ['the other flag', 401, '{"success":false,"message":"No."}', { readable: true, code: undefined, text: 'No.' }],
    ['an error of a proxy', 403, '{"message":"Forbidden"}', { readable: false, text: undefined }],
    ['a page', 502, '<html>', { status: 502, readable: false }],
  ])('%s (%i) is parsed', async (_name, status, body, expected) => {
    answer = { status, body }
    expect(await send(partner)).toMatchObject(expected)
  })

  const told = (status: string, error_message?: string | null) =>
    JSON.stringify({ status: true, message: { status, error_message } })
  test.each<[string, number, string, PollEnd]>([
    ['sent', 200, told('sent'), { kind: 'status', status: 'sent', problem: undefined }],
    ['delivered', 200, told('delivered', null), { kind: 'status', status: 'delivered', problem: undefined }],
    ['read', 200, told('read', ''), { kind: 'status', status: 'read', problem: undefined }],
    [
      'failed with a code',
      200,
      told('failed', 'Undeliverable (code 131026)'),
      { kind: 'status', status: 'failed', problem: { code: '131026', sentence: 'Undeliverable (code 131026)' } },
    ],
    [
      'expired',
      200,
      told('expired'),
      { kind: 'status', status: 'failed', problem: { code: 'expired', sentence: 'The upstream says that it failed.' } },
    ],
    [
      'failed over the HTTP status of a link',
      200,
      told('failed', 'Downloading the media failed with HTTP code 404. (code 131053)'),
      {
        kind: 'status',
        status: 'failed',
        problem: { code: '131053', sentence: 'Downloading the media failed with HTTP code 404. (code 131053)' },
      },
    ],
    ['throttling', 429, '{"message":"Too fast."}', { kind: 'throttled', retryAfterMs: undefined }],
    ['throttling by its code', 400, refusal({ code: 80007 }), { kind: 'throttled', retryAfterMs: undefined }],
    ['accepted', 200, told('accepted'), { kind: 'pending' }],
    ['unknown', 200, told('unknown'), { kind: 'pending' }],
    ['a word nobody knows', 200, told('teleported'), { kind: 'pending' }],
    ['not its own message', 404, refusal({ code: 'not_found' }), { kind: 'no_answer', cause: 'http_404' }],
    ['garbage', 200, 'OK', { kind: 'no_answer', cause: 'http_200' }],
    ['trouble', 503, told('failed'), { kind: 'no_answer', cause: 'http_503' }],
  ])('a status poll that returns %s (%i) is parsed', async (_name, status, body, expected) => {
    answer = { status, body }
    expect(await partner.poll?.(sender, 'msg_1', LIMIT_MS)).toEqual(expected)
    expect(got).toMatchObject({
      path: '/up/chatappbusiness/getmessgageinfobyid',
      body: { api_key: 'tok/en', message_id: 'msg_1' },
    })
  })

  test.each([
    ['x'.repeat(10_000), 500],
    [`${'x'.repeat(499)}🎉`, 499],
  ])('a status poll with a longer text than a record should hold keeps its beginning', async (words, kept) => {
    answer = { status: 200, body: told('failed', words) }
    const end = await partner.poll?.(sender, 'msg_1', LIMIT_MS)
    expect(end).toMatchObject({ kind: 'status', problem: { code: 'failed', sentence: 'x'.repeat(kept) } })
  })

  const codes = Object.entries(CHAT_ERRORS)
  test.each(codes)(
    'code %s is found in the sentence of an upstream, whatever other numbers surround it',
    (code, error) => {
      const { title, details } = error
      const known = codeEntry(Number(code)).means
      expect(codeIn(`${title}: ${details} (code ${code})`)).toBe(code)
      expect(codeIn(`WhatsApp reports: ${known} (code ${code}): ${details}`)).toBe(code)
      expect(codeIn(`(#${code}) ${title}`)).toBe(code)
      const noise = fc.stringMatching(/^(HTTP code \d{3}|code [56]\d{2}|\d{1,9}|[a-z ]{1,9}|\(code [56]\d{2}\))$/)
      fc.assert(
        fc.property(noise, noise, (before, after) => {
          expect(codeIn(`${before}: ${details} (code ${code}) ${after}`)).toBe(code)
        }),
      )
    },
  )

  test.each([
    ['Failed with HTTP code 404.', undefined],
    ['Failed with code 131053', '131053'],
    ['A code that nobody has listed (code 139999)', '139999'],
    ['No number', undefined],
  ])('%j contains the code %s', (sentence, code) => {
    expect(codeIn(sentence)).toBe(code)
  })

  test('a status poll without an answer is reported as such', async () => {
    const away = { ...sender, baseUrl: 'http://127.0.0.1:1' }
    expect(await partner.poll?.(away, 'msg_1', LIMIT_MS)).toEqual({ kind: 'no_answer', cause: 'refused' })
  })
})

describe('the opaque id', () => {
  const written = opaqueIds.sign(ID, 'ABC123')

  test('contains the message and the attempt', () => {
    expect(opaqueIds.verify(written)).toEqual({ id: ID, attempt: 'ABC123' })
  })

  test('is refused when any of its characters is changed', () => {
    for (let at = 0; at < written.length; at += 1) {
      const other = written[at] === 'A' ? 'B' : 'A'
      expect(opaqueIds.verify(`${written.slice(0, at)}${other}${written.slice(at + 1)}`), `at ${at}`).toBeUndefined()
    }
  })

  test.each(['', 'v1', `${written}x`, ` ${written}`, `${written}\n`, ID, 'v1.msg_7_X.ABC123.0123456789abcdef'])(
    'is refused as %j',
    (text) => {
      expect(opaqueIds.verify(text)).toBeUndefined()
    },
  )

  test('of another installation is refused', () => {
    expect(createOpaqueIds(['another secret key of 32 characters']).verify(written)).toBeUndefined()
  })
})
