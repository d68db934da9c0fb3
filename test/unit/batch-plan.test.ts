import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  acceptedAtMs,
  derivedUlid,
  MAX_DERIVED,
  messageId,
  newUlid,
  parseMessageId,
} from '../../src/kernel/message-id.ts'
import { readPlan, writePlan } from '../../src/messages/accept/accept-batch.ts'

test('a written plan is read back unchanged, including refused items', () => {
  const lanes = fc.array(fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }), { minLength: 1 })
  fc.assert(
    fc.property(lanes, (lanes) => {
      const plan = { ulid: newUlid(1_700_000_000_000), lanes }
      expect(readPlan(writePlan(plan))).toEqual(plan)
    }),
  )
})

test('a plan of one lane is a few characters long, however many items it has', () => {
  const plan = { ulid: newUlid(1_700_000_000_000), lanes: Array.from({ length: 1_000 }, () => 12) }
  expect(writePlan(plan)).toBe(`${plan.ulid}.12*1000`)
})

test('derived ids are message ids of the same moment, all different, in the order of their items', () => {
  const ulid = newUlid(1_700_000_000_000)
  const derived = Array.from({ length: MAX_DERIVED }, (_, index) => derivedUlid(ulid, index))
  expect(new Set(derived).size).toBe(MAX_DERIVED)
  expect([...derived].sort()).toEqual(derived)
  for (const each of derived) {
    expect(parseMessageId(messageId(1, each))).toEqual({ lane: 1, ulid: each })
    expect(acceptedAtMs(each)).toBe(1_700_000_000_000)
  }
  expect(() => derivedUlid(ulid, MAX_DERIVED)).toThrow(RangeError)
})
