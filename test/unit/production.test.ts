// Pins what LANEWAY_ENV=production refuses, each by its name, and that no sentence gives a secret away.
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { loadConfig } from '../../src/kernel/config.ts'
import { isPlainAddress } from '../../src/kernel/config-checks.ts'
import { socketPath, socketUrl } from '../../src/kernel/redis-address.ts'

const SAFE = {
  LANEWAY_ENV: 'production',
  LANEWAY_SECRET_KEYS: 'a secret key of more than 32 characters',
  LANEWAY_PUBLIC_URL: 'https://laneway.example',
}

const refusal = (env: Record<string, string>): string => {
  try {
    loadConfig({ ...SAFE, ...env })
    return ''
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

test('safe settings are accepted', () => {
  expect(refusal({})).toBe('')
})

test.each([
  ['no key', { LANEWAY_SECRET_KEYS: '' }, /LANEWAY_SECRET_KEYS or LANEWAY_SECRET_KEY must be set/],
  ['no public address', { LANEWAY_PUBLIC_URL: '' }, /LANEWAY_PUBLIC_URL must be set/],
  ['a short app secret', { LANEWAY_CLOUD_API_APP_SECRET: 'hunter2' }, /LANEWAY_CLOUD_API_APP_SECRET .*at least 16/],
  [
    'a short verify token',
    { LANEWAY_CLOUD_API_VERIFY_TOKEN: 'hunter2' },
    /LANEWAY_CLOUD_API_VERIFY_TOKEN .*at least 16/,
  ],
  ["the simulator's secret", { LANEWAY_CLOUD_API_APP_SECRET: 'simulator-app-secret' }, /APP_SECRET is published/],
])('%s is refused in one sentence that names it', (_what, env, words) => {
  expect(refusal(env)).toMatch(words)
  expect(refusal(env).split('LANEWAY_ENV is production: ')).toHaveLength(2)
  expect(refusal(env)).not.toMatch(/hunter2|simulator-app/)
  expect(refusal({ ...env, LANEWAY_ENV: 'development' })).toBe('')
})

test('all faults are reported at once', () => {
  const words = refusal({ LANEWAY_PUBLIC_URL: '', REDIS_URL: 'redis://redis.example', LANEWAY_SECRET_KEYS: '' })
  for (const name of ['LANEWAY_PUBLIC_URL', 'REDIS_URL', 'LANEWAY_SECRET_KEYS']) expect(words).toContain(name)
})

test.each(['docker-compose.demo.yml', '.env.example'])('every secret published in %s is refused', (file) => {
  const found = readFileSync(file, 'utf8').matchAll(/^\s*(LANEWAY_\w*(?:SECRET|TOKEN)\w*)[:=]\s*(\S+)$/gm)
  const secrets = Array.from(found, ([, name = '', value = '']) => [name, value] as const)
  expect(secrets.length).toBe(file === '.env.example' ? 0 : 3)
  for (const [name, value] of secrets) {
    const env = { LANEWAY_SECRET_KEYS: name === 'LANEWAY_SECRET_KEY' ? '' : SAFE.LANEWAY_SECRET_KEYS, [name]: value }
    expect(refusal(env)).toMatch(/is published/)
  }
})

describe('REDIS_URL', () => {
  test.each([
    'redis://redis:6379',
    'redis://user:secret@redis.example',
    'redis://10.0.0.5',
    'redis://127.0.0.1.example',
    'redis://localhost@redis.example',
  ])('%s is refused: others could listen', (REDIS_URL) => {
    expect(refusal({ REDIS_URL })).toMatch(/REDIS_URL must begin with rediss:\/\/ or unix:\/\//)
    expect(refusal({ REDIS_URL })).not.toMatch(/secret/)
  })

  test.each([
    'rediss://redis.example',
    'redis://127.0.0.1:6379',
    'redis://:secret@localhost',
    'redis://[::1]:6379',
    'unix:///run/redis/redis.sock',
  ])('%s is accepted', (REDIS_URL) => {
    expect(refusal({ REDIS_URL })).toBe('')
  })

  test.each([
    'unix://',
    'unix:///',
    'unix://host/path',
    'unix:/path',
    '/path',
    'unix:///path?db=2',
    'unix:///%zz',
    'unix:///a%3Fb',
  ])('%s is not an address of a socket', (REDIS_URL) => {
    expect(() => loadConfig({ REDIS_URL })).toThrow(/^REDIS_URL must be/)
  })

  test('of a socket may have any path', () => {
    for (const path of ['/run/redis/redis.sock', '/home/a b/ü#%/redis.sock'])
      expect(socketPath(socketUrl(path))).toBe(path)
  })
})

test.each([
  ['http://provider.example', true],
  ['http://10.0.0.1:80', true],
  ['http://127.0.0.1:4010', false],
  ['http://localhost', false],
  ['https://provider.example', false],
])('whether a token sent to %s could be read on the way: %s', (url, isPlain) => {
  expect(isPlainAddress(url)).toBe(isPlain)
})
