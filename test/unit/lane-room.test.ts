// Pins: what lanes may have in flight follows pace and answer time, within what the process bears, and is shared.
import { expect, test } from 'vitest'
import { paceOf } from '../../src/messages/pace.ts'
import { createLaneRooms } from '../../src/worker/lane-room.ts'

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
