// Pins: which behaviours a request draws, from its number and from the rules of the control endpoint.

import { describe, expect, test } from 'vitest'
import { type Behaviour, behaviourNamed } from '../../packages/simulator/src/behaviours.ts'
import { type Rule, Rules } from '../../packages/simulator/src/rules.ts'
import type { Submission } from '../../packages/simulator/src/submission.ts'

const GOOD = '491701234567'

function submission(more: Partial<Submission> = {}): Submission {
  return { wire: 'cloud', account: '1', sender: '1', to: GOOD, opaque: null, template: null, ...more }
}

function named(name: string): Behaviour {
  const behaviour = behaviourNamed(name)
  if (behaviour === undefined) throw new Error(`no behaviour ${name}`)
  return behaviour
}

function rulesOf(...rules: (Omit<Rule, 'behaviour'> & { name: string })[]): Rules {
  const all = new Rules()
  for (const { name, ...rule } of rules) all.add({ ...rule, behaviour: named(name) })
  return all
}

/** Which of `n` requests like this one are rejected, as ones and zeros. */
function rejections(rules: Rules, n: number, more: Partial<Submission> = {}): string {
  const plans = Array.from({ length: n }, () => rules.planFor(submission(more)))
  return plans.map((plan) => (plan.rejection === null ? '0' : '1')).join('')
}

test('a number outside the table triggers nothing', () => {
  expect(new Rules().planFor(submission())).toEqual({ rejection: null, answer: null, fate: null })
})

test('a number of the table triggers its behaviour on both wires', () => {
  for (const wire of ['cloud', 'partner'] as const) {
    const plan = new Rules().planFor(submission({ wire, to: '15550100002' }))
    expect(plan.rejection).toEqual({ code: 130429 })
  }
})

test('a number with one refusal is refused every other time, counted per wire', () => {
  const rules = new Rules()
  expect(rejections(rules, 5, { to: '15550100001' })).toBe('10101')
  expect(rejections(rules, 2, { to: '15550100001', wire: 'partner' })).toBe('10')
})

describe('a rule', () => {
  test('without conditions and count applies to every request until cleared', () => {
    const rules = rulesOf({ name: 'rate-limited', match: {} })
    expect(rejections(rules, 3)).toBe('111')
    rules.clear()
    expect(rejections(rules, 3)).toBe('000')
  })

  test('with a count applies that often and is then gone', () => {
    const rules = rulesOf({ name: 'rate-limited', match: {}, count: 2 })
    expect(rules.list()).toEqual([{ match: {}, behaviour: 'rate-limited', left: 2 }])
    expect(rejections(rules, 4)).toBe('1100')
    expect(rules.list()).toEqual([])
  })

  test.each([
    [{ to: GOOD }, { to: '491701234568' }],
    [{ sender: '1' }, { sender: '2' }],
    [{ wire: 'cloud' as const }, { wire: 'partner' as const }],
  ])('with the condition %o skips a request with %o', (match, other) => {
    const rules = rulesOf({ name: 'rate-limited', match })
    expect(rejections(rules, 1)).toBe('1')
    expect(rejections(rules, 1, other)).toBe('0')
  })

  test('with `every` applies to each n-th request that matches its other conditions', () => {
    const rules = rulesOf({ name: 'rate-limited', match: { every: 3, sender: '1' } })
    expect(rejections(rules, 2)).toBe('00')
    expect(rejections(rules, 5, { sender: '2' })).toBe('00000')
    expect(rejections(rules, 4)).toBe('1001')
  })

  test('does not use up its count on skipped requests', () => {
    const rules = rulesOf({ name: 'rate-limited', match: { every: 2 }, count: 2 })
    expect(rejections(rules, 6)).toBe('010100')
  })

  test('with a probability draws the same sequence from the same seed and another from another', () => {
    const draw = (seed: number) =>
      rejections(rulesOf({ name: 'rate-limited', match: { probability: 0.3 }, seed }), 2000)
    expect(draw(7)).toBe(draw(7))
    expect(draw(7)).not.toBe(draw(8))
    const share = draw(7).replaceAll('0', '').length / 2000
    expect(share).toBeGreaterThan(0.25)
    expect(share).toBeLessThan(0.35)
  })
})

describe('rules stack', () => {
  test('different parts combine', () => {
    const rules = rulesOf({ name: 'reset-after-accepting', match: {} }, { name: 'no-webhooks', match: {} })
    const plan = rules.planFor(submission())
    expect(plan).toEqual({ rejection: null, answer: 'reset', fate: named('no-webhooks') })
  })

  test('for the same part the newest wins, also over the number', () => {
    const rules = rulesOf({ name: 'undeliverable', match: {} }, { name: 'late-failure', match: {} })
    expect(rules.planFor(submission({ to: '15550100404' })).fate?.name).toBe('late-failure')
  })
})
