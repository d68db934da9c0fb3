// Pins: the client takes what Laneway signs, and what any other signer of Standard Webhooks signs, and nothing else.
import { Webhook } from 'standardwebhooks'
import { afterEach, expect, test, vi } from 'vitest'
import { EventsRefused, isNews, verifyEvent } from '../../packages/client/src/events.ts'
import type { LanewayEvent } from '../../packages/client/src/types.ts'
import { EVENT_TYPES, TEST_TYPE } from '../../src/model/events/event-names.ts'
import { newSecret, signatures } from '../../src/outbound/signatures.ts'

afterEach(() => {
  vi.useRealTimers()
})

const secret = newSecret()
const event = {
  type: 'message.read',
  timestamp: '2026-11-21T10:00:00.000Z',
  data: { event_id: 'evt_1', id: 'msg_1', seq: 5 },
}

function signed(body: string, secrets = [secret], atMs = Date.now()) {
  const seconds = Math.floor(atMs / 1_000)
  return {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(seconds),
    'webhook-signature': signatures(secrets, { id: 'evt_1', seconds, body }),
  }
}

test('one event and a batch are both returned as a list, with the id of the delivery', () => {
  const one = JSON.stringify(event)
  expect(verifyEvent(signed(one), one, secret)).toEqual({ id: 'evt_1', events: [event] })
  const batch = JSON.stringify({ type: 'batch', timestamp: event.timestamp, data: [event, event] })
  expect(verifyEvent(new Headers(signed(batch)), Buffer.from(batch), secret).events).toEqual([event, event])
})

test('an event signed by another implementation is accepted, with either secret of a rotation', () => {
  const body = JSON.stringify(event)
  const now = new Date()
  const headers = {
    'webhook-id': 'evt_1',
    'webhook-timestamp': String(Math.floor(now.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign('evt_1', now, body),
  }
  expect(verifyEvent(headers, body, [newSecret(), secret]).events).toHaveLength(1)
  const both = signed(body, [newSecret(), secret])
  expect(verifyEvent(both, body, secret).events).toHaveLength(1)
})

test('a changed body, id, time or secret, an old delivery and one without a signature are refused', () => {
  // The next second may begin between the signature and the look at it, and 301 s ahead would be 300.
  vi.useFakeTimers({ toFake: ['Date'] })
  const body = JSON.stringify(event)
  const good = signed(body)
  const refuse = (headers: Record<string, string | undefined>, text = body, by = secret) =>
    expect(() => verifyEvent(headers, text, by)).toThrow(EventsRefused)
  refuse(good, `${body} `)
  refuse(good, body, newSecret())
  refuse({ ...good, 'webhook-id': 'evt_2' })
  refuse({ ...good, 'webhook-timestamp': String(Number(good['webhook-timestamp']) + 1) })
  refuse({ ...good, 'webhook-signature': undefined })
  refuse({ ...good, 'webhook-signature': good['webhook-signature'].replace('v1,', 'v2,') })
  refuse({})
  refuse(signed(body, [secret], Date.now() - 301_000))
  refuse(signed(body, [secret], Date.now() + 301_000))
  for (const text of ['', 'null', '[]', '{}', '{"type":"batch","data":[1]}']) refuse(signed(text), text)
  expect(() => verifyEvent(good, body, 'secret')).toThrow(TypeError)
})

test('an event is new when its seq is above the known one', () => {
  const { events } = verifyEvent(signed(JSON.stringify(event)), JSON.stringify(event), secret)
  const [read] = events
  expect(read && [undefined, 4, 5, 6].map((known) => isNews(read, known))).toEqual([true, true, false, false])
})

test('the client has a name for every type of event', () => {
  // Held by the compiler: a type that the client lacks cannot be assigned.
  const named: readonly LanewayEvent['type'][] = [...EVENT_TYPES, TEST_TYPE]
  expect(new Set(named).size).toBe(named.length)
})
