// Steps of a message's life for property tests: what may happen to it, in any order, with few enough attempts that
// steps meet one another.
import fc from 'fast-check'
import { type Evidence, STATES } from '../../src/model/messages/lifecycle.ts'
import type { Progress, Step } from '../model/message-lifecycle.ts'

/** Attempt ids; three are enough for a latest one, an older one and one that nobody has claimed. */
export const ATTEMPTS = ['AAAAAA', 'BBBBBB', 'CCCCCC'] as const

const attempt = fc.constantFrom(...ATTEMPTS)
const maxTries = fc.integer({ min: 1, max: 3 })

export const evidence: fc.Arbitrary<Evidence> = fc.constantFrom('sent', 'delivered', 'read', 'failed')

export const evidenceStep: fc.Arbitrary<Extract<Step, { kind: 'status' }>> = fc.record({
  kind: fc.constant('status' as const),
  attempt,
  status: evidence,
})

/** Any step, claims and evidence more often than the rest. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('claim' as const), attempt, expired: rarely() }) },
  { weight: 3, arbitrary: evidenceStep },
  {
    weight: 3,
    arbitrary: fc.record({ kind: fc.constant('not_sent' as const), attempt, counts: fc.boolean(), maxTries }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('unconfirmed' as const), attempt }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('resolve' as const),
      attempt,
      policy: fc.constantFrom('never' as const, 'once' as const, 'safe' as const),
      expired: rarely(),
      maxTries,
    }),
  },
  { weight: 1, arbitrary: fc.constant({ kind: 'cancel' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'give_up' as const }) },
  { weight: 2, arbitrary: fc.constant({ kind: 'requeue' as const }) },
)

/**
 * Any progress, also one that no life leads to; but only of a message that is `sent` another attempt is known to be sent.
 */
export const progress: fc.Arbitrary<Progress> = fc
  .record({
    state: fc.constantFrom(...STATES),
    attempt,
    tries: fc.integer({ min: 0, max: 3 }),
    repeats: fc.integer({ min: 0, max: 2 }),
    known: fc.subarray([...ATTEMPTS]).chain((known) => fc.tuple(...known.map((each) => letterBefore(each)))),
  })
  .map(({ known, ...rest }) => {
    const isPossible = (entry: string) => !entry.endsWith(rest.attempt) && (rest.state === 'sent' || entry[0] === 'f')
    return { ...rest, others: known.filter(isPossible).join(',') }
  })

function letterBefore(id: string): fc.Arbitrary<string> {
  return fc.constantFrom('s', 'f').map((letter) => letter + id)
}

function rarely(): fc.Arbitrary<boolean> {
  return fc.integer({ min: 0, max: 5 }).map((die) => die === 0)
}
