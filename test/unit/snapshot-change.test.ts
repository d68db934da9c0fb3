// Pins: a change told to a page makes of the snapshot before exactly the one after, and is told of no other one.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Snapshot, SnapshotCampaign, SnapshotLane } from '../../src/telemetry/snapshot.ts'
import { changed, changeOf } from '../../src/telemetry/snapshot-change.ts'

const lane = (sender: number, more: Partial<SnapshotLane> = {}): SnapshotLane => ({
  ...{
    sender,
    name: `sender ${sender}`,
    account: 1,
    state: 'sending',
    reason: null,
    by: null,
    since: null,
    until: null,
    drain_s: null,
  },
  waiting: { transactional: 0, campaign: 0 },
  ...{ oldest_s: null, rate_per_s: 80, sent_per_s: 0, spark: [0, 0, 0], dead_letters: 0, in_flight: 0 },
  ...{ answer_p50_s: null, answer_p99_s: null, bound: 'nothing', campaigns_wait: null },
  ...more,
})
const campaign = (id: string, queued: number): SnapshotCampaign => ({
  ...{
    id,
    name: null,
    account: 1,
    state: 'running',
    total: 9,
    queued,
    sending: 0,
    sent: 9 - queued,
    delivered: 0,
    read: 0,
    delivered_total: 0,
    replied: 0,
    capped: 0,
    held: 0,
    waits: null,
  },
  ...{ failed: 0, expired: 0, cancelled: 0, unconfirmed: 0, unknown: 0, refused: 0, rate_per_s: 0, eta_s: null },
  ...{ paused_for: null, throttle: null },
})
const snapshot = (at: string, more: Partial<Snapshot> = {}): Snapshot => ({
  at,
  totals: {
    ...{ accepted_per_s: 0, sent_per_s: 0, delivered_per_s: 0, failed_per_s: 0, waiting: 0 },
    ...{ oldest_waiting_s: null, unconfirmed: 0 },
  },
  ...{ lanes: [], lanes_total: 0, campaigns: [], failures: [], workers: [], lost_workers: [] },
  node_problems: [],
  redis: { used_bytes: 1, max_bytes: null, safety: [] },
  ...more,
})

/** As it is after it was sent. */
const sent = <T>(value: T): T => JSON.parse(JSON.stringify(value))

const rows = fc.uniqueArray(
  fc.record({
    sender: fc.integer({ min: 1, max: 6 }),
    waits: fc.nat(3),
    sparks: fc.array(fc.nat(2), { maxLength: 3 }),
  }),
  { selector: ({ sender }) => sender },
)
const lanesOf = (some: { sender: number; waits: number; sparks: number[] }[]): SnapshotLane[] =>
  some.map(({ sender, waits, sparks }) =>
    lane(sender, {
      waiting: { transactional: waits, campaign: 0 },
      spark: sparks,
      until: waits === 1 ? '2026-11-22T10:00:00.000Z' : null,
    }),
  )

test('a change turns a snapshot into the next one, whatever came, went, moved or changed', () => {
  fc.assert(
    fc.property(rows, rows, fc.nat(9), fc.nat(9), (before, after, one, other) => {
      const from = snapshot('a', { lanes: lanesOf(before), campaigns: [campaign('cmp_1_1', one)], lanes_total: one })
      const to = snapshot('b', { lanes: lanesOf(after), campaigns: [campaign('cmp_1_1', other)], lanes_total: other })
      expect(changed(from, sent(changeOf(from, to)))).toEqual(to)
    }),
  )
})

test('only the changed fields of a lane are sent, and nothing of unchanged lanes', () => {
  const before = snapshot('a', { lanes: [lane(1), lane(2)], lanes_total: 2 })
  const after = snapshot('b', { lanes: [lane(1), lane(2, { in_flight: 3 })], lanes_total: 2 })
  expect(changeOf(before, after)).toEqual({ from: 'a', at: 'b', lanes: { rows: { 2: { in_flight: 3 } } } })
  expect(changeOf(before, snapshot('b', { lanes: [lane(1), lane(2)], lanes_total: 2 }))).toEqual({ from: 'a', at: 'b' })
})

test('a change made for another snapshot is not applied', () => {
  const change = changeOf(snapshot('a'), snapshot('b'))
  expect(changed(snapshot('other'), change)).toBeUndefined()
})
