import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createLaneBackoff } from '../../src/worker/lane-backoff.ts'
import { silentLog } from '../support/app.ts'

const problem = { code: 'http_500', sentence: 'It answered 500.' }

describe('Answers that prove nothing', () => {
  test('hold a lane up once there are five in a row', () => {
    const trouble = createLaneBackoff(silentLog)
    const waits = Array.from({ length: 5 }, () => trouble.unprovenMs(1, problem))
    expect(waits).toEqual([0, 0, 0, 0, 1_000])
  })

  test('of the same burst of requests are one failure', () => {
    const trouble = createLaneBackoff(silentLog)
    const waits = Array.from({ length: 50 }, () => trouble.unprovenMs(1, problem))
    expect(Math.max(...waits)).toBeLessThanOrEqual(2_000)
  })

  test('are forgotten once the provider has answered in order', () => {
    const trouble = createLaneBackoff(silentLog)
    for (let n = 0; n < 4; n += 1) trouble.unprovenMs(1, problem)
    trouble.over(1)
    expect(trouble.unprovenMs(1, problem)).toBe(0)
  })

  test('hold up no other lane', () => {
    const trouble = createLaneBackoff(silentLog)
    for (let n = 0; n < 5; n += 1) trouble.unprovenMs(1, problem)
    expect(trouble.unprovenMs(2, problem)).toBe(0)
  })
})

test('a lane that waits as its provider asks is in the log once for that wait, with its code and a masked sentence', () => {
  const lines: unknown[] = []
  const log = pino({ level: 'info' }, { write: (text) => lines.push(JSON.parse(text)) })
  const trouble = createLaneBackoff(log)
  const asked = { code: '130429', sentence: 'Too many for 491700000001.' }
  for (let n = 0; n < 50; n += 1) trouble.waitMs(1, { laneMs: 120_000, backoff: false, problem: asked })
  expect(lines).toHaveLength(1)
  expect(lines[0]).toMatchObject({ msg: 'lane.throttled', lane: 1, sentence: 'Too many for ….', wait_ms: 120_000 })
})
