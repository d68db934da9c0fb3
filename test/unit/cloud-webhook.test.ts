// Pins: WhatsApp's webhooks are read item by item, so that what is odd about one never drops another; and a
// signature is that of the very bytes.
import { createHmac } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { isSigned, readWebhook } from '../../src/providers/cloud-webhook.ts'

const status = (id: string, more: object = {}) => ({ id, status: 'sent', timestamp: '1763640000', ...more })
const message = (id: string, more: object = {}) => ({
  id,
  from: '491700000001',
  timestamp: '1763640000',
  type: 'text',
  text: { body: 'Hello' },
  ...more,
})
const change = (value: unknown, field = 'messages') => ({ field, value })
const webhook = (...changes: unknown[]) => ({ object: 'whatsapp_business_account', entry: [{ id: '1', changes }] })
const metadata = { display_phone_number: '15550001', phone_number_id: '106' }
const read = async (body: unknown) =>
  (await readWebhook(body)) ?? {
    statuses: [],
    received: [],
    preferences: [],
    unreadable: -1,
    otherFields: new Set<string>(),
  }

describe('a status', () => {
  test.each([
    ['sent', 'sent'],
    ['delivered', 'delivered'],
    ['read', 'read'],
    ['played', 'read'],
  ])('%s is %s', async (word, expected) => {
    const { statuses } = await read(webhook(change({ metadata, statuses: [status('w1', { status: word })] })))
    expect(statuses).toEqual([
      { providerId: 'w1', opaque: undefined, status: expected, atMs: 1_763_640_000_000, problem: undefined },
    ])
  })

  test("failed has the code and WhatsApp's explanation", async () => {
    const errors = [{ code: 131026, title: 'Message undeliverable', error_data: { details: 'Not reachable.' } }]
    const { statuses } = await read(
      webhook(change({ metadata, statuses: [status('w1', { status: 'failed', errors })] })),
    )
    expect(statuses[0]?.problem?.code).toBe('131026')
    expect(statuses[0]?.problem?.sentence).toContain('(code 131026): Not reachable.')
  })

  test('failed with a longer text than a record should hold keeps the beginning, and no half of a character', async () => {
    const errors = [{ code: 131026, title: 'X', error_data: { details: `${'x'.repeat(199)}🎉` } }]
    const { statuses } = await read(
      webhook(change({ metadata, statuses: [status('w1', { status: 'failed', errors })] })),
    )
    expect(statuses[0]?.problem?.sentence).toMatch(/: x{199}$/)
  })

  test.each<[string, unknown]>([
    ['no errors', undefined],
    ['an empty list of errors', []],
    ['errors that are null', null],
    ['an error without a code', [{ title: 'X' }]],
  ])('failed with %s still counts as failed', async (_name, errors) => {
    const { statuses } = await read(
      webhook(change({ metadata, statuses: [status('w1', { status: 'failed', errors })] })),
    )
    expect(statuses).toMatchObject([{ status: 'failed', problem: { code: 'failed' } }])
  })

  test.each<[string, unknown, number]>([
    ['seconds as text', '1763640000', 1_763_640_000_000],
    ['seconds as a number', 1_763_640_000, 1_763_640_000_000],
    ['milliseconds', '1763640000123', 1_763_640_000_123],
  ])('has its time from %s', async (_name, timestamp, atMs) => {
    const { statuses } = await read(webhook(change({ metadata, statuses: [status('w1', { timestamp })] })))
    expect(statuses[0]?.atMs).toBe(atMs)
  })

  test.each([undefined, null, '', 'soon', -1])('with the time %j still counts', async (timestamp) => {
    const { statuses, unreadable } = await read(
      webhook(change({ metadata, statuses: [status('w1', { status: 'read', timestamp })] })),
    )
    expect(statuses).toMatchObject([{ providerId: 'w1', status: 'read', atMs: undefined }])
    expect(unreadable).toBe(0)
  })

  test('failed with a code written as text has that code', async () => {
    const errors = [{ code: '131026', title: 'Message undeliverable' }]
    const { statuses } = await read(
      webhook(change({ metadata, statuses: [status('w1', { status: 'failed', errors })] })),
    )
    expect(statuses[0]?.problem?.code).toBe('131026')
  })

  test('returns the opaque field; an odd one counts as none', async () => {
    const statuses = [
      status('w1', { biz_opaque_callback_data: 'v1.x' }),
      status('w2', { biz_opaque_callback_data: 5 }),
      status('w3', { biz_opaque_callback_data: 'x'.repeat(600) }),
    ]
    const found = (await read(webhook(change({ metadata, statuses })))).statuses
    expect(found.map(({ opaque }) => opaque)).toEqual(['v1.x', undefined, undefined])
  })
})

describe('a received message', () => {
  test.each<[string, object, string]>([
    ['text', {}, 'Hello'],
    ['a button', { type: 'button', text: undefined, button: { text: 'Stop' } }, 'Stop'],
    [
      'a reply',
      { type: 'interactive', text: undefined, interactive: { button_reply: { id: '1', title: 'Yes' } } },
      'Yes',
    ],
    ['a list', { type: 'interactive', text: undefined, interactive: { list_reply: { id: '1', title: 'Tea' } } }, 'Tea'],
    ['an image', { type: 'image', text: undefined, image: { id: '1', caption: 'Look' } }, 'Look'],
    ['an image without words', { type: 'image', text: undefined, image: { id: '1' } }, ''],
    ['a location', { type: 'location', text: undefined, location: { latitude: 1 } }, ''],
    ['a text that is none', { text: { body: 5 } }, ''],
    ['an odd interactive', { type: 'interactive', text: undefined, interactive: { button_reply: 'x' } }, ''],
  ])('that is %s is parsed', async (_name, more, text) => {
    const { received, unreadable } = await read(webhook(change({ metadata, messages: [message('w1', more)] })))
    expect(received).toMatchObject([{ phoneNumberId: '106', providerId: 'w1', from: '491700000001', text }])
    expect(unreadable).toBe(0)
  })

  test('from somebody without a number is kept', async () => {
    const messages = [message('w1', { from: undefined }), message('w2', { from: null })]
    expect((await read(webhook(change({ metadata, messages })))).received.map(({ from }) => from)).toEqual(['', ''])
  })
})

describe('a marketing preference', () => {
  const preference = (more: object) => ({
    ...{ wa_id: '491700000001', category: 'marketing_messages', value: 'stop', timestamp: 1_763_640_000 },
    ...more,
  })
  const read1 = async (...user_preferences: unknown[]) => {
    const value = { metadata, user_preferences }
    return read({ object: 'x', entry: [{ changes: [{ field: 'user_preferences', value }] }] })
  }

  test('is parsed with the person and its time', async () => {
    const { preferences, unreadable } = await read1(
      preference({}),
      preference({ value: 'resume', user_id: 'US.1', wa_id: undefined, timestamp: '1763640000000' }),
    )
    expect(preferences).toEqual([
      { phoneNumberId: '106', people: ['491700000001'], intent: 'stop', atMs: 1_763_640_000_000 },
      { phoneNumberId: '106', people: ['US.1'], intent: 'resume', atMs: 1_763_640_000_000 },
    ])
    expect(unreadable).toBe(0)
  })

  test('that is odd, or about something else, drops no neighbour', async () => {
    const others = [
      null,
      preference({ value: 'maybe' }),
      preference({ wa_id: undefined }),
      preference({ category: 'calls' }),
    ]
    const { preferences, unreadable } = await read1(...others, preference({ timestamp: 'soon' }))
    expect(preferences).toMatchObject([{ intent: 'stop', atMs: undefined }])
    expect(unreadable).toBe(3)
  })
})

describe('an odd part', () => {
  const good = change({ metadata, statuses: [status('s1'), status('s2')], messages: [message('m1')] })
  const oddOnes: unknown[] = [null, 5, 'x', [], {}, { id: 'x' }, status('', {}), status('x', { status: 'deleted' })]

  test('among the items of a list drops no neighbour, and is counted', async () => {
    for (const odd of oddOnes) {
      const value = { metadata, statuses: [status('s1'), odd, status('s2')], messages: [odd, message('m1')] }
      const found = await read(webhook(change(value)))
      expect(found.statuses.map(({ providerId }) => providerId)).toEqual(['s1', 's2'])
      expect(found.received.map(({ providerId }) => providerId)).toEqual(['m1'])
      expect(found.unreadable).toBe(2)
    }
  })

  test('in one list of a change does not drop the other list', async () => {
    const odd = await read(webhook(change({ metadata, statuses: null, messages: [message('m1')] })))
    expect(odd).toMatchObject({ received: [{ providerId: 'm1' }], unreadable: 1 })
    const other = await read(webhook(change({ metadata, statuses: [status('s1')], messages: {} })))
    expect(other).toMatchObject({ statuses: [{ providerId: 's1' }], unreadable: 1 })
  })

  test('about the number does not drop statuses, which do not need it', async () => {
    const found = await read(webhook(change({ statuses: [status('s1')], messages: [message('m1')] })))
    expect(found).toMatchObject({ statuses: [{ providerId: 's1' }], received: [], unreadable: 1 })
  })

  test('among changes and entries drops no neighbour', async () => {
    for (const odd of [null, 5, {}, { field: 'messages' }, { field: 'messages', value: null }]) {
      expect((await read(webhook(odd, good))).statuses).toHaveLength(2)
      expect((await read({ entry: [odd, ...webhook(good).entry] })).statuses).toHaveLength(2)
    }
  })

  test('or a change about something other than messages is skipped', async () => {
    const found = await read(webhook(change({ statuses: [status('s1')] }, 'account_update'), good))
    expect(found).toMatchObject({ statuses: [{ providerId: 's1' }, { providerId: 's2' }], unreadable: 0 })
  })

  test.each([null, undefined, 5, 'x', [], {}, { entry: null }, { entry: {} }])(
    'makes the whole no webhook: %j',
    async (body) => {
      expect(await readWebhook(body)).toBeUndefined()
    },
  )

  test('never makes the parser throw, whatever the JSON is', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(fc.jsonValue(), { maxLength: 5 }), async (odd) => {
        const found = await read(webhook(...odd, good, change({ metadata, statuses: odd, messages: odd }), change(odd)))
        expect(found.statuses.slice(0, 2).map(({ providerId }) => providerId)).toEqual(['s1', 's2'])
      }),
      { numRuns: 500 },
    )
  })
})

describe('a signature', () => {
  const secret = 'app-secret'
  const raw = Buffer.from('{"entry":[{"ünïcode":"\\u00e4"}]}')
  const sign = (bytes: Buffer, key = secret) => createHmac('sha256', key).update(bytes).digest('hex')

  test('is valid for these bytes under this secret', () => {
    expect(isSigned(raw, `sha256=${sign(raw)}`, secret)).toBe(true)
  })

  test('is invalid when any bit of the body is changed', () => {
    for (let at = 0; at < raw.length * 8; at += 1) {
      const flipped = Buffer.from(raw)
      flipped[at >> 3] = (flipped[at >> 3] ?? 0) ^ (1 << (at & 7))
      expect(isSigned(flipped, `sha256=${sign(raw)}`, secret), `bit ${at}`).toBe(false)
    }
  })

  test('is invalid for the same JSON written differently', () => {
    const rewritten = Buffer.from(JSON.stringify(JSON.parse(raw.toString('utf8'))))
    expect(rewritten.equals(raw)).toBe(false)
    expect(isSigned(rewritten, `sha256=${sign(raw)}`, secret)).toBe(false)
  })

  test.each<[string, string | undefined]>([
    ['missing', undefined],
    ['empty', ''],
    ['without its method', sign(raw)],
    ['by another method', `sha1=${createHmac('sha1', secret).update(raw).digest('hex')}`],
    ['cut', `sha256=${sign(raw).slice(0, 62)}`],
    ['too long', `sha256=${sign(raw)}00`],
    ['given twice', `sha256=${sign(raw)}, sha256=${sign(raw)}`],
    ['under another secret', `sha256=${sign(raw, 'other')}`],
    ['of an empty body', `sha256=${sign(Buffer.alloc(0))}`],
  ])('is invalid when it is %s', (_name, header) => {
    expect(isSigned(raw, header, secret)).toBe(false)
  })
})
