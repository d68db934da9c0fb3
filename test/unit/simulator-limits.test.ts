// Pins: the limits of WhatsApp as the simulator keeps them, on a clock that the test moves.

import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Limits } from '../../packages/simulator/src/limits.ts'
import type { Submission } from '../../packages/simulator/src/submission.ts'

const start = 1_800_000_000_000

function submission(more: Partial<Submission> = {}): Submission {
  return { wire: 'cloud', account: '1', sender: '1', to: '491701234567', opaque: null, template: null, ...more }
}

test('nothing is limited until a limit is switched on', () => {
  const limits = new Limits()
  const codes = Array.from({ length: 500 }, () => limits.refuse(submission(), start))
  expect(codes.every((refusal) => refusal === null)).toBe(true)
  expect(limits.isOutsideWindow(submission(), start)).toBe(false)
})

describe('throughput', () => {
  test('lets no more than the limit through in any second, and refuses nothing below it', () => {
    const gaps = fc.array(fc.integer({ min: 0, max: 400 }), { minLength: 1, maxLength: 200 })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 20 }), gaps, (limit, waits) => {
        const limits = new Limits()
        limits.throughput = limit
        const accepted: number[] = []
        let now = start
        for (const wait of waits) {
          now += wait
          const inSecond = accepted.filter((at) => now - at < 1000).length
          const refused = limits.refuse(submission(), now) !== null
          expect(refused).toBe(inSecond >= limit)
          if (!refused) accepted.push(now)
        }
      }),
    )
  })

  test('is counted per sender, and refused with 130429', () => {
    const limits = new Limits()
    limits.throughput = 1
    expect(limits.refuse(submission(), start)).toBeNull()
    expect(limits.refuse(submission(), start)).toEqual({ code: 130429 })
    expect(limits.refuse(submission({ account: '2' }), start)).toBeNull()
  })

  test('can be lowered and lifted while running', () => {
    const limits = new Limits()
    limits.throughput = 5
    for (let sent = 0; sent < 5; sent += 1) limits.refuse(submission(), start)
    limits.throughput = 2
    expect(limits.refuse(submission(), start + 999)).toEqual({ code: 130429 })
    expect(limits.refuse(submission(), start + 1000)).toBeNull()
    limits.throughput = null
    expect(limits.refuse(submission(), start + 1000)).toBeNull()
  })
})

describe('the pair limit', () => {
  test('lets a burst of 45 to one recipient through, then one per six seconds', () => {
    const limits = new Limits()
    limits.pairLimit = true
    const burst = Array.from({ length: 46 }, () => limits.refuse(submission(), start))
    expect(burst.map((refusal) => refusal?.code ?? 0)).toEqual([...Array(45).fill(0), 131056])
    expect(limits.refuse(submission(), start + 5999)?.code).toBe(131056)
    expect(limits.refuse(submission(), start + 6000)).toBeNull()
    expect(limits.refuse(submission(), start + 6000)?.code).toBe(131056)
  })

  test('does not affect other recipients and other senders', () => {
    const limits = new Limits()
    limits.pairLimit = true
    for (let sent = 0; sent < 46; sent += 1) limits.refuse(submission(), start)
    expect(limits.refuse(submission({ to: '491701234568' }), start)).toBeNull()
    expect(limits.refuse(submission({ account: '2' }), start)).toBeNull()
  })
})

describe('the 24-hour window', () => {
  const day = 24 * 60 * 60 * 1000

  test('is closed until the person writes, open for a day, and closed again', () => {
    const limits = new Limits()
    limits.window24h = true
    expect(limits.isOutsideWindow(submission(), start)).toBe(true)
    limits.noteInbound('1', '491701234567', start)
    expect(limits.isOutsideWindow(submission(), start + day - 1)).toBe(false)
    expect(limits.isOutsideWindow(submission(), start + day)).toBe(true)
  })

  test('belongs to one number on the cloud wire, and to all recipients of a key on the partner wire', () => {
    const limits = new Limits()
    limits.window24h = true
    limits.noteInbound('1', '491701234567', start)
    expect(limits.isOutsideWindow(submission({ account: '2' }), start)).toBe(true)
    expect(limits.isOutsideWindow(submission({ wire: 'partner', account: 'key' }), start)).toBe(false)
  })

  test('does not apply to templates', () => {
    const limits = new Limits()
    limits.window24h = true
    expect(limits.isOutsideWindow(submission({ template: { name: 'news', language: 'en_US' } }), start)).toBe(false)
  })
})
