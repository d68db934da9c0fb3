import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createLaneBackoff } from '../../src/worker/sending/lane-backoff.ts'
import { silentLog } from '../support/app.ts'

describe('answers that prove nothing', () => {
  test('are an outage once there are five in a row', () => {
    const trouble = createLaneBackoff(silentLog)
    expect(Array.from({ length: 6 }, () => trouble.isOutage(1))).toEqual([false, false, false, false, true, true])
  })

  test('are forgotten once the provider has answered properly', () => {
    const trouble = createLaneBackoff(silentLog)
    for (let n = 0; n < 4; n += 1) trouble.isOutage(1)
    trouble.over(1)
    expect(trouble.isOutage(1)).toBe(false)
  })

  test('are counted separately for each lane', () => {
    const trouble = createLaneBackoff(silentLog)
    for (let n = 0; n < 5; n += 1) trouble.isOutage(1)
    expect(trouble.isOutage(2)).toBe(false)
  })
})

test("a lane waiting at its provider's request is logged once for that wait, with its code and a masked sentence", () => {
  const lines: unknown[] = []
  const log = pino({ level: 'info' }, { write: (text) => lines.push(JSON.parse(text)) })
  const trouble = createLaneBackoff(log)
  const asked = { code: '130429', sentence: 'Too many for 491700000001.' }
  for (let n = 0; n < 50; n += 1) trouble.waitMs(1, { laneMs: 120_000, backoff: false, problem: asked })
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({ msg: 'lane.throttled', lane: 1, sentence: 'Too many for ….', wait_ms: 120_000 })
})
