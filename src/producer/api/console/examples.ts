// A session, a snapshot and a series as the examples show them.
import type { Snapshot } from '../../../telemetry/snapshot.ts'

export const exampleSession = {
  key_name: 'Ada',
  account: { id: 1, name: 'shop' },
  operator: false,
  permissions: ['messages:send', 'messages:read'],
  senders: null,
  default_sender: true,
  expires_at: '2026-11-22T21:00:00.000Z',
}

export const exampleSnapshot = {
  at: '2026-11-22T09:00:00.000Z',
  totals: {
    ...{ accepted_per_s: 120, sent_per_s: 79.6, delivered_per_s: 75.2, failed_per_s: 0.4 },
    ...{ waiting: 1_240, oldest_waiting_s: 15.5, unconfirmed: 2 },
  },
  lanes: [
    {
      ...{ sender: 1, name: 'shop', account: 1, state: 'waiting_for_pace', by: null, until: null, drain_s: 16 },
      reason: 'All of its pace is used: 80 messages a second.',
      waiting: { transactional: 40, campaign: 1_200 },
      ...{ oldest_s: 15.5, rate_per_s: 80, sent_per_s: 79.6, dead_letters: 0, in_flight: 25 },
      ...{ answer_p50_s: 0.3, answer_p99_s: 0.49, bound: 'pace' },
      spark: Array.from({ length: 30 }, (_, i) => (i < 20 ? 0 : 79.6)),
    },
  ],
  lanes_total: 1,
  campaigns: [
    {
      ...{ id: 'cmp_1_7', name: 'Winter', account: 1, state: 'running', total: 10_000, queued: 8_000, sending: 9 },
      ...{ sent: 150, delivered: 1_700, read: 120, failed: 19, expired: 0, cancelled: 0, unconfirmed: 2, unknown: 0 },
      ...{ refused: 31, rate_per_s: 70.5, eta_s: 114, paused_for: null, throttle: null },
    },
  ],
  failures: [{ code: '131026', meaning: 'the message cannot be delivered to this recipient', count: 19 }],
  workers: [
    {
      ...{ id: 'host-1-0a1b2c3d', host: 'host', pid: 1, started_at: '2026-11-21T10:00:00.000Z' },
      ...{ version: '0.1.0', lanes: 2, in_flight: 25, max_in_flight: 6_000, seen_s: 1.2 },
    },
  ],
  lost_workers: [],
  redis: {
    ...{ used_bytes: 52_428_800, max_bytes: null },
    safety: [{ name: 'appendonly', ok: true, sentence: 'Redis has appendonly yes.' }],
  },
} satisfies Snapshot

export const exampleSeries = {
  step_s: 10,
  points: [
    {
      at: '2026-11-22T09:00:00.000Z',
      ...{ accepted: 1_200, sent: 796, delivered: 752, read: 40, failed: 4, unknown: 0 },
      ...{ waiting: 1_240, oldest_s: 15 },
    },
  ],
}
