// Pins: where Redis keeps what is known to one folder of the tests, test/support/state/. All others say what they want to
// know or to arrange, so that what is kept elsewhere one day is changed there alone.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const TEST = resolve(import.meta.dirname, '..')
const DOOR = 'support/state/'

/** Tests of the storage itself: of keys, of BullMQ's layout and its errors, of scripts, and of what outsiders see of it. */
const KNOWING = [
  'component/add-jobs.test.ts',
  'component/bullmq-layout.test.ts',
  'component/intake-raw.slow.test.ts',
  'component/redis-errors.test.ts',
  'security/dashboard-leaks.test.ts',
  'security/forgotten.test.ts',
  'support/lane-by-hand.ts',
  'unit/client-contract.test.ts',
  'unit/imports.test.ts',
  'unit/privacy-docs.test.ts',
  'unit/state-door.test.ts',
]

const KNOWS: readonly RegExp[] = [
  /from '[^']*\/(redis\/keys|queue\/layout)\.ts'/,
  /from 'bullmq'/,
  // Keys written out: ours, and those of the intake queue.
  /\b(lw|bull):/,
  // BullMQ's queue of a lane, and its jobs as a Worker takes them.
  /\b(queueOf|chunkQueueOf|getNextJob|moveToActive)\(/,
]

test('only the door and the tests of the storage itself know a key or how BullMQ keeps its jobs', () => {
  const knowing = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith(DOOR))
    .filter((file) => KNOWS.some((pattern) => pattern.test(readFileSync(join(TEST, file), 'utf8'))))
  expect(knowing.sort()).toEqual(KNOWING)
})

test('the tests of the storage itself stay few', () => {
  expect(KNOWING.length).toBeLessThanOrEqual(15)
})
