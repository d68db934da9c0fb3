// Pins: claimed messages of a lane leave in the slots of the lane, each in the next one that is its turn.
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { type Deadline, deadlineIn } from '../../src/kernel/deadline.ts'
import type { Slot } from '../../src/lanes/messages/claim.ts'
import type { MessageClass } from '../../src/model/messages/content.ts'
import { type Pace, paceOf } from '../../src/model/messages/pace.ts'
import type { LaneSlotsDeps, Turn } from '../../src/worker/sending/lane-slots.ts'
import { awaitedSlots, type Named } from '../support/awaited-slots.ts'
import { gate } from '../support/wait.ts'

afterEach(() => {
  vi.useRealTimers()
})

const PACE = { ...paceOf(80), lateMs: 500 }
const clock = { ours: (_lane: number, redisMs: number) => redisMs }
/** Claims that are good for longer than any test takes. */
const GOOD = deadlineIn(600_000)
const BACK: Turn = { problem: undefined }
const slotIn = (ms: number, isShared = false): Slot => {
  const atMs = performance.now() + ms
  return { name: String(atMs), atMs, nowMs: performance.now(), isShared }
}

/** A lane of messages that are wanted, without other slots, unless a test says otherwise. */
function lane(deps: Partial<LaneSlotsDeps<Named>> = {}) {
  const checkAgain = () => Promise.reject(new Error('nobody need be asked'))
  const line = awaitedSlots({ clock, others: async () => [], checkAgain, ...deps }, 1)
  return {
    ...line,
    wait: (
      of: MessageClass,
      slot: Slot,
      { message: name = '', wantedUntil = GOOD, until = GOOD, pace = PACE }: Partial<Waiting> = {},
    ) =>
      line.wait({ name, isTransactional: of === 'transactional', until, wantedUntil }, slot, pace).then((turn) => {
        if (turn.slot) turn.left()
        return turn
      }),
    /** The same, and the message is not said to have left. */
    waitOnly: line.wait,
  }
}

interface Waiting {
  message: string
  wantedUntil: Deadline
  until: Deadline
  pace: Pace
}

/** What is over. */
const OVER = deadlineIn(-1)
/** The whole process stands still, as under SIGSTOP. */
const standStill = (ms: number): void => void Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)

/** Puts messages in line, each with its slot in so many ms; resolves to the names in the order in which they left. */
async function leave(messages: readonly [name: string, of: MessageClass, inMs: number][]): Promise<string[]> {
  const { wait } = lane()
  const left: string[] = []
  await Promise.all(
    messages.map(async ([name, of, inMs]) => {
      const { slot } = await wait(of, slotIn(inMs))
      expect(performance.now()).toBeGreaterThanOrEqual((slot?.atMs ?? 0) - 1)
      left.push(name)
    }),
  )
  return left
}

test('messages leave in the order of their claims, none before its slot', async () => {
  const order = await leave([
    ['a', 'campaign', 5],
    ['b', 'campaign', 15],
    ['c', 'campaign', 25],
  ])
  expect(order).toEqual(['a', 'b', 'c'])
})

test('a transactional message leaves in the first slot of a campaign, and the campaign loses none', async () => {
  const order = await leave([
    ['a', 'campaign', 10],
    ['b', 'campaign', 20],
    ['code', 'transactional', 30],
  ])
  expect(order).toEqual(['code', 'a', 'b'])
})

test('an earlier slot that comes later is used first', async () => {
  const { slots, wait } = lane()
  // In this order: should the process stand still in between, the late one is later still.
  const soon = slotIn(5)
  const late = slotIn(30)
  const first = wait('campaign', late)
  const second = wait('campaign', soon)
  expect((await first).slot).toBe(soon)
  expect((await second).slot).toBe(late)
  expect(slots.latestAt()).toBe(late.atMs)
})

test('a message that could not leave in its turn leaves in the same slot, and the latest slot stays the latest', async () => {
  const { slots, wait, waitAgain } = lane()
  const first = slotIn(0)
  const turn = await wait('campaign', first)
  const later = slotIn(10)
  const next = wait('campaign', later)
  if (!turn.slot) throw new Error('no turn')
  expect((await waitAgain({}, turn)).slot).toBe(first)
  expect([(await next).slot, slots.latest()]).toEqual([later, later.name])
})

test('a recalled message has no slot, and later ones leave as usual', async () => {
  const { slots, wait } = lane()
  const waiting = [wait('campaign', slotIn(10_000)), wait('transactional', slotIn(20_000))]
  slots.recall()
  expect(await Promise.all(waiting)).toEqual([BACK, BACK])
  const next = slotIn(1)
  expect((await wait('campaign', next)).slot).toBe(next)
})

describe('a lane served by this worker alone', () => {
  test('uses slots that have passed, at once after a stall', async () => {
    const { wait } = lane()
    const slots = [slotIn(5), slotIn(20), slotIn(35), slotIn(50)]
    const leaving = slots.map((slot) => wait('campaign', slot, { pace: paceOf(80) }))
    standStill(900)
    // Should the process stand still once more, this timer does as well: timers that are over fire in their order.
    const left = await Promise.race([Promise.all(leaving), sleep(500, 'too late' as const)])
    expect(left === 'too late' ? left : left.map(({ slot }) => slot)).toEqual(slots)
  })

  test('sends no more than a second may hold, however many slots have passed', async () => {
    vi.useFakeTimers()
    const { wait } = lane()
    const pace = paceOf(10)
    const left: number[] = []
    const begun = performance.now()
    const leaving = Array.from({ length: 13 }, async (_, n) => {
      await wait('campaign', slotIn(-900 + n), { pace })
      left.push(performance.now() - begun)
    })
    await vi.advanceTimersByTimeAsync(2_500)
    await Promise.all(leaving)
    // Eleven at once, the others when the first of these are a second ago.
    expect((left[10] ?? 0) - (left[0] ?? 0)).toBeLessThan(1_000)
    expect((left[11] ?? 0) - (left[0] ?? 0)).toBeGreaterThanOrEqual(1_000)
  })
})

describe('a lane served by other workers as well', () => {
  test.each([
    ['were found', 1],
    ['could not be had', 0],
  ])(
    'a message after a recall leaves in its own slot, though others were requested before it and %s',
    async (_how, count) => {
      const asked = gate()
      const answer = gate()
      const { slots, wait } = lane({
        others: async () => {
          asked.open()
          await answer.opened
          // At once: the message that it is for would leave before the one that comes after.
          return Array.from({ length: count }, () => slotIn(0, true))
        },
      })
      const missed = wait('campaign', slotIn(-1_000, true))
      await asked.opened
      slots.recall()
      expect(await missed).toEqual(BACK)
      const own = slotIn(40, true)
      // However busy the machine is, it is not missed.
      const next = wait('campaign', own, { pace: { ...PACE, lateMs: 60_000 } })
      answer.open()
      expect((await next).slot).toBe(own)
    },
  )

  test('keeps the slots of messages after a recall while others leave, though others were requested before it', async () => {
    const asked = gate()
    const answer = gate()
    const { slots, wait } = lane({
      others: async () => {
        asked.open()
        await answer.opened
        return []
      },
    })
    const missed = wait('campaign', slotIn(-1_000, true))
    await asked.opened
    slots.recall()
    expect(await missed).toEqual(BACK)
    // However busy the machine is, none is missed.
    const pace = { ...PACE, lateMs: 60_000 }
    const [own, later] = [slotIn(0, true), slotIn(60, true)]
    const leaving = [own, later].map((slot) => wait('campaign', slot, { pace }))
    expect((await leaving[0])?.slot).toBe(own)
    answer.open()
    expect((await leaving[1])?.slot).toBe(later)
  })

  test('requests slots in place of missed ones together, and only for as many as wait for them', async () => {
    const asked: string[][] = []
    const [one, two, three] = [slotIn(-200_000, true), slotIn(-190_000, true), slotIn(60, true)]
    const other = slotIn(120, true)
    const { wait } = lane({
      others: async (missed) => {
        asked.push(missed.map(({ name }) => name))
        return [other]
      },
    })
    // However busy the machine is, the other slots are not missed.
    const pace = { ...PACE, lateMs: 60_000 }
    const left = await Promise.all([one, two, three].map((slot) => wait('campaign', slot, { pace })))
    // Two slots are over: one message has the third, one the other, and there is none for the last.
    expect(left.map(({ slot }) => slot)).toEqual([three, other, undefined])
    expect(asked).toEqual([[one.name, two.name]])
  })

  test('gives more time to a worker that keeps losing slots, so that it sends in the end', async () => {
    vi.useFakeTimers()
    let exchanges = 0
    const { wait } = lane({
      others: async (missed) => {
        exchanges += 1
        // Each is late by more than a request may be when the answer is there.
        return missed.map(() => slotIn(-150, true))
      },
    })
    const leaving = wait('campaign', slotIn(-1_000, true), { pace: { ...PACE, lateMs: 50 } })
    await vi.advanceTimersByTimeAsync(1_000)
    expect((await leaving).slot).toBeDefined()
    expect(exchanges).toBeLessThanOrEqual(3)
  })

  test('counts as shared for ten seconds, and not for longer', async () => {
    vi.useFakeTimers()
    let exchanges = 0
    const { wait } = lane({
      others: async (missed) => {
        exchanges += missed.length
        return []
      },
    })
    const sharedNow = wait('campaign', slotIn(1, true))
    await vi.advanceTimersByTimeAsync(10)
    expect((await sharedNow).slot).toBeDefined()
    const stillShared = wait('campaign', slotIn(-5_000))
    await vi.advanceTimersByTimeAsync(9_000)
    expect([await stillShared, exchanges]).toEqual([BACK, 1])
    await vi.advanceTimersByTimeAsync(2_000)
    const alone = wait('campaign', slotIn(-5_000))
    await vi.advanceTimersByTimeAsync(10)
    expect([(await alone).slot === undefined, exchanges]).toEqual([false, 1])
  })
})

describe('messages that leave after their check has expired', () => {
  /** A lane whose messages are asked about: each answer is good for so long. */
  function askedLane(answerMs: (message: string) => number | 'no' | 'away') {
    const asked: string[][] = []
    const answersOf = async (messages: readonly Named[]) => {
      asked.push(messages.map(({ name }) => name))
      return messages.map(({ name }) => {
        const ms = answerMs(name)
        if (ms === 'away') throw new Error('Redis is away')
        return ms === 'no' ? { problem: { code: 'no', sentence: '' } } : { wantedUntil: deadlineIn(ms) }
      })
    }
    return { ...lane({ checkAgain: answersOf }), asked }
  }

  test('are checked again in one step, before their slots, and leave in them', async () => {
    const { wait, asked } = askedLane(() => 60_000)
    const askedAt = performance.now()
    const wantedUntil = deadlineIn(70)
    const slots = [slotIn(80), slotIn(90), slotIn(100)]
    const left = await Promise.all(slots.map((slot, n) => wait('campaign', slot, { message: `${n}`, wantedUntil })))
    expect(left.map(({ slot }) => slot)).toEqual(slots)
    expect(asked).toEqual([['0', '1', '2']])
    expect(performance.now() - askedAt).toBeGreaterThanOrEqual(98)
  })

  test('are checked again in one step when they are late, and keep their order', async () => {
    const { wait, asked } = askedLane(() => 60_000)
    const order: string[] = []
    const waiting = ['a', 'b', 'c'].map(async (message, n) => {
      await wait('campaign', slotIn(n), { message, wantedUntil: OVER })
      order.push(message)
    })
    await Promise.all(waiting)
    expect([asked, order]).toEqual([[['a', 'b', 'c']], ['a', 'b', 'c']])
  })

  test('go back with the reason when the check fails, and the others leave', async () => {
    const { wait } = askedLane((message) => (message === 'b' ? 'no' : 60_000))
    const left = await Promise.all(
      ['a', 'b', 'c'].map((message, n) => wait('campaign', slotIn(n), { message, wantedUntil: OVER })),
    )
    expect(left[1]).toEqual({ problem: { code: 'no', sentence: '' } })
    expect([left[0]?.slot, left[2]?.slot].every(Boolean)).toBe(true)
  })

  test('go back when the check cannot be made', async () => {
    const { wait } = askedLane(() => 'away')
    expect(await wait('campaign', slotIn(0), { wantedUntil: OVER })).toEqual({ problem: undefined })
  })

  test('go back when the second check has expired as well, so that checks do not repeat forever', async () => {
    const { wait, asked } = askedLane(() => -1)
    expect(await wait('campaign', slotIn(0), { message: 'a', wantedUntil: OVER })).toEqual(BACK)
    expect(asked).toEqual([['a'], ['a']])
  })

  test('do not stop later messages, which need no check, from leaving meanwhile', async () => {
    const asked = gate()
    const answer = gate()
    const { wait } = lane({
      checkAgain: async (messages) => {
        asked.open()
        await answer.opened
        return messages.map(() => ({ wantedUntil: GOOD }))
      },
    })
    const [first, second] = [slotIn(0), slotIn(1)]
    const doubtful = wait('campaign', first, { wantedUntil: OVER })
    await asked.opened
    expect((await wait('transactional', second)).slot).toBe(first)
    answer.open()
    expect((await doubtful).slot).toBe(second)
  })

  test('are not sent after a recall during their check', async () => {
    const asked = gate()
    const answer = gate()
    const { slots, wait } = lane({
      checkAgain: async () => {
        asked.open()
        await answer.opened
        return [{ wantedUntil: GOOD }]
      },
    })
    const waiting = wait('campaign', slotIn(0), { wantedUntil: OVER })
    await asked.opened
    slots.recall()
    answer.open()
    expect((await waiting).slot).toBeUndefined()
  })

  test('are checked again on a machine that was suspended, although its timers stopped', async () => {
    const { wait, asked } = askedLane(() => 'no')
    const real = Date.now
    const waiting = wait('campaign', slotIn(50), { wantedUntil: deadlineIn(5_000) })
    // What goes on meanwhile is the wall clock alone.
    vi.spyOn(Date, 'now').mockImplementation(() => real() + 6_000)
    try {
      expect([(await waiting).slot, asked.length]).toEqual([undefined, 1])
    } finally {
      vi.restoreAllMocks()
    }
  })

  test('are checked again once when only one look at the wall clock found them doubtful, before it was set back', async () => {
    const { wait, asked } = askedLane(() => 60_000)
    const real = Date.now
    const waiting = wait('campaign', slotIn(50), { message: 'a', wantedUntil: deadlineIn(5_000) })
    let looks = 0
    vi.spyOn(Date, 'now').mockImplementation(() => {
      looks += 1
      // After a thousand looks it is over once more: without the mend this test would hang instead of failing.
      return looks === 1 || looks > 1_000 ? real() + 6_000 : real()
    })
    try {
      await waiting
    } finally {
      vi.restoreAllMocks()
    }
    expect(asked).toEqual([['a']])
    expect(looks).toBeLessThan(100)
  })
})

test('nothing leaves once its claim has expired, even by the wall clock alone', async () => {
  const { wait } = lane()
  expect(await wait('campaign', slotIn(0), { until: OVER })).toEqual(BACK)
  const real = Date.now
  const waiting = wait('campaign', slotIn(50), { until: deadlineIn(5_000) })
  vi.spyOn(Date, 'now').mockImplementation(() => real() + 6_000)
  try {
    expect(await waiting).toEqual(BACK)
  } finally {
    vi.restoreAllMocks()
  }
})

test('a request may leave as long as its claim and its check are valid, and on a shared lane as its pace allows', async () => {
  // Each is good for longer than a machine stands still.
  const shared = slotIn(20, true)
  const pace = { ...PACE, lateMs: 60_000 }
  expect(await lane().wait('campaign', shared, { pace })).toMatchObject({ leaveBy: shared.atMs + 60_000 })
  const until = deadlineIn(60_000)
  expect(await lane().wait('campaign', slotIn(0), { until })).toMatchObject({ leaveBy: until.steadyMs })
  const wantedUntil = deadlineIn(60_000)
  expect(await lane().wait('campaign', slotIn(0), { wantedUntil })).toMatchObject({ leaveBy: wantedUntil.steadyMs })
})

test('a message that its lane holds back goes back when its claim has expired', async () => {
  vi.useFakeTimers()
  const { waitOnly } = lane()
  const begin = (validMs: number) => waitOnly({ until: deadlineIn(validMs) }, slotIn(0), paceOf(10))
  // None of these ever leaves.
  for (let n = 0; n < 11; n += 1) void begin(600_000)
  await vi.advanceTimersByTimeAsync(10)
  const held = begin(5_000)
  await vi.advanceTimersByTimeAsync(5_010)
  expect(await held).toEqual(BACK)
})

test('no other request starts while as many as a second may hold wait for their connections', async () => {
  vi.useFakeTimers()
  const { waitOnly } = lane()
  const begin = () => waitOnly({}, slotIn(0), paceOf(10))
  const going = Array.from({ length: 11 }, begin)
  await vi.advanceTimersByTimeAsync(10)
  const [first] = await Promise.all(going)
  let hasGone = false
  const next = begin().then(() => {
    hasGone = true
  })
  await vi.advanceTimersByTimeAsync(60_000)
  expect(hasGone).toBe(false)
  // One of them could not be connected.
  if (first?.slot) first.ended()
  await vi.advanceTimersByTimeAsync(10)
  await next
})

describe('when the clock of Redis is set back by a minute', () => {
  /** Slots by a clock of which `setBack` is told, and claims as they are made, good for half of the minute. */
  function world() {
    let offMs = 0
    const { slots, wait } = lane({ clock: { ours: (_lane, redisMs) => redisMs + offMs } })
    return {
      slots,
      setBack: () => {
        offMs = 60_000
      },
      claim: (of: MessageClass, inMs: number) => {
        const atMs = performance.now() + inMs - offMs
        return wait(of, { name: `${atMs}`, atMs, nowMs: atMs }, { until: deadlineIn(30_000) })
      },
    }
  }

  test('messages waiting for earlier slots go back to their lane', async () => {
    const { claim, setBack } = world()
    const waiting = [claim('transactional', 10), claim('campaign', 20), claim('campaign', 30)]
    setBack()
    expect(await Promise.all(waiting)).toEqual([BACK, BACK, BACK])
  })

  test('as many leave as were claimed after it, those claimed before it first', async () => {
    const { claim, setBack } = world()
    const before = [claim('campaign', 10), claim('campaign', 20)]
    setBack()
    const after = [claim('campaign', 10), claim('campaign', 20)]
    expect((await Promise.all(before)).map(({ slot }) => slot)).toEqual([expect.anything(), expect.anything()])
    expect(await Promise.all(after)).toEqual([BACK, BACK])
    expect((await claim('campaign', 5)).slot).toBeDefined()
  })

  test('its lane does not count an earlier slot as its latest', async () => {
    const { claim, setBack, slots } = world()
    setBack()
    const left = claim('campaign', 10)
    const latestAt = slots.latestAt()
    expect(latestAt).toBeLessThan(performance.now() + 30_000)
    expect(await claim('campaign', 70_000)).toEqual(BACK)
    expect(slots.latestAt()).toBe(latestAt)
    expect((await left).slot).toBeDefined()
  })
})

test.each([
  ['five ms', 500, 15],
  ['a tenth of what a request may be late', 20, 14],
  ['one ms, where none is late', Number.POSITIVE_INFINITY, 14],
])('slots of all lanes within a tick are used at its end: %s', async (_, lateMs, tickAt) => {
  vi.useFakeTimers()
  await vi.advanceTimersByTimeAsync(60 - (performance.now() % 60))
  const begunAt = performance.now()
  const left = [13.1, 13.6].map(async (inMs) => {
    await lane().wait('campaign', slotIn(inMs), { pace: { ...PACE, lateMs } })
    return performance.now() - begunAt
  })
  await vi.advanceTimersByTimeAsync(30)
  expect(await Promise.all(left)).toEqual([tickAt, tickAt])
})
