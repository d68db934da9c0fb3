// Pins: a test that calls the HTTP interface with a key leaves the header to the one client (test/support/api.ts).
import { readdirSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { expect, test } from 'vitest'

const TESTS = resolve(import.meta.dirname, '..')

/** What writes the header itself, and why. The proof and the fuzzer are programs of their own, with clients of their own. */
const BY_HAND: Readonly<Record<string, readonly string[]>> = {
  'is the client': ['support/api.ts'],
  'plays a client of WhatsApp': ['support/simulator-wires.ts'],
  'is about what a key looks like and where it travels': [
    'component/dashboard.test.ts',
    'component/redis-away.slow.test.ts',
    'component/request-rules.slow.test.ts',
    'component/route-access.slow.test.ts',
    'security/connections.test.ts',
  ],
  'writes a request to a socket, or connects in a way that fetch has not': [
    'component/campaign-files.slow.test.ts',
    'component/console-stream.test.ts',
    'component/gallery-upload.slow.test.ts',
    'component/rare-answers.test.ts',
    'security/hang-ups.test.ts',
    'security/heavy-reads.test.ts',
    'security/hostile-forms.test.ts',
    'security/slow-readers.test.ts',
    'servers/reverse-proxy.test.ts',
  ],
}

test('no other test writes the header with its key itself', () => {
  const files = readdirSync(TESTS, { encoding: 'utf8', recursive: true }).filter((file) =>
    /^(?!prove|fuzz).*\.ts$/.test(file),
  )
  expect(files.length).toBeGreaterThan(300)
  const writers = files.filter((file) => /Bearer \$\{/.test(readFileSync(resolve(TESTS, file), 'utf8')))
  const allowed = new Set(Object.values(BY_HAND).flat())
  expect(writers.filter((file) => !allowed.has(file))).toEqual([])
})
