// Pins: which messages a filter finds.
import { describe, expect, test } from 'vitest'
import { matchesRequeue } from '../../src/messages/requeue/filter.ts'
import { STATES } from '../../src/model/messages/lifecycle.ts'

const message = {
  state: 'failed' as const,
  repeats: 0,
  to: '491700000001',
  class: 'transactional' as const,
  campaign: 'spring',
  run: 7,
  problem: { code: '131053' },
}

describe('a filter', () => {
  test('that is empty finds what ended failed, unknown, expired or cancelled, and nothing else', () => {
    const found = STATES.filter((state) => matchesRequeue({ ...message, state }, {}))
    expect(found.sort()).toEqual(['cancelled', 'expired', 'failed', 'unknown'])
  })

  test.each([
    ['state', { state: 'failed' as const }, { state: 'expired' as const }],
    ['recipient', { to: '491700000001' }, { to: '491700000002' }],
    ['class', { class: 'transactional' as const }, { class: 'campaign' as const }],
    ['grouping text', { campaign_id: 'spring' }, { campaign_id: 'summer' }],
    ['campaign', { run: 7 }, { run: 8 }],
    ['code', { code: '131053' }, { code: '404' }],
  ])('by %s finds those, and no others', (_what, same, other) => {
    expect(matchesRequeue(message, same)).toBe(true)
    expect(matchesRequeue(message, other)).toBe(false)
  })

  test('for failed messages does not find one that may have gone out before; for unknown ones it does', () => {
    const doubtful = { ...message, repeats: 1 }
    expect(matchesRequeue(doubtful, { state: 'failed' })).toBe(false)
    expect(matchesRequeue(doubtful, { state: 'unknown' })).toBe(true)
  })

  test('by code does not find a message without a problem', () => {
    expect(matchesRequeue({ ...message, problem: undefined }, { code: '131053' })).toBe(false)
  })
})
