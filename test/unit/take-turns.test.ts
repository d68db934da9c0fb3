// Pins: how many messages the lanes of a process take at a time, and in which order the others follow.
import { expect, test } from 'vitest'
import { Bell } from '../../src/kernel/bell.ts'
import { TakeTurns } from '../../src/worker/sending/take-turns.ts'

/** Lanes that take so many messages each; `begun` has their names in order. */
function lanesTaking(turns: TakeTurns, most: number) {
  const begun: string[] = []
  const bells = new Map<string, Bell>()
  const bellOf = (name: string): Bell => {
    const bell = bells.get(name) ?? new Bell()
    bells.set(name, bell)
    return bell
  }
  const ask = async (name: string): Promise<void> => {
    while (!turns.begin(most, bellOf(name))) await bellOf(name).rung()
    begun.push(name)
  }
  return { begun, ask: (name: string) => void ask(name), leave: (name: string) => turns.leave(bellOf(name)) }
}

/** Ends a step, and waits until those that it lets start have started. */
async function end(turns: TakeTurns, most: number): Promise<void> {
  turns.end(most)
  await new Promise(setImmediate)
}

test('lanes that take few messages all start at once', () => {
  const { begun, ask } = lanesTaking(new TakeTurns(), 10)
  for (const name of ['a', 'b', 'c']) ask(name)
  expect(begun).toEqual(['a', 'b', 'c'])
})

test('beyond 500 messages lanes wait, and each end lets the one that waited longest start', async () => {
  const turns = new TakeTurns()
  const { begun, ask } = lanesTaking(turns, 200)
  for (const name of ['a', 'b', 'c', 'd']) ask(name)
  expect(begun).toEqual(['a', 'b'])
  await end(turns, 200)
  expect(begun).toEqual(['a', 'b', 'c'])
  // Who has just ended goes to the end of the line.
  ask('a')
  await end(turns, 200)
  await end(turns, 200)
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'a'])
})

test('steps that end together let as many lanes start', async () => {
  const turns = new TakeTurns()
  const { begun, ask } = lanesTaking(turns, 250)
  for (const name of ['a', 'b', 'c', 'd']) ask(name)
  turns.end(250)
  await end(turns, 250)
  expect(begun).toEqual(['a', 'b', 'c', 'd'])
})

test('a step of more than that runs alone', async () => {
  const turns = new TakeTurns()
  const { begun, ask } = lanesTaking(turns, 900)
  for (const name of ['a', 'b']) ask(name)
  expect(begun).toEqual(['a'])
  await end(turns, 900)
  expect(begun).toEqual(['a', 'b'])
})

test('a lane that no longer waits delays nobody', async () => {
  const turns = new TakeTurns()
  const { begun, ask, leave } = lanesTaking(turns, 300)
  for (const name of ['a', 'b', 'c']) ask(name)
  leave('b')
  leave('nobody')
  expect(begun).toEqual(['a'])
  await end(turns, 300)
  expect(begun).toEqual(['a', 'c'])
})

test('a lane that needs nothing when its turn comes lets the next one start', async () => {
  const turns = new TakeTurns()
  const { begun, ask } = lanesTaking(turns, 300)
  ask('a')
  const bell = new Bell()
  expect(turns.begin(300, bell)).toBe(false)
  void bell.rung().then(() => turns.leave(bell))
  ask('c')
  await end(turns, 300)
  expect(begun).toEqual(['a', 'c'])
})

test('a lane in line that does something else is passed over, and has its place when it is done', async () => {
  const turns = new TakeTurns()
  const { begun, ask } = lanesTaking(turns, 300)
  ask('a')
  const bell = new Bell()
  expect(turns.begin(300, bell)).toBe(false)
  for (const name of ['b', 'c']) ask(name)
  await end(turns, 300)
  expect(begun).toEqual(['a', 'b'])
  expect(turns.begin(300, bell)).toBe(false)
  void bell.rung().then(() => turns.begin(300, bell) && begun.push('the first'))
  await end(turns, 300)
  expect(begun).toEqual(['a', 'b', 'the first'])
  await end(turns, 300)
  expect(begun).toEqual(['a', 'b', 'the first', 'c'])
})

test('a lane that needs less than it waited for, and begins by itself, lets those behind it begin', async () => {
  const turns = new TakeTurns()
  const { begun, ask } = lanesTaking(turns, 150)
  expect(turns.begin(300, new Bell())).toBe(true)
  const bell = new Bell()
  expect(turns.begin(300, bell)).toBe(false)
  void bell.rung()
  ask('b')
  expect(begun).toEqual([])
  expect(turns.begin(50, bell)).toBe(true)
  await new Promise(setImmediate)
  expect(begun).toEqual(['b'])
})

test('a lane whose step has ended does not begin another before those in line, though the first of them needs nothing', async () => {
  const turns = new TakeTurns()
  const { begun, ask } = lanesTaking(turns, 300)
  ask('a')
  const bell = new Bell()
  expect(turns.begin(300, bell)).toBe(false)
  void bell.rung().then(() => turns.leave(bell))
  ask('c')
  turns.end(300)
  // As a loop goes on after its step: a moment after those that the end of its turn rang for.
  await Promise.resolve()
  ask('a')
  await end(turns, 0)
  expect(begun).toEqual(['a', 'c'])
  await end(turns, 300)
  expect(begun).toEqual(['a', 'c', 'a'])
})
