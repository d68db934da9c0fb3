// Pins: how many messages the lanes of a process take at a time, and in which order the others follow.
import { expect, test } from 'vitest'
import { TakeTurns } from '../../src/worker/sending/take-turns.ts'

/** Lanes that take so many messages each; `begun` has their names in order. */
function lanesTaking(turns: TakeTurns, most: number) {
  const begun: string[] = []
  const named = new Map<string, () => void>()
  const ask = (name: string): void => {
    const again = named.get(name) ?? (() => ask(name))
    named.set(name, again)
    if (turns.begin(most, again)) begun.push(name)
  }
  return { begun, ask, leave: (name: string) => turns.leave(named.get(name) ?? (() => {})) }
}

test('lanes that take few messages all start at once', () => {
  const { begun, ask } = lanesTaking(new TakeTurns(), 10)
  for (const name of ['a', 'b', 'c']) ask(name)
  expect(begun).toEqual(['a', 'b', 'c'])
})

test('beyond 500 messages lanes wait, and each end lets the one that waited longest start', () => {
  const turns = new TakeTurns()
  const { begun, ask } = lanesTaking(turns, 200)
  for (const name of ['a', 'b', 'c', 'd']) ask(name)
  expect(begun).toEqual(['a', 'b'])
  turns.end(200)
  expect(begun).toEqual(['a', 'b', 'c'])
  // Who has just ended goes to the end of the line.
  ask('a')
  turns.end(200)
  turns.end(200)
  expect(begun).toEqual(['a', 'b', 'c', 'd', 'a'])
})

test('a step of more than that runs alone', () => {
  const turns = new TakeTurns()
  const { begun, ask } = lanesTaking(turns, 900)
  for (const name of ['a', 'b']) ask(name)
  expect(begun).toEqual(['a'])
  turns.end(900)
  expect(begun).toEqual(['a', 'b'])
})

test('a lane that no longer waits delays nobody, whether it asks again or leaves', () => {
  const turns = new TakeTurns()
  const { begun, ask, leave } = lanesTaking(turns, 300)
  for (const name of ['a', 'b', 'c']) ask(name)
  ask('c')
  leave('b')
  leave('nobody')
  expect(begun).toEqual(['a'])
  turns.end(300)
  expect(begun).toEqual(['a', 'c'])
})

test('a lane that needs nothing when its turn comes lets the next one start', () => {
  const turns = new TakeTurns()
  const { begun, ask } = lanesTaking(turns, 300)
  ask('a')
  const needsNothing = (): void => turns.leave(needsNothing)
  expect(turns.begin(300, needsNothing)).toBe(false)
  ask('c')
  turns.end(300)
  expect(begun).toEqual(['a', 'c'])
})
