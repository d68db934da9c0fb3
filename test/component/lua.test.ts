// Pins: a script runs on a server that knows it, on one that has forgotten it, and never under names that it does not have.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import type { Redis } from '../../src/redis/connect.ts'
import { type Constants, defineScript, type Script } from '../../src/redis/lua.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import type { TestRedis } from '../support/redis.ts'

let server: TestRedis
let redis: Redis
withOwnRedis((own, at) => {
  redis = own
  server = at
  redis.on('error', () => {})
})

const tags = new URL('../../src/people/contacts/tags.ts', import.meta.url).href
const createTag = defineScript(tags, 'contacts-create-tag')

const keysOf = (tag: string) => ({ names: 'names', tag })
const vip = { folded: 'vip', id: '1', name: 'VIP' }

test('a script runs, and runs again on a restarted server that has no scripts loaded', async () => {
  expect(await createTag(redis, keysOf('tag:1'), vip)).toBe('1')
  expect(await createTag(redis, keysOf('tag:2'), { ...vip, id: '2' })).toBe('1')
  await server.kill9()
  await server.restart()
  expect(await redis.hgetall('tag:1')).toEqual({ id: '1', name: 'VIP' })
  expect(await createTag(redis, keysOf('tag:3'), { folded: 'new', id: '3', name: 'New' })).toBe('3')
})

test('a key or argument that is missing or unknown to the script is refused before anything is sent', async () => {
  const keys = keysOf('tag:9')
  await expect(createTag(redis, { names: 'names' }, vip)).rejects.toThrow('Keys: tag is missing')
  await expect(createTag(redis, { ...keys, tags: 'x' }, vip)).rejects.toThrow('Keys: tags is not known')
  await expect(createTag(redis, keys, { ...vip, name: undefined })).rejects.toThrow('Arguments: name is missing')
  await expect(createTag(redis, keys, { ...vip, nmae: 'VIP' })).rejects.toThrow('Arguments: nmae is not known')
  expect(await redis.exists('tag:9')).toBe(0)
})

test('a script gets the values of names from a table, and an unknown name is refused when it is loaded', async () => {
  const names = { FIELD: { state: 's' }, LIMIT: { most: 40 } }
  const loaded = (code: string) => load(`#!lua\n-- constants\n${code}`, { line: 'local one = 1', names })
  expect(await loaded('return { FIELD.state, LIMIT.most + 2 }')(redis, {}, {})).toEqual(['s', 42])
  for (const unknown of ['FIELD.stat', 'FIELD.constructor', 'LIMITS.most']) {
    expect(() => loaded(`return ${unknown}`)).toThrow(`nobody knows ${unknown}`)
  }
  expect(() => load('#!lua\nreturn FIELD.state')).toThrow('nobody knows FIELD.state')
  expect(await load('#!lua\nreturn FIELD.state', { names })(redis, {}, {})).toBe('s')
})

test('an error of the script itself is passed on', async () => {
  await redis.set('text', 'x')
  await expect(createTag(redis, { names: 'text', tag: 'tag:4' }, vip)).rejects.toThrow('WRONGTYPE')
})

test('a script that does not exist is noticed when it is declared, not when it runs', () => {
  expect(() => defineScript(import.meta.url, 'no-such-script')).toThrow('ENOENT')
})

describe('a script whose head and code disagree is refused when it is loaded', () => {
  const head =
    '-- Keys:\n--   one  STRING\n--   two  STRING\n-- Arguments:\n--   ms\n--   why?  text\n--         goes on\n'
  const keys = 'local one, two = unpack(KEYS)\n'
  const args = 'local ms, why = unpack(cmsgpack.unpack(ARGV[1]), 1, 2)\n'
  const cases = [
    [
      'keys in another order',
      `${head}local two, one = unpack(KEYS)\n${args}return { ms, why }`,
      'Keys: its code takes "two, one"',
    ],
    [
      'arguments in another order',
      `${head}${keys}${args.replace('ms, why', 'why, ms')}return { ms, why }`,
      '"why, ms"',
    ],
    [
      'fewer arguments',
      `${head}${keys}${args.replace('1, 2', '1, 1')}return { ms, why }`,
      'Arguments: its code takes "2 of 1"',
    ],
    ['an argument that nobody reads', `${head}${keys}${args}return ms -- not why`, 'does not read why'],
    ['constants that nobody gives it', `${head}-- constants\n${keys}${args}return { ms, why }`, 'do not fit'],
  ] as const
  test.each(cases)('%s', async (_what, source, says) => {
    expect(() => load(source)).toThrow(says)
  })

  test('but one whose head and code agree gets the arguments it is given, of every kind', async () => {
    const echo = load(`${head}${keys}${args}return { one, two, ms.a[2], tostring(ms.b), why or 'nothing' }`)
    const ms = { a: ['x', 1_700_000_000_123], b: true }
    expect(await echo(redis, { two: '2', one: '1' }, { ms })).toEqual(['1', '2', 1_700_000_000_123, 'true', 'nothing'])
  })

  test('and an undeclared name in its code is refused by Redis', async () => {
    const mistyped = load(`${head}${keys}${args}return { ms, why, mss }`)
    await expect(mistyped(redis, { one: '1', two: '2' }, { ms: 1, why: 'x' })).rejects.toThrow("'mss'")
  })
})

/** A script of its own folder. */
function load(source: string, constants?: Constants): Script {
  const folder = mkdtempSync(join(tmpdir(), 'laneway-lua-'))
  try {
    mkdirSync(join(folder, 'scripts'))
    writeFileSync(join(folder, 'scripts/some.lua'), source)
    return defineScript(pathToFileURL(join(folder, 'some.ts')).href, 'some', constants)
  } finally {
    rmSync(folder, { recursive: true })
  }
}
