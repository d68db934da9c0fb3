// Pins: why a lane does not send is told by the first reason that holds, in a sentence, and trouble comes first.
import { describe, expect, test } from 'vitest'
import {
  byTrouble,
  drainSeconds,
  LANE_STATES,
  type LaneFacts,
  laneState,
  secondsToGo,
} from '../../src/telemetry/lane-state.ts'

const idle: LaneFacts = {
  ...{
    waiting: 0,
    inFlight: 0,
    rate: 80,
    isPaused: false,
    pausedFor: '',
    pausedBy: '',
    pausedAt: 0,
    cooldown: undefined,
  },
  ...{ resting: undefined, waitingFirst: 0 },
  ...{ workers: 1, isRedisFull: false, sameHeadMs: 0, paceUsed: 0 },
}
const busy: LaneFacts = { ...idle, waiting: 100, inFlight: 3 }
const resting = { until: 9_000, sentence: 'held' }
const cooldown = { until: 5_000, code: '130429', sentence: 'too fast' }

describe('a lane', () => {
  test.each<[string, Partial<LaneFacts>, object]>([
    ['with nothing to do is idle', idle, { state: 'idle', reason: null }],
    ['with something in flight is sending', { ...idle, inFlight: 1 }, { state: 'sending', reason: null }],
    ['whose pace has room is sending', { ...busy, paceUsed: 0.5 }, { state: 'sending' }],
    ['whose pace is used up waits for it', { ...busy, paceUsed: 0.97 }, { state: 'waiting_for_pace' }],
    ['is paused by somebody for something', { isPaused: true, pausedFor: 'night', pausedBy: 'Ada' }, { by: 'Ada' }],
    [
      'that is paused says so also when idle',
      { isPaused: true },
      { state: 'paused', reason: null, by: null, since: null },
    ],
    ['is paused since a time', { isPaused: true, pausedAt: 4_000 }, { since: '1970-01-01T00:00:04.000Z' }],
    ['that runs is paused since no time', { pausedAt: 4_000 }, { state: 'idle', since: null }],
    ['is in a cooldown until a time', { ...busy, cooldown }, { state: 'cooldown', until: '1970-01-01T00:00:05.000Z' }],
    ['tells what began its cooldown', { ...busy, cooldown }, { reason: 'too fast (130429)' }],
    ['without a worker does not send', { ...busy, workers: 0 }, { state: 'no_worker' }],
    ['without a worker and without work is idle', { workers: 0 }, { state: 'idle' }],
    ['on a full Redis without work is idle', { isRedisFull: true }, { state: 'idle' }],
    ['whose pace was used up by what has left is idle', { paceUsed: 0.97 }, { state: 'idle' }],
    ['on which nothing waits any more is not stuck', { sameHeadMs: 31_000 }, { state: 'idle' }],
    ['without a pace is stuck some day', { ...busy, inFlight: 0, rate: 0, sameHeadMs: 3_000_001 }, { state: 'stuck' }],
    ['on a full Redis does not send', { ...busy, isRedisFull: true }, { state: 'redis_full' }],
    [
      'that nothing holds and nothing leaves is stuck',
      { ...busy, inFlight: 0, sameHeadMs: 31_000 },
      { state: 'stuck' },
    ],
    [
      'whose campaigns rest is not stuck',
      { ...busy, inFlight: 0, sameHeadMs: 31_000, resting },
      { state: 'resting', reason: 'held', until: '1970-01-01T00:00:09.000Z' },
    ],
    ['whose campaigns rest sends other messages', { ...busy, waitingFirst: 1, resting }, { state: 'sending' }],
    ['with something in flight is not stuck', { ...busy, sameHeadMs: 31_000 }, { state: 'sending' }],
    [
      'that sends once a minute has three minutes',
      { ...busy, inFlight: 0, rate: 1 / 60, sameHeadMs: 170_000 },
      { state: 'sending' },
    ],
    [
      'that is paused is nothing else',
      { ...busy, isPaused: true, workers: 0, isRedisFull: true, cooldown },
      { state: 'paused' },
    ],
    [
      'that a full Redis holds does not wait for workers',
      { ...busy, workers: 0, isRedisFull: true },
      { state: 'redis_full' },
    ],
  ])('%s', (_about, facts, said) => {
    expect(laneState({ ...idle, ...facts })).toMatchObject(said)
  })

  test('needs as long as its pace gives', () => {
    expect(drainSeconds({ waiting: 0, rate: 80 })).toBeNull()
    expect(drainSeconds({ waiting: 81, rate: 80 })).toBe(2)
    expect(drainSeconds({ waiting: 5, rate: 0.1 })).toBe(50)
    expect(drainSeconds({ waiting: 5, rate: 0 })).toBeNull()
  })

  test('in trouble is listed first, then the one whose messages wait longest', () => {
    const lanes = LANE_STATES.map((state, i) => ({ sender: i, state, oldest_s: null }))
    expect([...lanes].reverse().sort(byTrouble)).toEqual(lanes)
    const [a, b] = [
      { sender: 1, state: 'sending' as const, oldest_s: 3 },
      { sender: 2, state: 'sending' as const, oldest_s: 9 },
    ]
    expect([a, b].sort(byTrouble)).toEqual([b, a])
    expect([b, { ...b, sender: 1 }].sort(byTrouble).map(({ sender }) => sender)).toEqual([1, 2])
  })
})

test('the time left is computed from the rate at which a lane sends, not from its pace', () => {
  const now = Date.parse('2026-11-23T10:00:00Z')
  const lane = {
    state: 'sending' as const,
    waiting: { transactional: 588, campaign: 0 },
    drain_s: 8,
    sent_per_s: 10.1,
    until: null,
  }
  expect(secondsToGo(lane, now)).toEqual({ seconds: 59, at: 'this rate' })
  // A rate is of the last ten seconds, and may be above a pace that was lowered since.
  expect(secondsToGo({ ...lane, sent_per_s: 100 }, now)).toEqual({ seconds: 8, at: 'this rate' })
  expect(secondsToGo({ ...lane, sent_per_s: 0 }, now)).toEqual({ seconds: 8, at: 'its full pace' })
  expect(secondsToGo({ ...lane, state: 'paused' }, now)).toEqual({ seconds: 8, at: 'its full pace' })
  // What was sent before a cooldown says nothing of what is sent after it.
  const cooling = { ...lane, state: 'cooldown' as const, until: '2026-11-23T10:05:00Z' }
  expect(secondsToGo(cooling, now)).toEqual({ seconds: 308, at: 'its full pace' })
  expect(secondsToGo({ ...lane, drain_s: null }, now)).toBeNull()
})
