// Pins: where Redis keeps what is known to one folder of the tests, test/support/state/. All others say what they want to
// know or to arrange, so that what is kept elsewhere one day is changed there alone.
import { readdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { expect, test } from 'vitest'

const TEST = resolve(import.meta.dirname, '..')
/** They judge what is kept from outside, and arrange trouble in it. */
const NO_TESTS = /^(prove|fuzz|testbed)\//
const DOOR = 'support/state/'

/** Tests of the storage itself: of keys, of BullMQ's layout, and of what the documentation says of them. */
const KNOWING = [
  'component/add-jobs.test.ts',
  'component/bullmq-layout.test.ts',
  'component/usual-way.test.ts',
  'security/forgotten.test.ts',
  'unit/imports.test.ts',
  'unit/privacy-docs.test.ts',
  'unit/stored-letters.test.ts',
]

const KNOWS: readonly RegExp[] = [
  /(from |import\()'[^']*(redis\/keys|bullmq\/layout)\.ts'/,
  /\b(from |import\(|require\(|of\()'bullmq'/,
  // Keys written out: ours and those of the intake queue, what stands in braces in one, and what BullMQ's end with.
  /\b(lw|bull):/,
  /\{[a-z](\d+\}|\$\{)/,
  /(?<!node):(wait|prioritized|delayed|active|stalled|failed|completed|limiter|marker|meta|pc|events|outbox)['"`]/,
  // A search for keys, unless it is for all of them.
  /\b[rR]edis\.(keys|scan\w*)\((?!'\*'\))/,
  // BullMQ's queue of a lane, its keys, and its jobs as a Worker takes them.
  /\b(queueOf|toKey|getNextJob|moveToActive)\(/,
]

/** Files of tests that know it. The measure is wide: who searches for keys or waits for one by its end knows it as well. */
const knowing = readdirSync(TEST, { recursive: true, encoding: 'utf8' })
  .filter((file) => /\.(ts|mjs)$/.test(file) && !file.includes('node_modules/') && !NO_TESTS.test(file))
  .filter((file) => KNOWS.some((pattern) => pattern.test(readFileSync(join(TEST, file), 'utf8'))))
  .sort()

test('only test/support/state and the tests of storage itself know a key or how BullMQ stores jobs', () => {
  expect(knowing.filter((file) => !file.startsWith(DOOR))).toEqual(KNOWING)
})

test('the files that know storage stay few, test/support/state included', () => {
  expect(knowing.length).toBeLessThanOrEqual(15)
})
