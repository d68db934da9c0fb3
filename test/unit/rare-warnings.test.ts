// Pins: what a webhook brings that is not for us is told in the log, once an hour for each, without numbers of people.
import { pino } from 'pino'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { createRareWarnings } from '../../src/producer/api/webhooks/rare-warnings.ts'

const lines: { msg: string; field?: string; phone_number_id?: string | null }[] = []
const log = pino({}, { write: (line) => lines.push(JSON.parse(line)) })

beforeEach(() => {
  lines.length = 0
  vi.useFakeTimers({ toFake: ['performance', 'setTimeout'] })
  // What was written at 0 is kept for ever.
  vi.advanceTimersByTime(1_000)
})
afterEach(() => void vi.useRealTimers())

test('an unused webhook field is logged by name, again only after an hour', () => {
  const warnings = createRareWarnings(log)
  for (const field of ['calls', 'history', 'calls']) warnings.otherField(field)
  expect(lines.map(({ field }) => field)).toEqual(['calls', 'history'])
  vi.advanceTimersByTime(3_599_000)
  warnings.otherField('calls')
  expect(lines).toHaveLength(2)
  vi.advanceTimersByTime(2_000)
  warnings.otherField('calls')
  expect(lines).toHaveLength(3)
})

test('statuses without our id are logged once an hour', () => {
  const warnings = createRareWarnings(log)
  for (let time = 0; time < 3; time += 1) warnings.statusWithoutId()
  expect(lines.map(({ msg }) => msg)).toEqual(['webhook.status_without_id'])
})

test('a number that no sender has is logged by its id, and an invalid id by none', () => {
  const warnings = createRareWarnings(log)
  for (const id of ['106', '106', '+49 1700', 'x'.repeat(100)]) warnings.unknownNumber(id)
  expect(lines.map(({ msg, phone_number_id }) => [msg, phone_number_id])).toEqual([
    ['webhook.unknown_number', '106'],
    ['webhook.unknown_number', null],
  ])
})

test('of any number of unknown numbers within an hour, the log gets only some', () => {
  const warnings = createRareWarnings(log)
  for (let round = 0; round < 2; round++) for (let id = 1; id <= 2_000; id++) warnings.unknownNumber(String(id))
  expect(lines.length).toBeLessThanOrEqual(500)
  vi.advanceTimersByTime(3_601_000)
  warnings.unknownNumber('2000')
  expect(lines.at(-1)?.phone_number_id).toBe('2000')
})
