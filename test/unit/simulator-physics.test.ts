// Pins: what WhatsApp does to a message by rules that nobody tells beforehand, each rule alone, with the time given.
import { describe, expect, test } from 'vitest'
import type { Line } from '../../packages/simulator/src/physics/listing.ts'
import { type Plan, planSchema, plansSchema } from '../../packages/simulator/src/physics/plan.ts'
import { Portfolio } from '../../packages/simulator/src/physics/portfolio.ts'

const DAY = 10_000
const start = 1_800_000_000_500
const NEWS = { name: 'news', language: 'en_US' }
const CODE = { name: 'code', language: 'en_US' }

interface Sent {
  to?: string
  from?: string
  template?: typeof NEWS | null
  atMs?: number
}

/** One portfolio of the numbers 1 and 2 with these rules. */
function portfolioWith(rules: Partial<Omit<Plan, 'waba_id' | 'senders'>> | Record<string, unknown>) {
  const notes: Line[] = []
  const scheduled: { field: string; value: Record<string, unknown>; dueMs: number }[] = []
  const windows = new Set<string>()
  const plan = planSchema.parse({ waba_id: '77', senders: ['1', '2'], marketing: ['news'], day_ms: DAY, ...rules })
  const portfolio = new Portfolio(
    plan,
    {
      delays: { sentMs: 100, deliveredMs: 200, readMs: 300 },
      displayNumberOf: (id) => `1555${id}`,
      hasWindow: (_sender, to) => windows.has(to),
      note: (line) => notes.push(line),
      schedule: ({ field, value }, dueMs) => scheduled.push({ field, value, dueMs }),
    },
    start,
  )
  let count = 0
  const send = ({ to = '491700000001', from = '1', template = NEWS, atMs = 0 }: Sent = {}) => {
    count += 1
    const message = {
      wire: 'cloud',
      account: from,
      sender: from,
      to,
      opaque: null,
      template,
      id: `id ${count}`,
    } as const
    const ruling = portfolio.judge(message, start + atMs)
    return ruling.kind === 'refused' ? ruling.code : ruling
  }
  return { send, notes, scheduled, windows, events: () => notes.map(({ event }) => event) }
}

const people = (count: number) => Array.from({ length: count }, (_each, n) => String(491_700_000_000 + n))
const arrives = { kind: 'taken', isHeld: false, updates: null }

test('without rules everything arrives', () => {
  const { send, notes } = portfolioWith({})
  expect(send()).toEqual(arrives)
  expect(notes).toEqual([])
})

describe('caps', () => {
  test('refuse marketing to a person for a day, and count sends within it', () => {
    const { send, notes } = portfolioWith({ caps: { share: 1 } })
    expect(send()).toBe(131049)
    expect(send({ from: '2', atMs: DAY - 1 })).toBe(131049)
    expect(send({ template: CODE, atMs: 1 })).toEqual(arrives)
    expect(send({ template: null, atMs: 2 })).toEqual(arrives)
    expect(send({ atMs: DAY })).toEqual(arrives)
    expect(notes).toMatchObject([
      { event: 'capped', until_ms: start + DAY },
      { event: 'within_cap', sender: '2', until_ms: start + DAY, told_ms: start },
    ])
  })

  test('reported by webhook, last a day from the second given in the webhook', () => {
    const { send, notes } = portfolioWith({ caps: { share: 1, told: 'webhook' } })
    const failure = { status: 'failed', code: 131049, dueMs: start + 100 }
    const first = send()
    expect(first).toMatchObject({ kind: 'taken', updates: [failure] })
    expect(send({ atMs: 100 })).toMatchObject({ kind: 'taken' })
    if (typeof first === 'object') first.answered?.(start + 150)
    expect(send({ atMs: 150 })).toMatchObject({ kind: 'taken' })
    expect(notes.map(({ event }) => event)).toEqual(['capped', 'capped', 'within_cap'])
    expect(notes[0]).toMatchObject({ until_ms: start - 500 + DAY, id: 'id 1' })
    expect(send({ atMs: DAY - 500 })).toEqual(arrives)
  })

  test('are drawn from the seed, for their share of people, and again if set so', () => {
    const refusedBy = (seed: number) => {
      const { send } = portfolioWith({ seed, caps: { share: 0.4, again: 1 } })
      const refused = people(1_000).filter((to) => send({ to }) === 131049)
      for (const to of refused) expect(send({ to, atMs: DAY })).toBe(131049)
      return refused
    }
    const first = refusedBy(1)
    expect(first.length).toBeGreaterThan(340)
    expect(first.length).toBeLessThan(460)
    expect(refusedBy(1)).toEqual(first)
    expect(refusedBy(2)).not.toEqual(first)
  })

  test('do not affect a person who has just written', () => {
    const { send, windows } = portfolioWith({ caps: { share: 1 } })
    windows.add('491700000001')
    expect(send()).toEqual(arrives)
  })
})

describe('holds', () => {
  test('that end well send held messages when decided, and hold nothing afterwards', () => {
    const { send, events } = portfolioWith({ holds: { after: 1, for_ms: 1_000, ends: 'well' } })
    expect(send()).toEqual(arrives)
    expect(send({ atMs: 10 })).toMatchObject({
      isHeld: true,
      updates: [{ status: 'sent', dueMs: start + 1_110 }, {}, {}],
    })
    expect(send({ atMs: 900 })).toMatchObject({
      isHeld: true,
      updates: [{ status: 'sent', dueMs: start + 1_110 }, {}, {}],
    })
    expect(send({ atMs: 950, template: CODE })).toEqual(arrives)
    expect(send({ atMs: 1_010 })).toEqual(arrives)
    expect(events()).toEqual(['held', 'held'])
  })

  test.each([132015, 135000])('that end badly drop held messages (%i) and pause the template', (code) => {
    const { send, scheduled, events } = portfolioWith({ holds: { for_ms: 1_000, ends: 'badly', code } })
    const dropped = { isHeld: true, updates: [{ status: 'failed', code, dueMs: start + 1_000 }] }
    expect(send()).toMatchObject(dropped)
    expect(send({ atMs: 500 })).toMatchObject(dropped)
    expect(send({ atMs: 1_000 })).toBe(132015)
    expect(send({ atMs: 1_000, template: CODE })).toEqual(arrives)
    expect(scheduled).toMatchObject([
      { field: 'message_template_status_update', value: { event: 'PAUSED' }, dueMs: start + 1_000 },
    ])
    expect(events()).toEqual(['held_and_dropped', 'pauses_template', 'held_and_dropped', 'template_paused'])
  })
})

describe('the budget', () => {
  test('counts a person once in a moving day over all numbers, and refuses one more', () => {
    const { send, notes } = portfolioWith({ budget: { people: 2 } })
    const [one = '', two = '', three = ''] = people(3)
    expect(send({ to: one })).toEqual(arrives)
    expect(send({ to: two, from: '2', template: CODE, atMs: 5_000 })).toEqual(arrives)
    expect(send({ to: one, from: '2', template: CODE, atMs: 6_000 })).toEqual(arrives)
    expect(send({ to: three, template: CODE, atMs: 6_000 })).toBe(131048)
    expect(notes).toMatchObject([{ event: 'over_budget', template: 'code', to: three }])
    expect(send({ to: three, template: null, atMs: 6_000 })).toEqual(arrives)
    expect(send({ to: three, atMs: DAY })).toEqual(arrives)
    expect(send({ to: one, atMs: DAY })).toBe(131048)
  })

  test('does not count a person who has just written', () => {
    const { send, windows } = portfolioWith({ budget: { people: 1 } })
    const [one = '', two = ''] = people(2)
    windows.add(one)
    expect(send({ to: one })).toEqual(arrives)
    expect(send({ to: two })).toEqual(arrives)
  })

  test('is raised at its set point, and reports so', () => {
    const { send, scheduled } = portfolioWith({ budget: { people: 1, raised_to: 2, raised_after_ms: 1_000 } })
    const [one = '', two = ''] = people(2)
    expect(send({ to: one })).toEqual(arrives)
    expect(send({ to: two, atMs: 999 })).toBe(131048)
    expect(send({ to: two, atMs: 1_000 })).toEqual(arrives)
    expect(scheduled).toMatchObject([
      { field: 'business_capability_update', value: { max_daily_conversations_per_business: 2 }, dueMs: start + 1_000 },
    ])
  })
})

describe('quality', () => {
  test('of a template falls with each block, until it is paused', () => {
    const { send, scheduled, events } = portfolioWith({ quality: { blocks: 1, pauses_template_at: 3 } })
    for (const to of people(3)) expect(send({ to })).toEqual(arrives)
    expect(scheduled.map(({ value }) => value.new_quality_score ?? value.event)).toEqual(['YELLOW', 'RED', 'PAUSED'])
    expect(scheduled.every(({ dueMs }) => dueMs === start + 300)).toBe(true)
    expect(send({ atMs: 299 })).toEqual(arrives)
    expect(send({ atMs: 300 })).toBe(132015)
    expect(events().filter((event) => event === 'pauses_template')).toHaveLength(1)
  })

  test('of a number refuses all that it sends for a while, and nothing of another number', () => {
    const { send, scheduled } = portfolioWith({
      quality: { blocks: 1, holds_number_back_at: 2, holds_number_back_ms: 1_000 },
    })
    for (const to of people(2)) send({ to })
    expect(send({ atMs: 300 })).toBe(131048)
    expect(send({ atMs: 300, template: CODE })).toBe(131048)
    expect(send({ atMs: 300, from: '2' })).toEqual(arrives)
    expect(send({ atMs: 1_300 })).toEqual(arrives)
    expect(scheduled.map(({ value, dueMs }) => [value.event, dueMs - start])).toEqual([
      ['FLAGGED', 300],
      ['UNFLAGGED', 1_300],
    ])
  })
})

test('throughput belongs to a number, and is raised after a set count of messages', () => {
  const { send, scheduled } = portfolioWith({ throughput: { rate: 2, raised_after: 4 } })
  expect([send(), send(), send()]).toEqual([arrives, arrives, 130429])
  expect(send({ from: '2' })).toEqual(arrives)
  expect([send({ atMs: 1_000 }), send({ atMs: 1_000 }), send({ atMs: 1_000 })]).toEqual([arrives, arrives, arrives])
  expect(scheduled).toMatchObject([{ field: 'phone_number_quality_update', value: { event: 'THROUGHPUT_UPGRADE' } }])
})

test('maintenance closes a number once', () => {
  const { send } = portfolioWith({ maintenance: { after: 1, for_ms: 1_000 } })
  expect(send()).toEqual(arrives)
  expect(send({ atMs: 100 })).toBe(131057)
  expect(send({ atMs: 100, from: '2' })).toEqual(arrives)
  expect(send({ atMs: 1_099 })).toBe(131057)
  expect(send({ atMs: 1_100 })).toEqual(arrives)
})

test('plans in which two portfolios share a number are refused', () => {
  const plan = { waba_id: '1', senders: ['1'] }
  expect(plansSchema.safeParse([plan, { ...plan, waba_id: '2' }]).success).toBe(false)
  expect(plansSchema.safeParse([plan, { waba_id: '2', senders: ['2'] }]).success).toBe(true)
  expect(planSchema.safeParse({ ...plan, budget: { people: 1, raised_to: 2 } }).success).toBe(false)
})
