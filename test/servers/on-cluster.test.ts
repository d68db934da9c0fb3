// Pins: the steps of messages, lanes, campaigns and queues keep to one slot, by running their own tests on a cluster of
// three primaries instead of one server.
import { expect, test } from 'vitest'
import { startProcess } from '../support/processes.ts'

/** What uses Redis through our connections alone, and counts nothing of a single server. */
const FILES = ['message-steps', 'sending', 'sweep', 'requeue', 'lanes', 'gallery-moves', 'campaign-claim']

test('tests of the components pass on a cluster', async () => {
  const run = startProcess(
    process.execPath,
    ['node_modules/vitest/vitest.mjs', 'run', '--testTimeout=60000', ...FILES.map((name) => `test/component/${name}.`)],
    { LANEWAY_TEST_REDIS: 'cluster' },
  )
  const { code } = await run.ended
  expect(code, run.stdout().slice(-4_000)).toBe(0)
}, 600_000)
