// Pins: the steps of messages, lanes, campaigns and queues keep to one slot, by running their own tests on a cluster of
// three primaries instead of one server.
import { expect, test } from 'vitest'
import { startProcess } from '../support/processes.ts'

/** What uses Redis through our connections alone. */
const FILES = ['message-steps', 'sending', 'sweep', 'requeue', 'lanes', 'gallery-moves', 'campaign-claim']

/** Of those: what changes or counts something of one server. */
const OF_ONE_SERVER = [
  'a broken record is 500 and moves nothing, and the job is failed',
  'a Redis that does not answer is reported in time',
  'a Redis that refuses subscriptions',
  'a lane that serves messages holds no connection of its own',
  'steps that record what happened work on a full Redis',
]

test('tests of the components pass on a cluster', async () => {
  const run = startProcess(
    process.execPath,
    [
      ...['node_modules/vitest/vitest.mjs', 'run', '-t', `^(?!.*(${OF_ONE_SERVER.join('|')}))`],
      ...FILES.map((name) => `test/component/${name}.`),
    ],
    { LANEWAY_TEST_REDIS: 'cluster' },
  )
  const { code } = await run.ended
  // Vitest says on stderr what failed, and on stdout what passed.
  expect(code, run.stderr().slice(-8_000)).toBe(0)
})
