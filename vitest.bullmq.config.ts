// `npm run test:bullmq`, see scripts/test-bullmq.mjs: the tests of what knows BullMQ, src/lanes and the client.
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import everyTest from './vitest.config.ts'

/** Where another BullMQ is installed than the pinned one, and whether only the client has that. */
const { LANEWAY_TEST_BULLMQ: folder, LANEWAY_TEST_BULLMQ_OF: of } = process.env
const other = folder && createRequire(join(folder, 'package.json')).resolve('bullmq')

const CLIENT = ['campaign-once.slow', 'client.slow', 'client-campaigns.slow', 'client-two-way', 'jobs-page']
const ROOM = [
  ...['add-jobs', 'bullmq-layout', 'chunk-round-robin', 'dashboard', 'dead-letters', 'dead-letters.slow', 'event-pump'],
  ...['event-retries.slow', 'fair-erasures', 'gallery-moves.slow', 'intake', 'intake-raw.slow', 'lane-clear.slow'],
  ...['next-jobs', 'queue-worker', 'redis-errors', 'status-polls.slow'],
]

export default defineConfig({
  plugins: [
    {
      name: 'another BullMQ',
      enforce: 'pre',
      resolveId: (name, importer = '') =>
        other && name === 'bullmq' && (of !== 'client' || importer.includes('/packages/client/')) ? other : undefined,
    },
  ],
  test: {
    ...everyTest.test,
    // Only a run of all tests is held to all answers.
    globalSetup: ['test/support/global-setup.ts', 'test/support/in-memory.ts'],
    include: [...(of === 'client' ? [] : ROOM), ...CLIENT].map((name) => `test/component/${name}.test.ts`),
    // It would keep which BullMQ a module has.
    experimental: { fsModuleCache: folder === undefined },
  },
})
