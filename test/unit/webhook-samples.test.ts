// Pins: of every documented webhook each item is read, or kept as a notice; none is dropped, none is counted as unreadable, and fields that
// nobody knows yet, at any depth, change nothing of that.
import { afterAll, describe, expect, test } from 'vitest'
import { unpackPricing } from '../../src/model/messages/pricing.ts'
import { readWebhook, type WebhookContent } from '../../src/providers/cloud-webhook.ts'
import { NOTICES } from '../support/webhook-notices.ts'
import { ABOUT_US, type Becomes, bodyOf, RECEIVED, STATUSES } from '../support/webhook-samples.ts'

const SAMPLES = [...RECEIVED, ...STATUSES, ...ABOUT_US, ...NOTICES]

/** What came of a body, in the words of the samples. */
async function readOf(field: string, value: unknown) {
  const content = await readWebhook(JSON.parse(JSON.stringify(bodyOf(field, value))))
  if (content === undefined) throw new Error('it is no webhook')
  const { received, statuses, preferences, accountUpdates, unreadable } = content
  const becomes: Required<Becomes> & { unreadable: number } = {
    received: received.map(({ type }) => type),
    statuses: statuses.map(({ status }) => status),
    preferences: preferences.map(({ intent }) => intent),
    news: accountUpdates.map(({ field: of, isKnown }) => (isKnown ? of : `${of}?`)),
    unreadable,
  }
  return { content, becomes }
}

const NOTHING = { received: [], statuses: [], preferences: [], news: [], unreadable: 0 }

/** The same value with a field that nobody knows in every object of it. */
function widened(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(widened)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.entries(value).map(([name, each]) => [name, widened(each)])
  return { ...Object.fromEntries(inner), field_to_come: { anything: [1, null, { at: 'all' }] } }
}

/** The statuses with what is known of prices, of which any other field is kept as well. */
const statusesOf = ({ content }: { content: WebhookContent }) =>
  content.statuses.map(({ pricing = '', ...status }) => {
    const { billable, pricing_model, type, category } = unpackPricing(pricing) ?? {}
    return { ...status, pricing: { billable, pricing_model, type, category } }
  })

let handled = 0
describe(`all ${SAMPLES.length} documented webhooks are handled or kept`, () => {
  test.each(SAMPLES)('%s', async (_name, field, value, becomes) => {
    const plain = await readOf(field, value)
    expect(plain.becomes).toEqual({ ...NOTHING, ...becomes })
    const wide = await readOf(field, widened(value))
    expect(wide.becomes).toEqual(plain.becomes)
    expect([wide.content.received, statusesOf(wide), wide.content.preferences]).toEqual([
      plain.content.received,
      statusesOf(plain),
      plain.content.preferences,
    ])
    const withoutShape = ({ content }: typeof wide) =>
      content.accountUpdates.map((each) => (each.isKnown ? each : { ...each, details: {} }))
    expect(withoutShape(wide)).toEqual(withoutShape(plain))
    handled += 1
  })
})
afterAll(() => {
  console.log(`webhooks handled or kept: ${handled} of ${SAMPLES.length}`)
})

test('no two samples have the same name', () => {
  expect(new Set(SAMPLES.map(([name]) => name)).size).toBe(SAMPLES.length)
})
