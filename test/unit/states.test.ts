// Pins: the life of a message goes along the arrows only, proof is never undone, and nothing is sent under two attempts.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { State } from '../../src/model/messages/lifecycle.ts'
import { FRESH, type Progress, type Step, step as take } from '../model/message-lifecycle.ts'
import { ATTEMPTS, evidence, evidenceStep, progress, step } from '../support/step-arbitraries.ts'

const ARROWS: Readonly<Record<State, readonly State[]>> = {
  queued: ['sending', 'expired', 'cancelled', 'sent', 'delivered', 'read', 'failed'],
  sending: ['queued', 'failed', 'unconfirmed', 'sent', 'delivered', 'read'],
  unconfirmed: ['sent', 'delivered', 'read', 'failed', 'queued', 'unknown'],
  sent: ['delivered', 'read', 'failed'],
  delivered: ['read'],
  read: [],
  failed: ['sent', 'delivered', 'read', 'queued'],
  expired: ['sent', 'delivered', 'read', 'queued'],
  cancelled: ['sent', 'delivered', 'read', 'queued'],
  unknown: ['sent', 'delivered', 'read', 'failed', 'queued'],
}
const RANK: Partial<Record<State, number>> = { sent: 1, delivered: 2, read: 3 }
const rank = (state: State): number => RANK[state] ?? 0

const run = (steps: readonly Step[], from: Progress = FRESH): Progress =>
  steps.reduce((now, each) => take(now, each).progress, from)
const life = fc.array(step, { maxLength: 30 })
const MANY = { numRuns: 2_000 }

describe('any life', () => {
  test('follows the arrows only, and an ignored step changes nothing', () => {
    fc.assert(
      fc.property(progress, step, (before, each) => {
        const { progress: after, verdict } = take(before, each)
        if (verdict === 'ignored') expect(after).toEqual(before)
        else if (after.state !== before.state) expect(ARROWS[before.state]).toContain(after.state)
      }),
      MANY,
    )
  })

  test('uses every arrow', () => {
    const seen = new Set<string>()
    fc.assert(
      fc.property(progress, step, (before, each) => {
        seen.add(`${before.state} ${take(before, each).progress.state}`)
      }),
      { numRuns: 50_000 },
    )
    const unused = Object.entries(ARROWS).flatMap(([from, tos]) =>
      tos.map((to) => `${from} ${to}`).filter((arrow) => !seen.has(arrow)),
    )
    expect(unused).toEqual([])
  })

  test('is the same when a step is taken twice, as when Redis gets a command again', () => {
    fc.assert(
      fc.property(progress, step, (before, each) => {
        const once = take(before, each).progress
        expect(take(once, each).progress).toEqual(once)
      }),
      MANY,
    )
  })
})

describe('sending', () => {
  test('is allowed to one attempt at a time: another claim stops it and sends nothing', () => {
    fc.assert(
      fc.property(progress, step, (before, each) => {
        const { progress: after, verdict } = take(before, each)
        if (before.state === 'sending' && after.state === 'sending') expect(after.attempt).toBe(before.attempt)
        const maySend = each.kind === 'claim' && verdict === 'done' && after.state === 'sending'
        if (!maySend) return
        expect(after.attempt).toBe(each.attempt)
        if (before.state !== 'queued') expect(before).toEqual(after)
      }),
      MANY,
    )
  })

  test('is never allowed past the validity', () => {
    fc.assert(
      fc.property(life, (steps) => {
        const before = run(steps)
        const { progress: after } = take(before, { kind: 'claim', attempt: 'DDDDDD', expired: true })
        expect(after.attempt).toBe(before.attempt)
        if (before.state === 'queued') expect(after.state).toBe('expired')
      }),
      MANY,
    )
  })
})

describe('proof', () => {
  test('of delivery or reading is never undone', () => {
    fc.assert(
      fc.property(progress, life, (before, steps) => {
        const after = run(steps, before)
        if (rank(before.state) >= 2) expect(rank(after.state)).toBeGreaterThanOrEqual(rank(before.state))
      }),
      MANY,
    )
  })

  test('of sending, delivery or reading leads at least that far from every state', () => {
    fc.assert(
      fc.property(progress, evidenceStep, (before, each) => {
        if (each.status === 'failed') return
        const after = take(before, each).progress
        const isOfFailed = before.state === 'failed' && before.attempt === each.attempt
        const isOutOfOrder = isOfFailed || before.others.includes(`f${each.attempt}`)
        if (each.status === 'sent' && isOutOfOrder) expect(after).toEqual(before)
        else expect(rank(after.state)).toBeGreaterThanOrEqual(rank(each.status))
      }),
      MANY,
    )
  })

  test('of failure of one attempt decides nothing about another', () => {
    fc.assert(
      fc.property(progress, evidenceStep, (before, each) => {
        if (each.status !== 'failed' || each.attempt === before.attempt) return
        expect(take(before, each).progress).toEqual({ ...before, others: expect.any(String) })
      }),
      MANY,
    )
  })

  test('about one attempt ends in one state, in any order and however often it comes', () => {
    const told = fc.array(evidence, { minLength: 1, maxLength: 4 }).chain((all) =>
      fc.tuple(
        fc.constant(all),
        fc.shuffledSubarray([...all, ...all, ...all], { minLength: all.length }).filter((some) => {
          return all.every((each) => some.includes(each))
        }),
      ),
    )
    const open = fc.constantFrom<State>('sending', 'unconfirmed', 'unknown', 'queued')
    fc.assert(
      fc.property(open, told, (state, [all, again]) => {
        const from = { ...FRESH, state, attempt: 'AAAAAA' }
        const steps = (statuses: readonly (typeof all)[number][]) =>
          statuses.map((status) => ({ kind: 'status' as const, attempt: 'AAAAAA', status }))
        expect(run(steps(again), from)).toEqual(run(steps(all), from))
      }),
      MANY,
    )
  })

  test('about two attempts, of which one failed, does not alternate when it comes again', () => {
    const about = fc.array(
      fc.constantFrom(
        { kind: 'status' as const, attempt: 'AAAAAA', status: 'sent' as const },
        { kind: 'status' as const, attempt: 'BBBBBB', status: 'sent' as const },
        { kind: 'status' as const, attempt: 'BBBBBB', status: 'failed' as const },
      ),
      { minLength: 1, maxLength: 6 },
    )
    fc.assert(
      fc.property(fc.constantFrom<State>('sending', 'unconfirmed', 'unknown'), about, (state, told) => {
        const settled = run([...told, ...told], { ...FRESH, state, attempt: 'BBBBBB', repeats: 1 })
        for (const each of told) expect(take(settled, each).verdict).toBe('ignored')
      }),
      MANY,
    )
  })
})

describe('proof about two attempts', () => {
  const [OLDER, LATEST] = ['AAAAAA', 'BBBBBB']
  const all = [OLDER, LATEST].flatMap((attempt) =>
    (['sent', 'failed'] as const).map((status) => ({ kind: 'status' as const, attempt, status })),
  )
  const open = ['sending', 'unconfirmed', 'unknown'] as const

  /** What people are told in the end, when nothing more is heard: of a repeated message a failure is no certainty. */
  function endOf(state: State, told: readonly Step[]) {
    const end = run(
      [
        ...told,
        { kind: 'unconfirmed', attempt: LATEST },
        { kind: 'resolve', attempt: LATEST, policy: 'once', expired: false, maxTries: 3 },
      ],
      { ...FRESH, state, attempt: LATEST, repeats: 1 },
    )
    return end.state === 'failed' ? 'unknown' : end.state
  }

  const permutations = <T>(items: readonly T[]): T[][] =>
    items.length === 0
      ? [[]]
      : items.flatMap((item, i) => permutations(items.toSpliced(i, 1)).map((rest) => [item, ...rest]))
  const subsets = <T>(items: readonly T[]): T[][] =>
    Array.from({ length: 2 ** items.length }, (_, bits) => items.filter((_item, i) => (bits & (1 << i)) !== 0))

  test('ends in one state, in every order of every set of it: sent, as long as one is sent and has not failed', () => {
    for (const state of open) {
      for (const set of subsets(all)) {
        const has = (attempt: string, status: string) =>
          set.some((each) => each.attempt === attempt && each.status === status)
        const isSent = [OLDER, LATEST].some((each) => has(each, 'sent') && !has(each, 'failed'))
        for (const told of permutations(set)) expect(endOf(state, told)).toBe(isSent ? 'sent' : 'unknown')
      }
    }
  })

  test('ends in one state also with deliveries, with repeats, and with three attempts', () => {
    const step = evidenceStep
    const told = fc.array(step, { minLength: 1, maxLength: 8 })
    const shuffled = told.chain((steps) =>
      fc.tuple(
        fc.constant(steps),
        fc.shuffledSubarray([...steps, ...steps], { minLength: 2 * steps.length, maxLength: 2 * steps.length }),
      ),
    )
    fc.assert(
      fc.property(fc.constantFrom(...open), shuffled, (state, [one, another]) => {
        expect(endOf(state, another)).toBe(endOf(state, one))
      }),
      { numRuns: 20_000 },
    )
  })

  test('is failed when the attempt that counts has failed and no other is known to be sent', () => {
    const from: Progress = { ...FRESH, state: 'sent', attempt: LATEST, others: `s${OLDER}` }
    const failed = (attempt: string) => ({ kind: 'status', attempt, status: 'failed' }) as const
    expect(run([failed(LATEST)], from)).toMatchObject({ state: 'sent', attempt: OLDER })
    for (const told of permutations([failed(LATEST), failed(OLDER)])) expect(run(told, from).state).toBe('failed')
  })

  test('is not failed again by a repeat of the failure after which a person requeued it', () => {
    const failed = { kind: 'status', attempt: OLDER, status: 'failed' } as const
    const from = run([failed, { kind: 'requeue' }], { ...FRESH, state: 'sending', attempt: OLDER })
    expect(take(from, failed)).toEqual({ progress: from, verdict: 'ignored' })
    expect(run([failed, { kind: 'claim', attempt: LATEST, expired: false }, failed], from).state).toBe('sending')
  })
})

describe('tries', () => {
  test('are not used up by throttling, which never fails a message either', () => {
    fc.assert(
      fc.property(progress, fc.integer({ min: 1, max: 3 }), (before, maxTries) => {
        const { attempt, tries } = before
        const { progress: after, verdict } = take(before, { kind: 'not_sent', attempt, counts: false, maxTries })
        expect(after.tries).toBe(tries)
        if (verdict === 'done') expect(after.state).toBe('queued')
      }),
      MANY,
    )
  })

  test('end as failed when the last one is proven unsent', () => {
    const sending: Progress = { state: 'sending', attempt: 'AAAAAA', tries: 1, repeats: 0, others: '' }
    const unsent = { kind: 'not_sent', attempt: 'AAAAAA', counts: true } as const
    expect(take(sending, { ...unsent, maxTries: 3 }).progress).toMatchObject({ state: 'queued', tries: 2 })
    expect(take(sending, { ...unsent, maxTries: 2 }).progress).toMatchObject({ state: 'failed', tries: 2 })
  })

  test('under at_least_once are repeated once at most, and flagged', () => {
    fc.assert(
      fc.property(progress, fc.constantFrom(...ATTEMPTS), (before, attempt) => {
        const resolve = { kind: 'resolve', attempt, policy: 'once', expired: false, maxTries: 3 } as const
        const { progress: after } = take(before, resolve)
        if (before.state !== 'unconfirmed' || before.attempt !== attempt) expect(after).toEqual(before)
        else if (before.repeats > 0) expect(after).toEqual({ ...before, state: 'unknown' })
        else expect(after).toEqual({ ...before, state: 'queued', repeats: 1 })
      }),
      MANY,
    )
  })

  test('on an upstream that keeps our key are repeated unflagged, as long as there are tries', () => {
    const lost: Progress = { state: 'unconfirmed', attempt: 'AAAAAA', tries: 1, repeats: 0, others: '' }
    const safe = { kind: 'resolve', attempt: 'AAAAAA', policy: 'safe', expired: false } as const
    expect(take(lost, { ...safe, maxTries: 3 }).progress).toEqual({ ...lost, state: 'queued', tries: 2 })
    expect(take(lost, { ...safe, maxTries: 2 }).progress).toEqual({ ...lost, state: 'unknown', tries: 2 })
  })

  test('end with the validity', () => {
    fc.assert(
      fc.property(fc.constantFrom('never' as const, 'once' as const, 'safe' as const), (policy) => {
        const lost: Progress = { state: 'unconfirmed', attempt: 'AAAAAA', tries: 0, repeats: 0, others: '' }
        const resolve = { kind: 'resolve', attempt: 'AAAAAA', policy, expired: true, maxTries: 3 } as const
        expect(take(lost, resolve).progress.state).toBe('unknown')
      }),
    )
  })

  test('under at_most_once are never repeated', () => {
    fc.assert(
      fc.property(progress, fc.boolean(), (before, expired) => {
        const { attempt } = before
        const { progress: after } = take(before, { kind: 'resolve', attempt, policy: 'never', expired, maxTries: 3 })
        expect(after.repeats).toBe(before.repeats)
        expect(after.state).toBe(before.state === 'unconfirmed' ? 'unknown' : before.state)
      }),
      MANY,
    )
  })

  test('of an unknown message that a person requeues are flagged', () => {
    const unknown: Progress = { state: 'unknown', attempt: 'AAAAAA', tries: 2, repeats: 0, others: '' }
    const again = { state: 'queued', attempt: 'AAAAAA', tries: 0, repeats: 1, others: '' }
    expect(take(unknown, { kind: 'requeue' })).toEqual({ verdict: 'done', progress: again })
    for (const state of ['failed', 'expired', 'cancelled'] as const) {
      expect(take({ ...unknown, state }, { kind: 'requeue' }).progress).toMatchObject({ state: 'queued', repeats: 0 })
    }
  })
})
