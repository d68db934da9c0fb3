// Pins: what a record holds is read back, and so is what earlier releases wrote.
import { expect, test } from 'vitest'
import { CONTENT_TYPES } from '../../src/messages/content.ts'
import { newRecordFields, recordSchema } from '../../src/messages/store/record-format.ts'

const TEXT = 'Hello Anna, your order has left our house today and will reach you tomorrow.'

test('a record with its type and text as earlier releases wrote them is read', () => {
  const raw = { s: 'd', t: '491700000001', k: 'template', x: TEXT, y: 't', u: '1790000000000' }
  expect(recordSchema.parse(raw)).toMatchObject({ state: 'delivered', type: 'template', text: TEXT })
})

test.each(CONTENT_TYPES)('a new record of %s is read as it was meant', (type) => {
  for (const text of [TEXT, 'short', '', 'नमस्ते आपका ऑर्डर आज भेजा गया है और कल पहुँच जाएगा']) {
    const message = { to: '491700000001', type, text, class: 'campaign', validUntil: 5 } as const
    const fields = newRecordFields({ ...message, campaign: undefined, run: undefined })
    const raw: Record<string, string> = { s: 'q' }
    for (let i = 0; i < fields.length; i += 2) raw[fields[i] ?? ''] = fields[i + 1] ?? ''
    expect(recordSchema.parse(raw)).toMatchObject({ ...message, state: 'queued' })
  }
})
