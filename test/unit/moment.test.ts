// Pins how a time is read that a person types, in zones that change their clocks too.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { isZone, parseMoment } from '../../src/kernel/moment.ts'

const nowMs = Date.parse('2026-11-29T12:34:56Z')
const read = (text: string, zone = 'UTC', now = nowMs) => {
  const ms = parseMoment(text, { nowMs: now, zone })
  return ms === undefined ? undefined : new Date(ms).toISOString()
}

test.each([
  ['2026-11-27T09:00:00Z', 'Europe/Berlin', '2026-11-27T09:00:00.000Z'],
  ['2026-11-27T09:00:00+05:30', 'Europe/Berlin', '2026-11-27T03:30:00.000Z'],
  ['24h', 'Europe/Berlin', '2026-11-28T12:34:56.000Z'],
  ['7d', 'UTC', '2026-11-22T12:34:56.000Z'],
  ['+90m', 'UTC', '2026-11-29T14:04:56.000Z'],
  ['today', 'UTC', '2026-11-29T00:00:00.000Z'],
  ['yesterday', 'Europe/Berlin', '2026-11-27T23:00:00.000Z'],
  ['tomorrow', 'America/New_York', '2026-11-30T05:00:00.000Z'],
  ['2026-11-27', 'Asia/Kolkata', '2026-11-26T18:30:00.000Z'],
  ['2026-11-27T09:00', 'Europe/Berlin', '2026-11-27T08:00:00.000Z'],
  ['2026-06-27 09:00:30', 'Europe/Berlin', '2026-06-27T07:00:30.000Z'],
])('%s in %s is %s', (text, zone, expected) => {
  expect(read(text, zone)).toBe(expected)
})

test('a day that has begun in the zone is today there, whatever the day is elsewhere', () => {
  const late = Date.parse('2026-11-29T23:30:00Z')
  expect(read('today', 'Europe/Berlin', late)).toBe('2026-11-29T23:00:00.000Z')
  expect(read('today', 'America/New_York', late)).toBe('2026-11-29T05:00:00.000Z')
})

test('an hour that the zone skips is the one after it, and one that comes twice is the first', () => {
  expect(read('2026-03-29T02:30', 'Europe/Berlin')).toBe('2026-03-29T01:30:00.000Z')
  expect(read('2026-10-25T02:30', 'Europe/Berlin')).toBe('2026-10-25T00:30:00.000Z')
  // Midnight itself is skipped there.
  expect(read('2026-09-06', 'America/Santiago')).toBe('2026-09-06T04:00:00.000Z')
})

test.each([
  '',
  '0h',
  '+',
  '+0h',
  '-1h',
  '24',
  '24 h',
  'last week',
  '2026-13-01',
  '2026-02-30',
  '2026-11-27T25:00',
  '27.11.2026',
  '9999999d',
])('%j is no time', (text) => {
  expect(read(text)).toBeUndefined()
})

test('the time that a clock on the wall shows is found again, in every zone and at every hour', () => {
  const zones = ['UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Pacific/Apia']
  fc.assert(
    fc.property(fc.constantFrom(...zones), fc.integer({ min: 1_600_000_000, max: 2_000_000_000 }), (zone, second) => {
      const shown = new Intl.DateTimeFormat('sv', { timeZone: zone, dateStyle: 'short', timeStyle: 'medium' })
      const text = shown.format(second * 1_000)
      const found = parseMoment(text, { nowMs, zone }) ?? Number.NaN
      expect(shown.format(found)).toBe(text)
    }),
  )
})

test('a zone has a name that Node knows', () => {
  expect(['Europe/Berlin', 'UTC', 'Mars/Phobos', ''].map(isZone)).toEqual([true, true, false, false])
})
