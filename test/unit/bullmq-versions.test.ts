// Pins: which versions of BullMQ the client takes, and what npm run test:bullmq runs with them.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { bullmqTests } from '../support/bullmq-tests.ts'

const named = z.record(z.string(), z.string())
const read = (path: string): unknown => JSON.parse(readFileSync(path, 'utf8'))

test('the client accepts every BullMQ from the oldest one tested to the next major after the pinned one', () => {
  const { dependencies: ours } = z.object({ dependencies: named }).parse(read('package.json'))
  const { dependencies } = z.object({ dependencies: named }).parse(read('packages/client/package.json'))
  const nextMajor = Number(ours.bullmq?.split('.')[0]) + 1
  // scripts/test-bullmq.mjs reads the oldest from here.
  expect(dependencies.bullmq).toBe(`>=5.21.0 <${nextMajor}.0.0`)
})

const files = bullmqTests({ isOfClientOnly: false })

test('every test file listed for npm run test:bullmq exists', () => {
  expect(files.filter((file) => !existsSync(file))).toEqual([])
})

test('npm run test:bullmq runs the tests of the client and those that use BullMQ directly', () => {
  const knows = /from '(bullmq|[./]*\/src\/lanes\/bullmq\/[\w-]+\.ts|[./]*\/packages\/client\/src\/index\.ts)'/
  const knowing = readdirSync('test/component')
    .map((file) => join('test/component', file))
    .filter((file) => knows.test(readFileSync(file, 'utf8')))
  expect(knowing.length).toBeGreaterThan(5)
  expect(knowing.filter((file) => !files.includes(file))).toEqual([])
})
