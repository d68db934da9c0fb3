// Pins: what may wait for a moment begins at the last shared tick before it is due, and never later than due.
import { expect, test } from 'vitest'
import { Bell } from '../../src/kernel/bell.ts'
import { SharedMoments, sharedTickBefore } from '../../src/kernel/shared-ticks.ts'

test('tasks due at different moments start at the same tick', () => {
  expect([1_101, 1_120, 1_149.9].map((at) => sharedTickBefore(at, 1_010))).toEqual([1_100, 1_100, 1_100])
})

test('a time that is a tick stays the same', () => {
  expect(sharedTickBefore(1_100, 1_010)).toBe(1_100)
})

test('a task due before the next tick starts when it is due', () => {
  expect([sharedTickBefore(1_049, 1_010), sharedTickBefore(1_049, 1_000), sharedTickBefore(990, 1_010)]).toEqual([
    1_049, 1_049, 990,
  ])
})

test('a wait for a moment ends at once when it is stopped, and a bell that was taken back never rings', async () => {
  const moments = new SharedMoments()
  const stopping = new AbortController()
  const far = moments.until(performance.now() + 600_000, stopping.signal)
  const begun: string[] = []
  const bellOf = (name: string): Bell => {
    const bell = new Bell()
    void bell.rung().then(() => begun.push(name))
    return bell
  }
  const soon = performance.now() + 20
  expect(moments.at(soon, bellOf('taken back'))()).toBe(true)
  const takeBack = moments.at(soon, bellOf('first'))
  await moments.until(soon, stopping.signal)
  expect([begun, takeBack()]).toEqual([['first'], false])
  stopping.abort()
  await far
  await moments.until(performance.now() + 600_000, stopping.signal)
})
