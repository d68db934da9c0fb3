// Pins: who rings a bell goes on when who waits for it has looked again.
import { expect, test } from 'vitest'
import { Bell } from '../../src/kernel/bell.ts'

test('who waits looks again before who rings goes on, and each ring wakes it once', async () => {
  const bell = new Bell()
  const seen: string[] = []
  const wait = async (): Promise<void> => {
    for (;;) {
      await bell.rung()
      seen.push('looked')
    }
  }
  void wait()
  for (const _ of [1, 2]) {
    await bell.ring()
    seen.push('went on')
  }
  expect(seen).toEqual(['looked', 'went on', 'looked', 'went on'])
})

test('a ring that nobody waits for wakes nobody later', async () => {
  const bell = new Bell()
  await bell.ring()
  let isWoken = false
  void bell.rung().then(() => (isWoken = true))
  await new Promise(setImmediate)
  expect(isWoken).toBe(false)
})
