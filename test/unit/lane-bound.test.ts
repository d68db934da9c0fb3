// Pins: what bounds a lane, as one worker sees it, as several see it together, and as it is told to people and metrics.
import { describe, expect, test } from 'vitest'
import { Bell } from '../../src/kernel/bell.ts'
import { paceOf } from '../../src/model/messages/pace.ts'
import type { KnownWorker, ServedLane } from '../../src/redis/heartbeats.ts'
import { boundOf, boundSentence, LANE_BOUNDS, servedLanes } from '../../src/telemetry/lane-bound.ts'
import { LANE_MEASURES, type LaneGauges, labelled, textOfMeasure } from '../../src/telemetry/lane-measures.ts'
import {
  boundHere,
  createInFlightLimits,
  type InFlightLimit,
  type LaneHere,
} from '../../src/worker/sending/in-flight-limit.ts'
import { readPage, tableUnder } from '../support/pages.ts'

describe('in one worker', () => {
  const free: LaneHere = {
    ...{ running: 20, inFlight: 50, limit: 200, most: 6_000, wanted: 200 },
    ...{ gapMs: 12.5, freeSlotInMs: -1_000 },
  }
  test.each<[string, Partial<LaneHere>, string | undefined]>([
    ['with room and free slots is not bound', {}, undefined],
    ['whose next slot is free at once is not bound', { freeSlotInMs: 12 }, undefined],
    ['that has claimed what its pace lets out next is bound by it', { freeSlotInMs: 80 }, 'pace'],
    ['that sends once a second is bound until the next second comes', { gapMs: 1_000, freeSlotInMs: 600 }, 'pace'],
    ['that sends once a second is not bound when that comes', { gapMs: 1_000, freeSlotInMs: 60 }, undefined],
    ['whose worker is full is bound by memory', { inFlight: 6_000 }, 'memory'],
    ['with nothing in flight on a full worker is bound by memory', { running: 0, inFlight: 6_000 }, 'memory'],
    ['with all that it wants in flight is bound by answers', { running: 200, inFlight: 200 }, 'answer_time'],
    ['with its equal part in flight is bound by that', { running: 150, limit: 150 }, 'share'],
    ['with less free than a step takes is bound', { running: 180, inFlight: 180 }, 'answer_time'],
    ['whose room and slots are used up is bound by its room', { running: 200, freeSlotInMs: 80 }, 'answer_time'],
  ])('a lane %s', (_about, facts, bound) => {
    expect(boundHere({ ...free, ...facts })).toBe(bound)
  })
})

describe('the room of a lane', () => {
  const PAST = Number.NEGATIVE_INFINITY
  const answering = (inFlightLimit: InFlightLimit, ms: number): InFlightLimit => {
    inFlightLimit.setPace(paceOf(1_000))
    for (let i = 0; i < 200; i += 1) inFlightLimit.answered(ms)
    return inFlightLimit
  }

  test('shows how long answers took, and that answer time bounds the lane when all of it is used', () => {
    const inFlightLimit = answering(createInFlightLimits(6_000).add(new Bell()), 300)
    expect(inFlightLimit.answersLately()?.p50).toBeGreaterThan(285)
    expect(inFlightLimit.answersLately()?.p99).toBeLessThan(315)
    expect(inFlightLimit.bound(PAST)).toBeUndefined()
    inFlightLimit.begin(inFlightLimit.available())
    expect(inFlightLimit.bound(PAST)).toBe('answer_time')
    inFlightLimit.end(300)
    expect(inFlightLimit.bound(PAST)).toBeUndefined()
    expect(inFlightLimit.bound(performance.now() + 3_600_000)).toBe('pace')
  })

  test("is bound by the worker's limit of messages in flight, alone and beside others", () => {
    const limits = createInFlightLimits(100)
    const [one, two] = [answering(limits.add(new Bell()), 1_000), answering(limits.add(new Bell()), 1_000)]
    one.begin(10)
    two.begin(50)
    expect([one.bound(PAST), two.bound(PAST)]).toEqual([undefined, 'share'])
    one.begin(40)
    expect([one.bound(PAST), two.bound(PAST)]).toEqual(['memory', 'memory'])
  })
})

const worker = (id: string, serves: ServedLane[]): KnownWorker => ({
  ...{ id, seenMs: 0 },
  facts: { host: 'h', pid: 1, startedAt: 0, version: '0.1.0', lanes: serves.length, serves },
})

describe('several workers', () => {
  test('have their messages in flight added up, and the answer times of the slowest', () => {
    const served = servedLanes([
      worker('a', [{ lane: 1, inFlight: 3, p50Ms: 200, p99Ms: 900, bound: 'memory' }]),
      worker('b', [
        { lane: 1, inFlight: 4, p50Ms: 300, p99Ms: 700, bound: 'pace' },
        { lane: 2, inFlight: 0 },
      ]),
      // Of the version before.
      worker('c', [{ lane: 1, inFlight: 5, answerMs: 4_000 }]),
      { id: 'd', seenMs: 0, facts: undefined },
    ])
    expect(Object.fromEntries(served)).toEqual({
      1: { inFlight: 12, answerSeconds: { p50: 0.3, p99: 0.9 }, bound: 'pace' },
      2: { inFlight: 0, answerSeconds: undefined, bound: undefined },
    })
  })
})

describe('a lane', () => {
  const busy = {
    isPaused: false,
    isCoolingDown: false,
    isResting: false,
    waiting: 5,
    isAtPace: false,
    byWorkers: undefined,
  }
  test.each([
    ['paused', { isPaused: true, isCoolingDown: true, waiting: 0 }, 'pause'],
    ['in a cooldown', { isCoolingDown: true, byWorkers: 'memory' }, 'cooldown'],
    ['on which nothing waits', { waiting: 0, isAtPace: true, byWorkers: 'memory' }, 'nothing'],
    ['whose campaigns rest', { isResting: true, isAtPace: true }, 'rule'],
    ['whose slots are used up', { isAtPace: true, byWorkers: 'memory' }, 'pace'],
    ['whose worker is full', { byWorkers: 'memory' }, 'memory'],
    ['that nothing holds', {}, 'nothing'],
  ] as const)('%s is bound by the first bound in order', (_about, facts, bound) => {
    expect(boundOf({ ...busy, ...facts })).toBe(bound)
  })

  test('has a sentence of its own for every bound', () => {
    const sentences = LANE_BOUNDS.map((bound) => boundSentence({ bound, state: 'sending', waiting: 5 }))
    expect(new Set(sentences).size).toBe(LANE_BOUNDS.length)
    expect(boundSentence({ bound: 'nothing', state: 'idle', waiting: 0 })).toBe('No message waits.')
    expect(boundSentence({ bound: 'nothing', state: 'no_worker', waiting: 5 })).toContain('the state of the lane')
  })
})

test('the table in docs/guides/operating/scale-out.md has all bounds, in the order of their checks', () => {
  const rows = tableUnder(readPage('docs/guides/operating/scale-out.md'), 'What bounds a lane')
  expect(rows.map(([bound = '']) => bound.replaceAll('`', ''))).toEqual([...LANE_BOUNDS])
})

describe('metrics', () => {
  const gauges = (lane: number, more: Partial<LaneGauges> = {}): LaneGauges => ({
    ...{ lane, nowMs: 0, nowUs: 0, waiting: { transactional: 5, campaign: 0 }, places: 0, head: '', delayed: 0 },
    ...{ oldest: { transactional: undefined, campaign: undefined, place: undefined }, active: 0, deadLetters: 0 },
    ...{ isPaused: false, cooldown: undefined, inDoubt: 0, sending: 0, requeueable: 0, pollsWaiting: 0 },
    ...{ firstPollAt: 0, reopened: 0, slots: { count: 0, firstUs: 0, lastUs: 0 }, rate: 80, campaigns: [] },
    ...{ isFlagged: false, isRestricted: false, resting: {} },
    ...more,
  })
  const linesOf = (lanes: ReturnType<typeof labelled>): string[] =>
    LANE_MEASURES.flatMap((measure) => textOfMeasure(measure, lanes).split('\n')).filter((line) =>
      /^laneway_lane_(in_flight|answer_seconds|bound)\{/.test(line),
    )

  test('show lanes with work and lanes that a worker serves, and answer times only where there were answers', () => {
    const served = servedLanes([
      worker('a', [
        { lane: 1, inFlight: 3, p50Ms: 200, p99Ms: 900, bound: 'pace' },
        { lane: 2, inFlight: 0 },
      ]),
    ])
    const lanes = labelled([gauges(1), gauges(3, { isPaused: true })], served, String)
    expect(linesOf(lanes)).toEqual([
      'laneway_lane_in_flight{lane="1"} 3',
      'laneway_lane_in_flight{lane="2"} 0',
      'laneway_lane_answer_seconds{lane="1",quantile="0.5"} 0.2',
      'laneway_lane_answer_seconds{lane="1",quantile="0.99"} 0.9',
      'laneway_lane_bound{lane="1",by="pace"} 1',
      'laneway_lane_bound{lane="3",by="pause"} 1',
    ])
  })

  test('add up the messages in flight of lanes that share a label, and count their bounds', () => {
    const serves = [1, 2, 3].map(
      (lane): ServedLane => ({ lane, inFlight: 2, p50Ms: lane, p99Ms: lane, bound: 'memory' }),
    )
    const lanes = labelled(
      [1, 2, 3].map((lane) => gauges(lane)),
      servedLanes([worker('a', serves)]),
      () => 'other',
    )
    expect(linesOf(lanes)).toEqual([
      'laneway_lane_in_flight{lane="other"} 6',
      'laneway_lane_answer_seconds{lane="other",quantile="0.5"} 0.003',
      'laneway_lane_answer_seconds{lane="other",quantile="0.99"} 0.003',
      'laneway_lane_bound{lane="other",by="memory"} 3',
    ])
  })

  test('show waiting campaigns, whose places are not counted, and no bound for a lane on which nothing waits', () => {
    const served = servedLanes([
      worker(
        'a',
        [1, 2].map((lane) => ({ lane, inFlight: 2, bound: 'pace' as const })),
      ),
    ])
    const none = { transactional: 0, campaign: 0 }
    const lanes = labelled(
      [
        gauges(1, { waiting: none, campaigns: [{ number: 1, state: 'running', remaining: 9 }] }),
        gauges(2, { waiting: none }),
      ],
      served,
      String,
    )
    expect(linesOf(lanes).filter((line) => line.includes('bound'))).toEqual([
      'laneway_lane_bound{lane="1",by="pace"} 1',
      'laneway_lane_bound{lane="2",by="nothing"} 1',
    ])
  })

  test('count no message in flight without a job as unconfirmed', () => {
    const served = servedLanes([worker('a', [{ lane: 1, inFlight: 500 }])])
    const lanes = labelled([gauges(1, { inDoubt: 510 }), gauges(2, { inDoubt: 7, active: 3 })], served, String)
    expect([...lanes].map(([lane, { unconfirmed }]) => [lane, unconfirmed])).toEqual([
      ['1', 10],
      ['2', 4],
    ])
  })
})
