// Pins: how often a lane is read: when it is woken, as far ahead as its pace goes, and not at all while nothing can come
// of it. Stood in for: the lane.

import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Bell } from '../../src/kernel/bell.ts'
import { SharedMoments } from '../../src/kernel/shared-ticks.ts'
import { createInFlightLimits } from '../../src/worker/sending/in-flight-limit.ts'
import { serveSteps } from '../../src/worker/sending/lane-loop.ts'
import { LaneSignals } from '../../src/worker/sending/lane-signals.ts'
import type { Take, Taken } from '../../src/worker/sending/take.ts'
import { TakeTurns } from '../../src/worker/sending/take-turns.ts'

const EMPTY: Taken = { hasMore: false, hasCampaign: false, heldMs: undefined, isPaused: false, dueInMs: undefined }

let lanes: LaneSignals[] = []
beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  for (const signals of lanes) signals.stop()
  lanes = []
  vi.useRealTimers()
})

/** The signals of a lane that is served like this. */
function signalsOf(deps: Omit<Parameters<typeof serveSteps>[0], 'signals'>): LaneSignals {
  const signals = new LaneSignals()
  lanes.push(signals)
  void serveSteps({ signals, ...deps })
  return signals
}

/** A lane of which each read comes to `answer`, and what it was asked for. */
function served(
  answer: (take: Take) => Taken,
  {
    left = () => 200,
    latestSlotAt = () => Number.NEGATIVE_INFINITY,
    tookMs = () => 0,
    gapMs = 12.5,
    turns = new TakeTurns(),
  }: {
    left?: () => number
    latestSlotAt?: () => number
    tookMs?: () => number
    gapMs?: number
    turns?: TakeTurns
  } = {},
): { signals: LaneSignals; takes: Take[]; freed: () => void } {
  const takes: Take[] = []
  let isFull = false
  const signals = signalsOf({
    inFlightLimit: { available: left, running: () => 200 - left(), ringWhenFreed: () => (isFull = true) },
    turns,
    moments: new SharedMoments(),
    latestSlotAt,
    gapMs: () => gapMs,
    take: async (take) => {
      takes.push(take)
      const ms = tookMs()
      if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms))
      if (takes.length > 1_000) throw new Error('it does not stop')
      return answer(take)
    },
    failed: () => {},
  })
  const freed = (): void => {
    if (isFull) void signals.bell.ring()
    isFull = false
  }
  return { signals, takes, freed }
}

test.each([
  ['is empty', EMPTY],
  ['is paused', { ...EMPTY, isPaused: true }],
  ['is paused, with a job that is due', { ...EMPTY, isPaused: true, dueInMs: 0 }],
  ['is paused, with a job that is soon due', { ...EMPTY, isPaused: true, dueInMs: 5 }],
])('a lane that %s is read once each time it is woken', async (_, answer) => {
  const lane = served(() => answer)
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(lane.takes).toHaveLength(1)
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(lane.takes).toHaveLength(2)
})

test('a lane is read again when its next job is due', async () => {
  const answers = [{ ...EMPTY, dueInMs: 3_000 }]
  const lane = served(() => answers.shift() ?? EMPTY)
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(2_900)
  expect(lane.takes).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(200)
  expect(lane.takes).toHaveLength(2)
})

test('a lane that waits for a reason is read once a second, for one message', async () => {
  const lane = served(() => ({ ...EMPTY, hasMore: true, heldMs: 3_600_000 }))
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(lane.takes.length).toBeGreaterThan(8)
  expect(lane.takes.length).toBeLessThan(12)
  expect(lane.takes.at(-1)).toEqual({ most: 1, firstOnly: false, unclaimedSince: Number.POSITIVE_INFINITY })
})

test('a lane whose Redis is away is read once a second', async () => {
  const lane = served(() => {
    throw new Error('Connection is closed.')
  })
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(10_000)
  expect(lane.takes.length).toBeGreaterThan(8)
  expect(lane.takes.length).toBeLessThan(12)
})

test('a lane without room is read when some is freed, and a lane that had room is not read for that', async () => {
  let left = 0
  const lane = served(() => EMPTY, { left: () => left })
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lane.takes).toHaveLength(0)
  left = 200
  lane.freed()
  await vi.advanceTimersByTimeAsync(0)
  expect(lane.takes).toHaveLength(1)
  lane.freed()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lane.takes).toHaveLength(1)
})

test('freed room makes a lane read no earlier than at the shared tick before its slots do', async () => {
  let latestAt = 0
  const at: number[] = []
  const lane = served(
    () => {
      at.push(performance.now())
      latestAt = performance.now() + 208.5
      return { ...EMPTY, hasMore: true }
    },
    { latestSlotAt: () => latestAt },
  )
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(at).toHaveLength(1)
  // A quarter of 340 ms is left 123 ms later. All lanes begin together at 100 ms.
  for (let ms = 0; ms < 99; ms += 1) {
    await vi.advanceTimersByTimeAsync(1)
    lane.freed()
  }
  expect(at).toHaveLength(1)
  await vi.advanceTimersByTimeAsync(10)
  expect(at).toHaveLength(2)
  expect((at[1] ?? 0) % 50).toBe(0)
})

test('lanes due at different moments start together, in one turn of the event loop', async () => {
  const moments = new SharedMoments()
  const begun: { lane: number; at: number; turn: number }[] = []
  let turn = 0
  const loops = [12.5, 13, 14, 15].map((gapMs, lane) => {
    let latestAt = 0
    return signalsOf({
      inFlightLimit: { available: () => 200, running: () => 0, ringWhenFreed: () => {} },
      ...{ turns: new TakeTurns(), moments, latestSlotAt: () => latestAt, gapMs: () => gapMs, failed: () => {} },
      take: async ({ most }) => {
        begun.push({ lane, at: performance.now(), turn })
        latestAt = Math.max(latestAt, performance.now()) + most * gapMs
        setImmediate(() => {
          turn += 1
        })
        return { ...EMPTY, hasMore: true }
      },
    })
  })
  for (const each of loops) {
    await vi.advanceTimersByTimeAsync(7)
    each.wake()
  }
  await vi.advanceTimersByTimeAsync(2_000)
  for (const each of loops) each.stop()
  const later = begun.filter(({ at }) => at > 500)
  expect(later.length).toBeGreaterThan(20)
  for (const { at } of later) expect(at % 50).toBe(0)
  // Those of one moment share a turn, and there are fewer moments than steps.
  const turns = new Map<number, Set<number>>()
  for (const each of later) turns.set(each.at, (turns.get(each.at) ?? new Set()).add(each.turn))
  for (const each of turns.values()) expect(each.size).toBe(1)
  expect(turns.size).toBeLessThan(later.length * 0.8)
})

test.each([
  ['little of what was claimed is left, while claims are quick', 0, 60],
  ['more of it is left, when claims take long', 40, 120],
])('a lane is read again when %s', async (_, tookMs, leftMs) => {
  let latestAt = 0
  const at: number[] = []
  const lane = served(
    ({ most }) => {
      at.push(latestAt - performance.now())
      latestAt = Math.max(latestAt, performance.now()) + most * 12.5
      return { ...EMPTY, hasMore: true }
    },
    { latestSlotAt: () => latestAt, tookMs: () => tookMs },
  )
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(2_000)
  expect(lane.takes.length).toBeGreaterThan(5)
  // A tick later, or a shared one sooner.
  for (const left of at.slice(3)) {
    expect(left + tookMs - leftMs).toBeGreaterThan(-30)
    expect(left + tookMs - leftMs).toBeLessThan(60)
  }
})

test('a single slow step does not make later ones smaller', async () => {
  let latestAt = 0
  const most: number[] = []
  const lane = served(
    (take) => {
      most.push(take.most)
      latestAt = Math.max(latestAt, performance.now()) + take.most * 12.5
      return { ...EMPTY, hasMore: true }
    },
    // One in ten.
    { latestSlotAt: () => latestAt, tookMs: () => (most.length % 10 === 5 ? 100 : 10) },
  )
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(10_000)
  const usual = most.filter((_, i) => i % 10 > 6 || (i > 10 && i % 10 < 5)).sort((one, other) => one - other)
  expect(usual.length).toBeGreaterThan(20)
  expect(usual[Math.floor(usual.length / 2)]).toBeGreaterThan(15)
})

test.each([
  ['80 messages a second a third of a second', 12.5, false, 28],
  ['eight messages a second four messages', 125, false, 4],
  ['two messages a second one message', 500, false, 1],
  ['a campaign at 80 a second a third of a second', 12.5, true, 28],
  ['a campaign at eight a second a third of a second', 125, true, 3],
])('a lane of %s ahead', async (_, gapMs, hasCampaign, most) => {
  const lane = served(() => ({ ...EMPTY, hasMore: true, hasCampaign }), { gapMs })
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lane.takes.at(-1)).toEqual({ most, firstOnly: false, unclaimedSince: Number.POSITIVE_INFINITY })
})

test('a lane with slow steps takes what its pace allows meanwhile, and makes up for a stall', async () => {
  let latestAt = performance.now()
  const lane = served(
    ({ most }) => {
      // As the claim reserves them: from the latest slot on, or from now.
      latestAt = Math.max(latestAt, performance.now() - 2_000) + most * 12.5
      return { ...EMPTY, hasMore: true, hasCampaign: true }
    },
    { latestSlotAt: () => latestAt, tookMs: () => 400 },
  )
  const begun = performance.now()
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(20_000)
  const taken = lane.takes.reduce((sum, { most }) => sum + most, 0)
  const seconds = (performance.now() - begun) / 1_000
  // 80 a second.
  expect(taken / seconds).toBeGreaterThan(76)
  expect(Math.max(...lane.takes.map(({ most }) => most))).toBeLessThanOrEqual(100)
})

test('a backlog waits for its turn while as many lanes as allowed are read, and new messages do not', async () => {
  const turns = new TakeTurns()
  const answers = [{ ...EMPTY, hasMore: true }]
  const lane = served(() => answers.shift() ?? EMPTY, { turns })
  expect(turns.begin(500, new Bell())).toBe(true)
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(5_000)
  expect(lane.takes).toHaveLength(1)
  turns.end(500)
  await vi.advanceTimersByTimeAsync(0)
  expect(lane.takes).toHaveLength(2)
  // It has given its turn back.
  expect(turns.begin(500, new Bell())).toBe(true)
  turns.end(500)
})

test('a lane that may begin at a shared tick, and has to wait for its turn, begins in its turn although it is not due', async () => {
  const turns = new TakeTurns()
  const at: number[] = []
  let latestAt = 0
  const lane = served(
    () => {
      at.push(performance.now() - start)
      latestAt = performance.now() + 208.5
      return { ...EMPTY, hasMore: true }
    },
    { latestSlotAt: () => latestAt, turns },
  )
  const start = performance.now()
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(turns.begin(500, new Bell())).toBe(true)
  // It is due after 123.5 ms, and may begin with the other lanes at 100 ms.
  await vi.advanceTimersByTimeAsync(105)
  expect(at).toEqual([0])
  turns.end(500)
  await vi.advanceTimersByTimeAsync(0)
  expect(at).toEqual([0, 105])
})

test('a lane in line for its turn takes transactional messages that come meanwhile, and its backlog in its turn', async () => {
  const turns = new TakeTurns()
  const lane = served(
    ({ firstOnly }) => ({ ...EMPTY, hasMore: !firstOnly && lane.takes.length < 3, hasCampaign: true }),
    { turns },
  )
  expect(turns.begin(500, new Bell())).toBe(true)
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(100)
  expect(lane.takes).toHaveLength(1)
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(lane.takes.map(({ firstOnly }) => firstOnly)).toEqual([false, true])
  // Another one comes at once: it is read a moment later.
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(lane.takes).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(20)
  expect(lane.takes.map(({ firstOnly }) => firstOnly)).toEqual([false, true, true])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lane.takes).toHaveLength(3)
  turns.end(500)
  await vi.advanceTimersByTimeAsync(0)
  expect(lane.takes.map(({ firstOnly }) => firstOnly)).toEqual([false, true, true, false])
})

test('a lane in line listens for its turn for most of the time, however many transactional messages come', async () => {
  const turns = new TakeTurns()
  const campaign = { ...EMPTY, hasMore: true, hasCampaign: true }
  const lane = served(() => campaign, { turns, tookMs: () => (lane.takes.length > 1 ? 100 : 0) })
  expect(turns.begin(500, new Bell())).toBe(true)
  lane.signals.wake()
  for (let ms = 0; ms < 3_000; ms += 10) {
    await vi.advanceTimersByTimeAsync(10)
    lane.signals.wake()
  }
  const few = lane.takes.filter(({ firstOnly }) => firstOnly).length
  expect(few).toBeGreaterThan(5)
  expect(few).toBeLessThanOrEqual(10)
})

test('a lane with less room than is worth a step takes transactional messages into it', async () => {
  const lane = served(() => ({ ...EMPTY, hasMore: true }), { left: () => 3 })
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(20)
  expect(lane.takes).toMatchObject([{ most: 3, firstOnly: true }])
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lane.takes).toHaveLength(1)
})

test('a transactional backlog waits for its turn, and for as much room as is worth a step, however many more come', async () => {
  const turns = new TakeTurns()
  const busy = { ...EMPTY, hasMore: true }
  let left = 200
  const shortOfRoom = (): Taken => {
    left = 3
    return busy
  }
  const [inLine, short] = [served(() => busy, { turns }), served(shortOfRoom, { left: () => left })]
  expect(turns.begin(500, new Bell())).toBe(true)
  for (let i = 0; i < 50; i += 1) {
    for (const { signals } of [inLine, short]) signals.wake()
    await vi.advanceTimersByTimeAsync(10)
  }
  expect([inLine.takes.length, short.takes.length]).toEqual([1, 1])
})

test('a hanging step gives its turn back after two seconds, and only once', async () => {
  const turns = new TakeTurns()
  const answers = [{ ...EMPTY, hasMore: true }]
  let hangs = false
  const lane = served(
    () => {
      const answer = answers.shift()
      hangs = answer !== undefined
      return answer ?? EMPTY
    },
    { turns, tookMs: () => 60_000 },
  )
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(60_000)
  // The second step of this lane has the turn and hangs.
  expect([hangs, lane.takes.length]).toEqual([true, 2])
  let begun = 0
  const next = async (): Promise<void> => {
    const bell = new Bell()
    while (!turns.begin(500, bell)) await bell.rung()
    begun += 1
  }
  void next()
  await vi.advanceTimersByTimeAsync(1_900)
  expect(begun).toBe(0)
  await vi.advanceTimersByTimeAsync(200)
  expect(begun).toBe(1)
  await vi.advanceTimersByTimeAsync(60_000)
  // Its end gives nothing back once more: the other one still has all there is.
  expect(turns.begin(500, new Bell())).toBe(false)
})

test('a lane that is stopped while it waits for its turn delays nobody', async () => {
  const turns = new TakeTurns()
  const lane = served(() => ({ ...EMPTY, hasMore: true }), { turns })
  expect(turns.begin(500, new Bell())).toBe(true)
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(100)
  lane.signals.stop()
  const bell = new Bell()
  let isNext = false
  expect(turns.begin(500, bell)).toBe(false)
  void bell.rung().then(() => (isNext = true))
  turns.end(500)
  await vi.advanceTimersByTimeAsync(0)
  expect([isNext, lane.takes.length]).toEqual([true, 1])
})

test('a lane that is stopped while it is read leaves no timer behind', async () => {
  const lane = served(
    () => {
      lane.signals.stop()
      return { ...EMPTY, dueInMs: 3_600_000 }
    },
    { tookMs: () => 1 },
  )
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(100)
  expect(lane.takes).toHaveLength(1)
  expect(vi.getTimerCount()).toBe(0)
})

test('a transactional message is read at once while a campaign has the next slots, and only such messages are', async () => {
  let latestAt = 0
  const lane = served(
    () => {
      latestAt = performance.now() + 140
      return { ...EMPTY, hasMore: true, hasCampaign: true }
    },
    { latestSlotAt: () => latestAt },
  )
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(lane.takes).toHaveLength(1)
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(lane.takes.slice(1)).toEqual([{ most: 16, firstOnly: true, unclaimedSince: 140 }])
  // The next one that comes in the same moment is read with those that come after it.
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(0)
  expect(lane.takes).toHaveLength(2)
  await vi.advanceTimersByTimeAsync(20)
  expect(lane.takes.slice(2)).toEqual([{ most: 16, firstOnly: true, unclaimedSince: 140 }])
})

test('while campaigns rest, only transactional messages are taken, and campaigns go on afterwards', async () => {
  const lane = served(({ firstOnly }) =>
    firstOnly ? EMPTY : lane.takes.length === 1 ? { ...EMPTY, hasMore: true, campaignsRestMs: 3_000 } : EMPTY,
  )
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(2_000)
  lane.signals.wake()
  await vi.advanceTimersByTimeAsync(500)
  expect(lane.takes.slice(1).every(({ firstOnly }) => firstOnly)).toBe(true)
  expect(lane.takes.length).toBeLessThan(6)
  await vi.advanceTimersByTimeAsync(1_000)
  expect(lane.takes.at(-1)).toMatchObject({ firstOnly: false })
})

test('room that a step did not need goes to the lanes that wait for some before its own lane reads again', async () => {
  const limits = createInFlightLimits(40)
  const shared = { turns: new TakeTurns(), moments: new SharedMoments() }
  const read: number[] = []
  const open = (lane: number) => {
    const signals = new LaneSignals()
    const inFlightLimit = limits.add(signals.bell)
    const take = async ({ most }: Take): Promise<Taken> => {
      read.push(lane)
      inFlightLimit.beginRead(most)
      await new Promise((resolve) => setTimeout(resolve, 10))
      inFlightLimit.endRead()
      return { ...EMPTY, hasMore: true }
    }
    lanes.push(signals)
    const latestSlotAt = () => Number.NEGATIVE_INFINITY
    void serveSteps({
      ...{ signals, inFlightLimit, ...shared, latestSlotAt, take },
      gapMs: () => 12.5,
      failed: () => {},
    })
    signals.wake()
  }
  const all = Array.from({ length: 60 }, (_, lane) => lane)
  for (const lane of all) open(lane)
  await vi.advanceTimersByTimeAsync(100)
  expect(read.slice(0, 120)).toEqual([...all, ...all])
})
