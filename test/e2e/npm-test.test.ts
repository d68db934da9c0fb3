// `npm test` itself: what it passes on to vitest and what it ends with.
import { expect, test } from 'vitest'
import { startProcess } from '../support/processes.ts'

const run = (...args: string[]) => startProcess(process.execPath, ['scripts/test.mjs', ...args], {})

test.concurrent('npm test passes its arguments on and ends with one line of totals', async () => {
  const tests = run('test/unit/env-example.test.ts', '-t', 'names every setting')
  expect(await tests.ended).toEqual({ code: 0, signal: null })
  expect(tests.stdout().trimEnd().split('\n').at(-1)).toBe('1 passed, 0 failed')
})

test.concurrent('npm test fails when it finds nothing to test', async () => {
  const tests = run('test/unit/there-is-no-such.test.ts')
  expect(await tests.ended).toMatchObject({ code: 1 })
  expect(tests.stdout().trimEnd().split('\n').at(-1)).toBe('0 passed, 1 failed')
})
