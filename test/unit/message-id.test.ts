// Pins: a message id names its lane and its time, and nothing else is taken for one.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { acceptedAtMs, messageId, newAttemptId, newUlid, parseMessageId } from '../../src/kernel/message-id.ts'

const times = fc.integer({ min: 0, max: 2 ** 48 - 1 })
const lanes = fc.integer({ min: 1, max: 999_999_999_999_999 })

test('an id contains its lane and its time', () => {
  fc.assert(
    fc.property(lanes, times, (lane, time) => {
      const ulid = newUlid(time)
      expect(parseMessageId(messageId(lane, ulid))).toEqual({ lane, ulid })
      expect(acceptedAtMs(ulid)).toBe(time)
    }),
  )
})

test('ids of one lane sort by their time', () => {
  fc.assert(
    fc.property(times, times, (one, two) => {
      if (one === two) return
      expect(newUlid(one) < newUlid(two)).toBe(one < two)
    }),
  )
})

test('ids and attempts of the same moment differ', () => {
  expect(new Set(Array.from({ length: 10_000 }, () => newUlid(1))).size).toBe(10_000)
  // Of 30 random bits: two of a thousand would be the same in one run of two thousand.
  expect(new Set(Array.from({ length: 20 }, () => newAttemptId())).size).toBe(20)
  expect(newAttemptId()).toMatch(/^[0-9A-HJKMNP-TV-Z]{6}$/)
})

test('an id uses the low five bits of each given byte', () => {
  const bytes = (from: number) => Uint8Array.from({ length: 16 }, (_, i) => from + i)
  expect(newUlid(0, bytes(0))).toBe('00000000000123456789ABCDEF')
  expect(newUlid(0, bytes(240))).toBe('0000000000GHJKMNPQRSTVWXYZ')
})

const ulid = newUlid(1_763_640_000_000)
test.each([
  '',
  'msg',
  `msg_0_${ulid}`,
  `msg_01_${ulid}`,
  `msg_-1_${ulid}`,
  `msg_1.5_${ulid}`,
  `msg_${'9'.repeat(16)}_${ulid}`,
])('is not a message id: %j', (text) => {
  expect(parseMessageId(text)).toBeUndefined()
})
test.each([
  `msg_1_${ulid.toLowerCase()}`,
  `msg_1_${ulid}x`,
  ` msg_1_${ulid}`,
  `msg_1_${ulid}\n`,
  `msg_1_8${ulid.slice(1)}`,
])('is not a message id either: %j', (text) => {
  expect(parseMessageId(text)).toBeUndefined()
})
