// Pins: docs/how-it-works/privacy.md has a line for every key that Laneway keeps in Redis, so that nothing is kept unsaid.
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import * as keys from '../../src/redis/keys.ts'
import { readPage, tableUnder } from '../support/pages.ts'

/** Every key that src/redis/keys.ts builds, with something in the place of each id. */
function built(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  if (typeof value === 'function') return built(Reflect.apply(value, undefined, ['12', '34', '56']))
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(built) : []
}

const documented = tableUnder(readPage('docs/how-it-works/privacy.md'), 'Every key in Redis')
  .flatMap(([names = '']) => Array.from(names.matchAll(/`([^`]+)`/g), ([, name = '']) => name))
  .map((name) => {
    const pattern = name.replaceAll(/[{}]/g, '\\$&').replaceAll(/<[^>]+>/g, '[^:{}]+')
    return { name, pattern: new RegExp(`^${pattern.replaceAll(/\*/g, '.*').replaceAll(/\d+/g, '\\d+')}$`) }
  })

// Not keys: what stands for an id in one, and ends of keys.
const { inboundDigest: _digest, SUFFIX: _suffix, ...builders } = keys

test('every key of src/redis/keys.ts has a line in docs/how-it-works/privacy.md', () => {
  const all = [...new Set(built(builders))]
  expect(all.length).toBeGreaterThan(60)
  expect(all.filter((key) => !documented.some(({ pattern }) => pattern.test(key)))).toEqual([])
  expect(documented.some(({ pattern }) => pattern.test('lw:{l12}:nobody-knows'))).toBe(false)
})

test('every line is about an existing key', () => {
  const all = built(builders)
  // BullMQ's own begin with a prefix that stands there; an index and a campaign have keys that their scripts append.
  const others = documented.filter(({ name }) => !name.endsWith('*') && name !== 'lw:{l12}:rest-reason')
  expect(others.filter(({ pattern }) => !all.some((key) => pattern.test(key))).map(({ name }) => name)).toEqual([])
})

test('every key with personal data is in the test of erasure', () => {
  const tested = readFileSync('test/security/forgotten.test.ts', 'utf8')
  const personal = tableUnder(readPage('docs/how-it-works/privacy.md'), 'Every key in Redis').filter(
    ([, person]) => person === 'yes',
  )
  expect(personal.length).toBeGreaterThan(8)
  for (const [names = ''] of personal) expect(tested).toContain(`'${/`([^`]+)`/.exec(names)?.[1]}'`)
})
