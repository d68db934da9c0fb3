// The judge of `npm run prove`: every way of breaking the promise is found, and nothing else.
import { expect, test } from 'vitest'
import { type Case, judge } from '../prove/checker.ts'

/** One message, accepted as `m1`, sent once, and its lookup says so. */
const kept: Case = {
  requests: [{ to: '49', ids: ['m1'] }],
  ledger: [{ to: '49', id: 'm1' }],
  states: new Map([['m1', 'read']]),
  possibleDuplicates: new Set(),
  refusedLater: new Set(),
  flagsEarned: 0,
}
const judged = (change: Partial<Case>) => judge({ ...kept, ...change })
const state = (word: string) => new Map([['m1', word]])
const twice = [...kept.ledger, ...kept.ledger]

test('a message that was sent once and is reported so breaks nothing', () => {
  expect(judged({})).toMatchObject({ accepted: 1, inLedger: 1, flagged: [], violations: [] })
})

test.each(['queued', 'sending', 'sent', 'delivered', 'missing', 'no answer'])(
  'an accepted message that is not in the ledger and is reported as %s is lost silently',
  (word) => {
    const { lostSilently, violations } = judged({ ledger: [], states: state(word) })
    expect(lostSilently).toEqual(['49'])
    expect(violations).not.toEqual([])
  },
)

test.each(['queued', 'sending'])('one reported as %s while others are still being sent is late, not lost', (word) => {
  const late = judged({ ledger: [], states: state(word), atWork: true })
  expect(late).toMatchObject({ lostSilently: [], unsettled: [`49 ${word}`] })
  expect(late.violations).toEqual([])
})

test('one unknown to the service is lost, also while others are still being sent', () => {
  expect(judged({ states: new Map(), atWork: true }).violations).toHaveLength(1)
})

test.each(['sent', 'delivered', 'missing', 'no answer'])('one reported as %s is lost even then', (word) => {
  expect(judged({ ledger: [], states: state(word), atWork: true }).lostSilently).toEqual(['49'])
})

test.each(['failed', 'expired', 'cancelled'])('one not in the ledger and reported as %s breaks nothing', (word) => {
  expect(judged({ ledger: [], states: state(word) }).violations).toEqual([])
})

test('one that is not in the ledger and is unknown is flagged, and needs a cause for the flag', () => {
  const given = { ledger: [], states: state('unknown') }
  expect(judged({ ...given, flagsEarned: 1 })).toMatchObject({ lostSilently: [], flagged: ['49'], violations: [] })
  expect(judged(given).violations).toEqual(['1 flagged, but only 0 can have earned it'])
})

test('a message in the ledger twice is sent twice silently unless it is flagged', () => {
  expect(judged({ ledger: twice })).toMatchObject({ sentTwiceSilently: ['49'], sentTwice: ['49'] })
  const flagged = judged({ ledger: twice, possibleDuplicates: new Set(['m1']), flagsEarned: 1 })
  expect(flagged).toMatchObject({ sentTwiceSilently: [], sentTwice: ['49'], violations: [] })
})

test('a recipient who got two messages under two ids got it twice, whatever the ids', () => {
  const ledger = [
    { to: '49', id: 'm1' },
    { to: '49', id: 'm2' },
  ]
  expect(judged({ ledger }).sentTwiceSilently).toEqual(['49'])
  // The flag of either message is a flag of the case.
  expect(judged({ ledger, possibleDuplicates: new Set(['m2']), flagsEarned: 1 }).violations).toEqual([])
})

test('two ids for one Idempotency-Key break the promise even when it was sent once', () => {
  expect(judged({ requests: [{ to: '49', ids: ['m1', 'm2'] }] }).violations).toHaveLength(1)
  expect(judged({ requests: [{ to: '49', ids: ['m1', 'm1'] }] }).violations).toEqual([])
})

test('a request without an answer is not an accepted message, but may have been sent, once', () => {
  const requests = [{ to: '49', ids: [] }]
  expect(judged({ requests, ledger: [] })).toMatchObject({ accepted: 0, violations: [] })
  expect(judged({ requests }).violations).toEqual([])
  expect(judged({ requests, ledger: twice }).sentTwiceSilently).toEqual(['49'])
})

test('a message to somebody to whom nothing was sent is invented', () => {
  expect(judged({ ledger: [...kept.ledger, { to: '50', id: undefined }] }).invented).toEqual(['50'])
})

test.each(['failed', 'expired', 'cancelled'])('a message in the ledger but reported as %s contradicts it', (word) => {
  expect(judged({ states: state(word) }).contradictions).toEqual([`49 ${word}`])
})

test('one that WhatsApp accepted and reported as failed later does not', () => {
  expect(judged({ states: state('failed'), refusedLater: new Set(['49']) }).violations).toEqual([])
})

test.each(['queued', 'sending', 'unconfirmed'])('a message still reported as %s at the end is not settled', (word) => {
  expect(judged({ states: state(word), flagsEarned: 1 }).unsettled).toEqual([`49 ${word}`])
})
