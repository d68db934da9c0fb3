// Wrong settings are named in one sentence each, and no sentence gives a secret away.
import { expect, test } from 'vitest'
import { loadConfig, settings } from '../../src/kernel/config.ts'

test.each(['', 'abc', '-1', '65536', '80.5', '0x50', '1e3', ' 80'])('PORT=%j is refused', (PORT) => {
  expect(() => loadConfig({ PORT })).toThrow(/^PORT is /)
})

test('a port that is too large is refused with the range of ports', () => {
  expect(() => loadConfig({ PORT: '99999' })).toThrow('PORT is "99999": expected a number from 0 to 65535.')
})

test.each(['0', '80', '65535'])('PORT=%j is accepted', (PORT) => {
  expect(loadConfig({ PORT }).port).toBe(Number(PORT))
})

test('a secret that is too short is not repeated in the error', () => {
  const LANEWAY_SECRET_KEY = 'hunter2'
  expect(() => loadConfig({ LANEWAY_SECRET_KEY })).toThrow(/^LANEWAY_SECRET_KEY is invalid: (?!.*hunter2)/)
})

test('the password in a wrong address is not repeated in the error', () => {
  expect(() => loadConfig({ REDIS_URL: 'http://user:hunter2@redis.example' })).toThrow(/^REDIS_URL (?!.*hunter2)/)
  for (const name of ['LANEWAY_PUBLIC_URL', 'LANEWAY_FILES_URL']) {
    expect(() => loadConfig({ [name]: 'ftp://ada:hunter2@files.example' })).toThrow(
      new RegExp(`^${name} (?!.*hunter2)`),
    )
  }
})

test('a short secret among several is not repeated in the error either', () => {
  const LANEWAY_SECRET_KEYS = `${'k'.repeat(32)},hunter2`
  expect(() => loadConfig({ LANEWAY_SECRET_KEYS })).toThrow(
    /^LANEWAY_SECRET_KEYS is invalid: expected keys of at least 32/,
  )
  expect(() => loadConfig({ LANEWAY_SECRET_KEYS })).toThrow(/^(?!.*hunter2)/)
  expect(() => loadConfig({ LANEWAY_DATA_KEY: LANEWAY_SECRET_KEYS })).toThrow(
    /^LANEWAY_DATA_KEY is invalid(?!.*hunter2)/,
  )
})

test('LANEWAY_SECRET_KEY and LANEWAY_SECRET_KEYS together are refused, as it would be unclear which key seals', () => {
  const env = { LANEWAY_SECRET_KEYS: 'k'.repeat(32), LANEWAY_SECRET_KEY: 'l'.repeat(32) }
  expect(() => loadConfig(env)).toThrow('not both')
  expect(loadConfig({ LANEWAY_SECRET_KEY: env.LANEWAY_SECRET_KEY }).secretKeys).toEqual([env.LANEWAY_SECRET_KEY])
})

test.each(['example.com', 'ftp://example.com', 'https://example.com/?a=b', 'https://example.com/#top'])(
  'LANEWAY_PUBLIC_URL=%s is refused, as no path could follow it',
  (LANEWAY_PUBLIC_URL) => {
    expect(() => loadConfig({ LANEWAY_PUBLIC_URL })).toThrow(/^LANEWAY_PUBLIC_URL is /)
  },
)

test('all wrong settings are reported at once', () => {
  expect(() => loadConfig({ PORT: 'x', HOST: '', LANEWAY_MAX_TRIES: '0' })).toThrow(/PORT.*HOST.*LANEWAY_MAX_TRIES/)
})

test('received messages are kept as long as others unless a setting says less, and never longer', () => {
  const day = 86_400_000
  expect(loadConfig({}).receivedRetentionMs).toBe(30 * day)
  expect(loadConfig({ LANEWAY_RETENTION_RECEIVED_DAYS: '2' }).receivedRetentionMs).toBe(2 * day)
  expect(() => loadConfig({ LANEWAY_RETENTION_RECEIVED_DAYS: '31' })).toThrow('not be more than LANEWAY_RETENTION_DAYS')
  expect(() => loadConfig({ LANEWAY_RETENTION_RECEIVED_DAYS: '0' })).toThrow('from 1 to 365')
})

/** How the library words what it finds. */
const LIBRARY = /\b(Too|Invalid|received|NaN)\b|[<>]=|(expected .*){2}/

test('the error for any wrong setting says what is right, once', () => {
  const refused = Object.keys(settings).flatMap((name) =>
    ['', 'x', '-5', '0.5', '1e300', 'http://[', 'ftp://x', 'https://a.example/?b'].flatMap((value) => {
      try {
        loadConfig({ [name]: value })
        return []
      } catch (error) {
        return [error instanceof Error ? error.message : String(error)]
      }
    }),
  )
  expect(refused.length).toBeGreaterThan(100)
  const isClear = (sentence: string) => /^\w+ (is .+: )?(expected|must) [^.]+/.test(sentence) && !LIBRARY.test(sentence)
  const unclear = refused.filter((sentence) => !isClear(sentence))
  expect(unclear).toEqual([])
  expect(() => loadConfig({ LANEWAY_PUBLIC_URL: 'shop' })).toThrow(
    'LANEWAY_PUBLIC_URL is invalid: expected an address such as https://laneway.example.',
  )
  expect(() => loadConfig({ LANEWAY_RETENTION_DAYS: '3' })).toThrow(
    'LANEWAY_RETENTION_DAYS is "3": expected a number from 9 to 365.',
  )
  expect(() => loadConfig({ LANEWAY_LOG_LEVEL: 'loud' })).toThrow(
    'LANEWAY_LOG_LEVEL is "loud": expected debug, info, warn, error or silent.',
  )
})
