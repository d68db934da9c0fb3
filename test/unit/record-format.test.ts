// Pins: what a record holds is read back, and so is what earlier releases wrote.
import { expect, test } from 'vitest'
import { newRecordFields, recordSchema } from '../../src/lanes/messages/record-format.ts'
import { CONTENT_TYPES } from '../../src/model/messages/content.ts'

const TEXT = 'Hello Anna, your order has left our house today and will reach you tomorrow.'

test.each(CONTENT_TYPES)('a new record of %s is read back unchanged', (type) => {
  for (const text of [TEXT, 'short', '', 'नमस्ते आपका ऑर्डर आज भेजा गया है और कल पहुँच जाएगा']) {
    const message = { to: '491700000001', type, text, class: 'campaign', validUntil: 5 } as const
    const fields = newRecordFields({ ...message, campaign: undefined, run: undefined })
    const raw: Record<string, string> = { s: 'q' }
    for (let i = 0; i < fields.length; i += 2) raw[fields[i] ?? ''] = fields[i + 1] ?? ''
    expect(recordSchema.parse(raw)).toMatchObject({ ...message, state: 'queued' })
  }
})

test.each(CONTENT_TYPES)('a new record of %s in a campaign is read back unchanged', (type) => {
  const message = { to: '491700000001', type, text: '', class: 'campaign', validUntil: 5, run: 7 } as const
  const fields = newRecordFields({ ...message, campaign: undefined, filled: ['Anna'] })
  const raw: Record<string, string> = { s: 'q' }
  for (let i = 0; i < fields.length; i += 2) raw[fields[i] ?? ''] = fields[i + 1] ?? ''
  expect(recordSchema.parse(raw)).toMatchObject({ ...message, filled: ['Anna'] })
  expect('k' in raw).toBe(type !== 'template')
})

test('a record without type and campaign is refused, and the field is named', () => {
  const read = recordSchema.safeParse({ s: 'd', t: '491700000001', y: 't', u: '1790000000000' })
  expect(read.error?.issues.map(({ path }) => path)).toEqual([['type']])
})
