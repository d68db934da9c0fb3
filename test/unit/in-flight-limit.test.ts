// Pins: what lanes may have in flight follows pace and answer time, within what the process bears, and is shared.
import { expect, test } from 'vitest'
import { Bell } from '../../src/kernel/bell.ts'
import { paceOf } from '../../src/model/messages/pace.ts'
import { createInFlightLimits } from '../../src/worker/sending/in-flight-limit.ts'

/** A lane of so many messages a second whose provider takes so long (ms). `freed` is called each time that its bell rings. */
function laneIn(limits: ReturnType<typeof createInFlightLimits>, rate: number, answerMs: number, freed = () => {}) {
  const bell = new Bell()
  const inFlightLimit = limits.add(bell)
  const wait = async (): Promise<void> => {
    for (;;) {
      inFlightLimit.ringWhenFreed()
      await bell.rung()
      freed()
    }
  }
  void wait()
  inFlightLimit.setPace(paceOf(rate))
  for (let i = 0; i < 200; i += 1) inFlightLimit.answered(answerMs)
  return inFlightLimit
}

/** All that follows from freed room has happened. */
const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve))

test('a lane may have pace times answer time in flight, twice over', () => {
  const limits = createInFlightLimits(6_000)
  const inFlightLimit = laneIn(limits, 1_000, 1_000)
  expect(inFlightLimit.available()).toBeGreaterThan(1_900)
  expect(inFlightLimit.available()).toBeLessThan(2_100)
  expect(inFlightLimit.answerMs()).toBe(1_000)
})

test('a lane whose provider answers at once still has room for a step', () => {
  expect(laneIn(createInFlightLimits(6_000), 80, 1).available()).toBe(200)
})

test('all lanes together never exceed the limit of the process, and a lane short of room goes on when there is some', async () => {
  const limits = createInFlightLimits(100)
  let told = 0
  const [greedy, other] = [laneIn(limits, 1_000, 1_000), laneIn(limits, 1_000, 1_000, () => (told += 1))]
  greedy.begin(greedy.available())
  expect(limits.inFlight()).toBe(100)
  expect(other.available()).toBe(0)
  greedy.end()
  await settled()
  expect(told).toBe(1)
  expect(other.available()).toBe(1)
})

test('a lane goes on after each of its own messages that ends', async () => {
  let told = 0
  const inFlightLimit = laneIn(createInFlightLimits(100), 80, 1, () => (told += 1))
  inFlightLimit.begin(3)
  await settled()
  inFlightLimit.ringWhenFreed()
  inFlightLimit.end()
  await settled()
  inFlightLimit.end(2)
  await settled()
  expect(told).toBe(2)
})

test('in a full process a lane is limited to an equal share', () => {
  const limits = createInFlightLimits(100)
  const [one, two] = [laneIn(limits, 1_000, 1_000), laneIn(limits, 1_000, 1_000)]
  one.begin(40)
  two.begin(20)
  expect(one.available()).toBe(10)
  expect(two.available()).toBe(30)
})

test('a lane limited to its share goes on when the shares have grown, though none of its own messages has ended', async () => {
  const limits = createInFlightLimits(100)
  let told = 0
  const one = laneIn(limits, 1_000, 1_000, () => (told += 1))
  const two = laneIn(limits, 1_000, 1_000)
  two.begin(50)
  one.begin(50)
  expect(one.available()).toBe(0)
  two.end(49)
  expect(one.available()).toBe(0)
  two.end()
  await settled()
  expect(told).toBeGreaterThan(0)
  expect(one.available()).toBe(50)
})

test('a lane limited to its share goes on when the shares have grown, though another took some of the freed room first', async () => {
  const limits = createInFlightLimits(100)
  let told = 0
  const one = laneIn(limits, 1_000, 1_000, () => (told += 1))
  const [two, three] = [laneIn(limits, 1_000, 1_000), laneIn(limits, 1_000, 1_000)]
  const waiting = laneIn(limits, 1_000, 1_000, () =>
    waiting.begin(Math.min(5 - waiting.running(), waiting.available())),
  )
  one.begin(28)
  two.begin(12)
  three.begin(60)
  expect(waiting.available()).toBe(0)
  expect(one.available()).toBe(0)
  two.end(12)
  await settled()
  expect(waiting.running()).toBe(5)
  expect(told).toBeGreaterThan(0)
  expect(one.available()).toBe(5)
})

/** Lanes that take room for one message whenever there is some; `took` has their numbers in the order in which they did. */
function takers(limits: ReturnType<typeof createInFlightLimits>, count: number) {
  const took: number[] = []
  const lanes = Array.from({ length: count }, (_, i) => {
    const take = () => {
      if (lane.available() === 0) return
      lane.begin(1)
      took.push(i)
    }
    const lane = laneIn(limits, 80, 1_000, take)
    return { end: lane.end, take }
  })
  return { took, lanes }
}

test('freed room goes to the lane that has waited longest, not back to the one that had it', async () => {
  const { took, lanes } = takers(createInFlightLimits(2), 4)
  for (const { take } of lanes) take()
  expect(took).toEqual([0, 1])
  lanes[0]?.end()
  lanes[1]?.end()
  await settled()
  expect(took.slice(2)).toEqual([2, 3])
})

test.each([
  [1, 2],
  [3, 5],
  [100, 101],
  [20, 40],
])('in a room of %i, %i lanes that always want more take turns', async (most, count) => {
  const { took, lanes } = takers(createInFlightLimits(most), count)
  for (const { take } of lanes) take()
  // What was taken first is answered first.
  for (let ended = 0; ended < 10 * count; ended += 1) {
    lanes[took[ended] ?? 0]?.end()
    await settled()
  }
  const turns = lanes.map((_, i) => took.filter((each) => each === i).length)
  expect(Math.max(...turns) - Math.min(...turns)).toBeLessThanOrEqual(1)
})

test('a waiting lane has its equal share reserved, until it wants nothing more', async () => {
  const limits = createInFlightLimits(100)
  const [one, two] = [laneIn(limits, 1_000, 1_000), laneIn(limits, 1_000, 1_000)]
  const three = laneIn(limits, 1_000, 1_000, () => void three.available())
  one.begin(60)
  two.begin(40)
  expect(three.available()).toBe(0)
  one.end(30)
  await settled()
  expect(one.available()).toBe(3)
  three.close()
  expect(one.available()).toBe(20)
})

test('asking what bounds a lane does not make it wait', async () => {
  const limits = createInFlightLimits(100)
  let told = 0
  const [one, idle] = [laneIn(limits, 1_000, 1_000), laneIn(limits, 1_000, 1_000, () => (told += 1))]
  one.begin(100)
  idle.bound(0)
  one.end(30)
  await settled()
  expect(told).toBe(0)
  expect(one.available()).toBe(30)
})

test('all waiting lanes go on when everything ends at once', async () => {
  const limits = createInFlightLimits(100)
  const told = new Set<number>()
  const greedy = laneIn(limits, 1_000, 1_000)
  const others = Array.from({ length: 50 }, (_, i) => laneIn(limits, 80, 1, () => told.add(i)))
  greedy.begin(100)
  for (const other of others) expect(other.available()).toBe(0)
  greedy.end(100)
  await settled()
  expect(told.size).toBe(50)
})

test('idle resolves once nothing is in flight', async () => {
  const limits = createInFlightLimits(10)
  await limits.idle()
  const inFlightLimit = laneIn(limits, 80, 1)
  inFlightLimit.begin(2)
  let isIdle = false
  const idle = limits.idle().then(() => {
    isIdle = true
  })
  inFlightLimit.end()
  await Promise.resolve()
  expect(isIdle).toBe(false)
  inFlightLimit.end()
  await idle
})

test('lanes that look at the same time while others are offered room end with a look each, not with endless ones', async () => {
  const limits = createInFlightLimits(100)
  const filler = laneIn(limits, 1_000, 1_000)
  filler.begin(90)
  let looks = 0
  /** For whom something new comes while the first of them looks. */
  const woken: number[] = []
  const lanes = [0, 1, 2].map((i) => {
    const bell = new Bell()
    const inFlightLimit = limits.add(bell)
    inFlightLimit.setPace(paceOf(1_000))
    const serve = async (): Promise<void> => {
      // A lane whose loop never ended would hold up the whole process, and this test.
      for (; looks < 1_000; looks += 1) {
        // What there is room for is not worth a step.
        if (inFlightLimit.available() < 20) inFlightLimit.ringWhenFreed()
        const wakes = i === 0 ? woken.shift() : undefined
        if (wakes !== undefined) void lanes[wakes]?.ring()
        await bell.rung()
      }
    }
    void serve()
    return bell
  })
  woken.push(1, 2)
  filler.end()
  await settled()
  expect(looks).toBeLessThan(30)
})
