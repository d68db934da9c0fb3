// Pins: long work on what is in memory shares the event-loop ticks, however much of it there is at a time.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { createYielder } from '../../src/files/yield-to-loop.ts'

const SLICE_MS = 1

/** Work of some slices, each of which asks for its turn before it burns some time. */
async function worked(slices: number, done: () => void): Promise<void> {
  const yieldToLoop = createYielder()
  for (let slice = 0; slice < slices; slice += 1) {
    await yieldToLoop(Number.POSITIVE_INFINITY)
    for (const endMs = performance.now() + SLICE_MS; performance.now() < endMs; );
    done()
  }
}

test('of a hundred files being read, a few get a slice in each turn, and all are finished', async () => {
  let slices = 0
  let isOver = false
  const each = Array.from({ length: 100 }, () => worked(3, () => (slices += 1)))
  const all = Promise.all(each).then(() => {
    isOver = true
  })
  const inTurns: number[] = []
  for (let before = 0; !isOver; before = slices) {
    await nextTurn()
    inTurns.push(slices - before)
  }
  await all
  expect(slices).toBe(300)
  // Five of a millisecond, and the one that is begun then; a turn of the others falls between two looks at most.
  expect(Math.max(...inTurns)).toBeLessThanOrEqual(12)
})

test('a single task runs in every turn', async () => {
  let slices = 0
  const work = worked(20, () => (slices += 1))
  for (let turn = 0; turn < 60; turn += 1) await nextTurn()
  expect(slices).toBe(20)
  await work
})
