// Pins which unknown fields are taken for misspellings: a wish that cannot be read is refused, and what clients send for
// themselves is not.
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { allFieldNames, edits, fieldNamesOf, meantBy } from '../../src/kernel/field-names.ts'
import { isNeverIgnored, unknownFault } from '../../src/kernel/unknown-fields.ts'
import { envelopeSchema, readSend, templateEnvelopeSchema } from '../../src/messages/accept/read-send.ts'
import { serviceContentSchema, templateMessageContent } from '../../src/model/messages/content.ts'

const service = allFieldNames(envelopeSchema, serviceContentSchema)
const template = allFieldNames(templateEnvelopeSchema, templateMessageContent)

test.each([
  ['valid_until', 'valid_until', 0],
  ['valid_untill', 'valid_until', 1],
  ['captoin', 'caption', 1],
  ['sned_att', 'send_at', 2],
  ['', 'to', 2],
  ['link', 'text', 4],
])('from %j to %j are %i edits', (a, b, count) => {
  expect(edits(a, b)).toBe(count)
  expect(edits(b, a)).toBe(count)
})

test('the field names at a place are those of every kind of message, at any depth', () => {
  expect([...(service.get('interactive.action.buttons[].reply') ?? [])]).toEqual(['id', 'title'])
  expect(service.get('interactive.header.document')).toContain('filename')
  expect(service.get('')).toContain('video')
  expect(template.get('template.components[].cards[].components[].parameters[].document')).toContain('filename')
})

describe('an unknown field is reported as meant for another', () => {
  test.each([
    ['', 'sendAt', 'send_at'],
    ['', 'send_At', 'send_at'],
    ['', 'SEND-AT', 'send_at'],
    ['', 'sendat', 'send_at'],
    ['', 'sned_at', 'send_at'],
    ['', 'valid_untill', 'valid_until'],
    ['', 'validUntil', 'valid_until'],
    ['', 'vaild_untill', 'valid_until'],
    ['', 'Sender', 'sender'],
    ['', 'sendr', 'sender'],
    ['', 'contex', 'context'],
    ['', 'Type', 'type'],
    ['', 'TO', 'to'],
    ['image', 'captoin', 'caption'],
    ['image', 'Gallery', 'gallery'],
    ['document', 'fileName', 'filename'],
    ['document', 'file_name', 'filename'],
    ['text', 'previewUrl', 'preview_url'],
    ['context', 'messageId', 'message_id'],
    ['interactive', 'foter', 'footer'],
    ['interactive.action.sections[].rows[]', 'descripton', 'description'],
    ['location', 'adress', 'address'],
    ['contacts[]', 'email', 'emails'],
  ])('in %j: %s, meant for %s', (place, name, meant) => {
    expect(meantBy(service, place, name)).toBe(meant)
  })

  test.each([
    ['', 'campaignId', 'campaign_id'],
    ['template', 'component', 'components'],
    ['template.components[]', 'subType', 'sub_type'],
    ['template.components[].parameters[]', 'parameterName', 'parameter_name'],
    ['template.components[].parameters[]', 'txet', 'text'],
    ['template.components[].parameters[].document', 'fileName', 'filename'],
    ['template.components[].cards[]', 'component', 'components'],
  ])('in a template, in %j: %s, meant for %s', (place, name, meant) => {
    expect(meantBy(template, place, name)).toBe(meant)
  })

  test('the nearest of several', () => {
    expect(meantBy(fieldNamesOf(z.object({ contents: z.string(), consents: z.string() })), '', 'contens')).toBe(
      'contents',
    )
  })
})

describe('an unknown field is not reported as meant for another', () => {
  // Requests and webhooks of the Cloud API, and what shops add for themselves.
  const top = [
    ...[
      'biz_opaque_callback_data',
      'status',
      'statuses',
      'recipient',
      'recipient_identity_key_hash',
      'category',
      'ttl',
    ],
    ...['message_activity_sharing', 'product_policy', 'message_send_ttl_seconds', 'typing_indicator', 'message_id'],
    ...['preview_url', 'from', 'id', 'timestamp', 'metadata', 'pricing', 'conversation', 'errors', 'profile', 'wa_id'],
    ...[
      'note',
      'notes',
      'tag',
      'tags',
      'ref',
      'reference',
      'order_id',
      'external_id',
      'customer',
      'customer_id',
      'user',
    ],
    ...['template_id', 'templateId', 'contact_id', 'contactId', 'content', 'contact', 'contents', 'action', 'actions'],
    ...['location_id', 'document_id', 'test', 'debug', 'dry_run', 'priority', 'locale', 'language', 'lang'],
    ...[
      'channel',
      'client',
      'source',
      'version',
      'v',
      'x',
      'gender',
      'vendor',
      'seller',
      'number',
      'phone',
      'name',
      'callback_url',
    ],
    ...[
      'video',
      'sticker',
      'reaction',
      'created_at',
      'updated_at',
      'company_id',
      'event',
      'message',
      'body',
      'subject',
    ],
  ]
  test.each(top)('%s, beside a message', (name) => {
    expect(meantBy(service, '', name)).toBeUndefined()
    expect(meantBy(template, '', name)).toBeUndefined()
  })

  test.each([
    ['image', ['mime_type', 'sha256', 'url', 'provider', 'voice', 'animated', 'name', 'size', 'alt', 'width']],
    ['text', ['text', 'format', 'lang', 'html']],
    ['context', ['from', 'id', 'forwarded']],
    ['location', ['url', 'zoom', 'accuracy']],
    ['contacts[].addresses[]', ['county', 'district', 'company']],
    ['interactive', ['text', 'id', 'language']],
    ['interactive.action', ['buttons', 'button', 'parameters', 'catalog_id', 'thumbnail_product_retailer_id']],
    ['interactive.action.sections[].rows[]', ['subtitle', 'price', 'image', 'value']],
  ])('in %j: %j', (place, names) => {
    for (const name of names) expect([name, meantBy(service, place, name)]).toEqual([name, undefined])
  })

  test.each([
    ['template', ['namespace', 'category', 'id', 'status']],
    ['template.language', ['policy']],
    ['template.components[]', ['text', 'format', 'example', 'buttons']],
  ])('in a template, in %j: %j', (place, names) => {
    for (const name of names) expect([name, meantBy(template, place, name)]).toEqual([name, undefined])
  })

  test('when it is too long to compare, or at a place without field names of its own', () => {
    expect(meantBy(service, '', 'send_at'.repeat(1_000))).toBeUndefined()
    expect(meantBy(service, 'interactive.action.parameters.flow_action_payload.data', 'sendAt')).toBeUndefined()
  })
})

/** Why a body is refused where unknown fields are ignored. */
function neverIgnored(body: object) {
  const read = readSend('service', body, 'ignored')
  return read.ok ? read.ignored.filter(isNeverIgnored).map(unknownFault) : read.faults
}

test('a misspelt field is found after any number of ignored ones', () => {
  const many = Object.fromEntries(Array.from({ length: 900 }, (_, n) => [`field${n}`, 1]))
  const body = { to: '+447700900123', recipient_type: 'individual', messaging_product: 'chatapp', type: 'text' }
  expect(neverIgnored({ ...body, text: { body: 'Hi' }, ...many, sendAt: 'tomorrow' })).toEqual([
    { path: 'sendAt', message: 'unknown field; is "send_at" meant?' },
  ])
})

test('null is ignored in an unknown field, and refused in a misspelt one', () => {
  const body = { to: '+447700900123', recipient_type: 'individual', messaging_product: 'chatapp', type: 'text' }
  const read = (more: object) => readSend('service', { ...body, text: { body: 'Hi' }, ...more }, 'refused')
  expect(read({ note: null })).toMatchObject({ ok: true })
  expect(read({ sendAt: null })).toMatchObject({ ok: false, faults: [{ path: 'sendAt' }] })
})

test('a body with more unknown fields than are compared is refused: one of them may be misspelt', () => {
  const many = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`field${n}`, 1]))
  const body = { to: '+447700900123', recipient_type: 'individual', messaging_product: 'chatapp', type: 'text' }
  expect(neverIgnored({ ...body, text: { body: 'Hi' }, ...many })).toEqual([
    { path: '', message: 'more than 1000 unknown fields' },
  ])
})
