// Pins: when the updates of a message are due and where a lookup finds it at any moment.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BEHAVIOURS } from '../../packages/simulator/src/behaviours.ts'
import {
  ARRIVES,
  BACKWARDS,
  BEFORE_ANSWER,
  FAILS_AFTER_DELIVERY,
  FAILS_LATE,
  failsWith,
  LATE,
  SILENT,
  standingOf,
  updatesOf,
} from '../../packages/simulator/src/timeline.ts'

const delays = { sentMs: 300, deliveredMs: 1500, readMs: 4000 }
const accepted = 1_000_000

function standingsOf(timeline: Parameters<typeof standingOf>[0]): (string | null)[] {
  return [0, 299, 300, 1499, 1500, 3999, 4000].map(
    (ms) => standingOf(timeline, accepted, delays, accepted + ms)?.status ?? null,
  )
}

describe('a message that arrives', () => {
  test('is sent, delivered and read after the configured delays, not a millisecond earlier', () => {
    expect(standingsOf(ARRIVES)).toEqual([null, null, 'sent', 'sent', 'delivered', 'delivered', 'read'])
  })

  test('has updates at the times of their events', () => {
    expect(updatesOf(ARRIVES, accepted, delays)).toEqual([
      { status: 'sent', dueMs: 1_000_300, happenedMs: 1_000_300 },
      { status: 'delivered', dueMs: 1_001_500, happenedMs: 1_001_500 },
      { status: 'read', dueMs: 1_004_000, happenedMs: 1_004_000 },
    ])
  })
})

describe('a message that fails', () => {
  test('fails instead of being sent, with its code', () => {
    expect(standingsOf(failsWith(131047))).toEqual([null, null, 'failed', 'failed', 'failed', 'failed', 'failed'])
    expect(standingOf(failsWith(131047), accepted, delays, accepted + 300)?.code).toBe(131047)
  })

  test('may be sent first and fail late', () => {
    expect(standingsOf(FAILS_LATE)).toEqual([null, null, 'sent', 'sent', 'sent', 'sent', 'failed'])
  })

  test('stays delivered when the failure comes after the delivery', () => {
    expect(standingsOf(FAILS_AFTER_DELIVERY).at(-1)).toBe('delivered')
  })
})

describe('unusual timelines', () => {
  test('updates in the wrong order have the times at which they happened, if these are past', () => {
    const updates = updatesOf(BACKWARDS, accepted, delays)
    expect(updates.map(({ status, dueMs }) => [status, dueMs - accepted])).toEqual([
      ['read', 300],
      ['delivered', 1500],
      ['sent', 4000],
    ])
    expect(updates.at(-1)?.happenedMs).toBe(accepted + 300)
  })

  test('an update before the answer is due at acceptance', () => {
    expect(updatesOf(BEFORE_ANSWER, accepted, delays)[0]).toEqual({
      status: 'sent',
      dueMs: accepted,
      happenedMs: accepted,
    })
  })

  test('a silent message stays sent', () => {
    expect(new Set(standingsOf(SILENT))).toEqual(new Set(['sent']))
  })

  test('late updates come ten seconds later', () => {
    expect(updatesOf(LATE, accepted, delays).map(({ dueMs }) => dueMs - accepted)).toEqual([10_300, 11_500, 14_000])
  })
})

test('no timeline of the table ever takes a state back', () => {
  const rank = [null, 'sent', 'failed', 'delivered', 'read']
  const timeline = fc.constantFrom(ARRIVES, ...BEHAVIOURS.flatMap((one) => one.timeline ?? []))
  const ms = fc.nat(20_000)
  fc.assert(
    fc.property(timeline, ms, ms, (one, early, late) => {
      const [first, second] = [Math.min(early, late), Math.max(early, late)].map((at) =>
        rank.indexOf(standingOf(one, accepted, delays, accepted + at)?.status ?? null),
      )
      return first !== undefined && second !== undefined && first <= second
    }),
  )
})
