// Pins: what lanes may have in flight follows pace and answer time, within what the process bears, and is shared.
import { expect, test } from 'vitest'
import { paceOf } from '../../src/model/messages/pace.ts'
import { createLaneRooms } from '../../src/worker/sending/lane-room.ts'

/** A lane of so many messages a second whose provider takes so long (ms). */
function laneIn(rooms: ReturnType<typeof createLaneRooms>, rate: number, answerMs: number, freed = () => {}) {
  const room = rooms.add(freed)
  room.paced(paceOf(rate))
  for (let i = 0; i < 200; i += 1) room.answered(answerMs)
  return room
}

test('a lane may have in flight what its pace and the answer time come to, twice over', () => {
  const rooms = createLaneRooms(6_000)
  const room = laneIn(rooms, 1_000, 1_000)
  expect(room.left()).toBeGreaterThan(1_900)
  expect(room.left()).toBeLessThan(2_100)
  expect(room.answerMs()).toBe(1_000)
})

test('a lane whose provider answers at once still has room for a step', () => {
  expect(laneIn(createLaneRooms(6_000), 80, 1).left()).toBe(200)
})

test('all lanes together never have more than the process bears, and a lane that was short is told when a place is free', () => {
  const rooms = createLaneRooms(100)
  let told = 0
  const [greedy, other] = [laneIn(rooms, 1_000, 1_000), laneIn(rooms, 1_000, 1_000, () => (told += 1))]
  greedy.begin(greedy.left())
  expect(rooms.inFlight()).toBe(100)
  expect(other.left()).toBe(0)
  greedy.end()
  expect(told).toBe(1)
  expect(other.left()).toBe(1)
})

test('a lane is told of each of its own places that comes free', () => {
  let told = 0
  const room = laneIn(createLaneRooms(100), 80, 1, () => (told += 1))
  room.begin(3)
  room.end()
  room.end(2)
  expect(told).toBe(2)
})

test('on a crowded process a lane is held to an equal part', () => {
  const rooms = createLaneRooms(100)
  const [one, two] = [laneIn(rooms, 1_000, 1_000), laneIn(rooms, 1_000, 1_000)]
  one.begin(40)
  two.begin(20)
  expect(one.left()).toBe(10)
  expect(two.left()).toBe(30)
})

test('a lane held to its part is told when the parts have grown, though none of its own messages has ended', () => {
  const rooms = createLaneRooms(100)
  let told = 0
  const one = laneIn(rooms, 1_000, 1_000, () => (told += 1))
  const two = laneIn(rooms, 1_000, 1_000)
  two.begin(50)
  one.begin(50)
  expect(one.left()).toBe(0)
  two.end(49)
  expect(one.left()).toBe(0)
  two.end()
  expect(told).toBeGreaterThan(0)
  expect(one.left()).toBe(50)
})

/** Lanes that take a place whenever they get one; `took` has their numbers in the order in which they did. */
function takers(rooms: ReturnType<typeof createLaneRooms>, count: number) {
  const took: number[] = []
  const lanes = Array.from({ length: count }, (_, i) => {
    const take = () => {
      if (lane.left() === 0) return
      lane.begin(1)
      took.push(i)
    }
    const lane = laneIn(rooms, 80, 1_000, take)
    return { end: lane.end, take }
  })
  return { took, lanes }
}

test('a place that comes free goes to the lane that has waited longest, not back to the one that had it', () => {
  const { took, lanes } = takers(createLaneRooms(2), 4)
  for (const { take } of lanes) take()
  expect(took).toEqual([0, 1])
  lanes[0]?.end()
  lanes[1]?.end()
  expect(took.slice(2)).toEqual([2, 3])
})

test.each([
  [1, 2],
  [3, 5],
  [100, 101],
  [20, 40],
])('in a room of %i, %i lanes that always want more take turns', (most, count) => {
  const { took, lanes } = takers(createLaneRooms(most), count)
  for (const { take } of lanes) take()
  // What was taken first is answered first.
  for (let ended = 0; ended < 10 * count; ended += 1) lanes[took[ended] ?? 0]?.end()
  const turns = lanes.map((_, i) => took.filter((each) => each === i).length)
  expect(Math.max(...turns) - Math.min(...turns)).toBeLessThanOrEqual(1)
})

test('a lane that waits has its equal part kept for it, until it wants nothing more', () => {
  const rooms = createLaneRooms(100)
  const [one, two] = [laneIn(rooms, 1_000, 1_000), laneIn(rooms, 1_000, 1_000)]
  const three = laneIn(rooms, 1_000, 1_000, () => void three.left())
  one.begin(60)
  two.begin(40)
  expect(three.left()).toBe(0)
  one.end(30)
  expect(one.left()).toBe(3)
  three.leave()
  expect(one.left()).toBe(20)
})

test('asking what keeps a lane from having more does not make it one that waits', () => {
  const rooms = createLaneRooms(100)
  let told = 0
  const [one, idle] = [laneIn(rooms, 1_000, 1_000), laneIn(rooms, 1_000, 1_000, () => (told += 1))]
  one.begin(100)
  idle.bound(0)
  one.end(30)
  expect(told).toBe(0)
  expect(one.left()).toBe(30)
})

test('all lanes that wait are told when everything ends at once', () => {
  const rooms = createLaneRooms(100)
  const told = new Set<number>()
  const greedy = laneIn(rooms, 1_000, 1_000)
  const others = Array.from({ length: 50 }, (_, i) => laneIn(rooms, 80, 1, () => told.add(i)))
  greedy.begin(100)
  for (const other of others) expect(other.left()).toBe(0)
  greedy.end(100)
  expect(told.size).toBe(50)
})

test('idle resolves once nothing is in flight', async () => {
  const rooms = createLaneRooms(10)
  await rooms.idle()
  const room = laneIn(rooms, 80, 1)
  room.begin(2)
  let isIdle = false
  const idle = rooms.idle().then(() => {
    isIdle = true
  })
  room.end()
  await Promise.resolve()
  expect(isIdle).toBe(false)
  room.end()
  await idle
})
