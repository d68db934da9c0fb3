// Pins: claimed messages of a lane leave in the slots of the lane, each in the next one that is its turn.
import { afterEach, describe, expect, test, vi } from 'vitest'
import { deadlineIn } from '../../src/deadline.ts'
import type { MessageClass } from '../../src/messages/content.ts'
import { paceOf } from '../../src/messages/pace.ts'
import type { Slot } from '../../src/messages/store/claim.ts'
import { createLaneSlots } from '../../src/worker/sending/lane-slots.ts'
import { gate } from '../support/wait.ts'

afterEach(() => {
  vi.useRealTimers()
})

const PACE = { ...paceOf(80), lateMs: 500 }
const none = async (): Promise<Slot[]> => []
const clock = { ours: (_lane: number, redisMs: number) => redisMs }
/** Claims that are good for longer than any test takes. */
const GOOD = deadlineIn(600_000)
const slotIn = (ms: number) => {
  const atMs = performance.now() + ms
  return { name: String(atMs), atMs, nowMs: performance.now() }
}

/** Puts messages in line, each with its slot in so many ms; resolves to the names in the order in which they left. */
async function leave(messages: readonly [name: string, of: MessageClass, inMs: number][]): Promise<string[]> {
  const slots = createLaneSlots(clock, 1, none)
  const left: string[] = []
  await Promise.all(
    messages.map(async ([name, of, inMs]) => {
      const slot = slotIn(inMs)
      const given = await slots.wait(of, slot, PACE, GOOD)
      expect(performance.now()).toBeGreaterThanOrEqual((given?.atMs ?? 0) - 1)
      left.push(name)
    }),
  )
  return left
}

test('messages leave in the order in which they were claimed, none before its slot', async () => {
  const order = await leave([
    ['a', 'campaign', 5],
    ['b', 'campaign', 15],
    ['c', 'campaign', 25],
  ])
  expect(order).toEqual(['a', 'b', 'c'])
})

test('a transactional message leaves in the first slot that a campaign has, and the campaign loses none', async () => {
  const order = await leave([
    ['a', 'campaign', 10],
    ['b', 'campaign', 20],
    ['code', 'transactional', 30],
  ])
  expect(order).toEqual(['code', 'a', 'b'])
})

test('an earlier slot that comes later is used first', async () => {
  const slots = createLaneSlots(clock, 1, none)
  const [late, soon] = [slotIn(30), slotIn(5)]
  const first = slots.wait('campaign', late, PACE, GOOD)
  const second = slots.wait('campaign', soon, PACE, GOOD)
  expect((await first)?.name).toBe(soon.name)
  expect((await second)?.name).toBe(late.name)
  expect(slots.latestAt()).toBe(late.atMs)
})

test('what is recalled has no slot, and what comes after it leaves as ever', async () => {
  const slots = createLaneSlots(clock, 1, none)
  const waiting = [
    slots.wait('campaign', slotIn(10_000), PACE, GOOD),
    slots.wait('transactional', slotIn(20_000), PACE, GOOD),
  ]
  slots.recall()
  expect(await Promise.all(waiting)).toEqual([undefined, undefined])
  const next = slotIn(1)
  expect(await slots.wait('campaign', next, PACE, GOOD)).toBe(next)
})

test.each([
  ['were found', 1],
  ['could not be had', 0],
])(
  'what comes after a recall leaves in its own slot, though others were asked for before it and %s',
  async (_how, count) => {
    const asked = gate()
    const answer = gate()
    const slots = createLaneSlots(clock, 1, async () => {
      asked.open()
      await answer.opened
      // At once: the message that it is for would leave before the one that comes after.
      return Array.from({ length: count }, () => slotIn(0))
    })
    const missed = slots.wait('campaign', slotIn(-1_000), PACE, GOOD)
    await asked.opened
    slots.recall()
    expect(await missed).toBeUndefined()
    const own = slotIn(40)
    // However busy the machine is, it is not missed.
    const next = slots.wait('campaign', own, { ...PACE, lateMs: 60_000 }, GOOD)
    answer.open()
    expect(await next).toBe(own)
  },
)

test('slots that were missed are asked for anew together, and only their number of messages waits for them', async () => {
  const asked: string[][] = []
  const other = slotIn(120)
  const slots = createLaneSlots(clock, 1, async (missed) => {
    asked.push(missed.map(({ name }) => name))
    return [other]
  })
  const [one, two, three] = [slotIn(-1_000), slotIn(-900), slotIn(60)]
  const left = [one, two, three].map((slot) => slots.wait('campaign', slot, PACE, GOOD))
  // Two slots are over: one message has the third, one the other, and there is none for the last.
  expect((await Promise.all(left)).map((slot) => slot?.name)).toEqual([three.name, other.name, undefined])
  expect(asked).toEqual([[one.name, two.name]])
})

describe('when the clock of Redis is set back by a minute', () => {
  /** Slots by a clock of which `setBack` is told, and claims as they are made, good for 5 s. */
  function world() {
    let offMs = 0
    const slots = createLaneSlots({ ours: (_lane, redisMs) => redisMs + offMs }, 1, none)
    return {
      slots,
      setBack: () => {
        offMs = 60_000
      },
      claim: (of: MessageClass, inMs: number) => {
        const atMs = performance.now() + inMs - offMs
        return slots.wait(of, { name: `${atMs}`, atMs, nowMs: atMs }, PACE, deadlineIn(5_000))
      },
    }
  }

  test('what waits for slots of before goes back to its lane', async () => {
    const { claim, setBack } = world()
    const waiting = [claim('transactional', 10), claim('campaign', 20), claim('campaign', 30)]
    setBack()
    expect(await Promise.all(waiting)).toEqual([undefined, undefined, undefined])
  })

  test('as many leave as were claimed after it, those first that were claimed before', async () => {
    const { claim, setBack } = world()
    const before = [claim('campaign', 10), claim('campaign', 20)]
    setBack()
    const after = [claim('campaign', 10), claim('campaign', 20)]
    expect(await Promise.all(before)).toEqual([expect.anything(), expect.anything()])
    expect(await Promise.all(after)).toEqual([undefined, undefined])
    expect(await claim('campaign', 5)).toBeDefined()
  })

  test('its lane does not take a slot of before for its latest', async () => {
    const { claim, setBack, slots } = world()
    setBack()
    const left = claim('campaign', 10)
    const latestAt = slots.latestAt()
    expect(latestAt).toBeLessThan(performance.now() + 5_000)
    expect(await claim('campaign', 70_000)).toBeUndefined()
    expect(slots.latestAt()).toBe(latestAt)
    expect(await left).toBeDefined()
  })
})

test.each([
  ['five ms', 500, 15],
  ['a tenth of what a request may be late', 20, 14],
  ['one ms, where none is late', Number.POSITIVE_INFINITY, 14],
])('slots of all lanes that come within a tick are left in at its end: %s', async (_, lateMs, tickAt) => {
  vi.useFakeTimers()
  await vi.advanceTimersByTimeAsync(60 - (performance.now() % 60))
  const begunAt = performance.now()
  const left = [13.1, 13.6].map(async (inMs, lane) => {
    await createLaneSlots(clock, lane, none).wait('campaign', slotIn(inMs), { ...PACE, lateMs }, GOOD)
    return performance.now() - begunAt
  })
  await vi.advanceTimersByTimeAsync(30)
  expect(await Promise.all(left)).toEqual([tickAt, tickAt])
})
