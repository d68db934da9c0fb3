// Pins: every form of an address of Redis is read as what it says, what has no such form is refused with a sentence that
// names it and holds nothing of the address, and the client reads addresses as the service does.
import { describe, expect, test } from 'vitest'
import { connect } from '../../packages/client/src/redis.ts'
import { loadConfig } from '../../src/kernel/config.ts'
import { parseRedisAddress, shownAddress } from '../../src/kernel/redis-address.ts'

const nobody = { username: undefined, password: undefined }

test.each([
  ['redis://localhost', { kind: 'single', url: 'redis://localhost' }],
  ['rediss://me:it@host:1/2?family=6', { kind: 'single', url: 'rediss://me:it@host:1/2?family=6' }],
  [
    'redis+cluster://a,b:7000,[::1]:7001',
    {
      ...{ kind: 'cluster', tls: false, ...nobody },
      hosts: [
        { host: 'a', port: 6379 },
        { host: 'b', port: 7000 },
        { host: '::1', port: 7001 },
      ],
    },
  ],
  [
    'rediss+cluster://me:p%40:x@a:1',
    { kind: 'cluster', tls: true, username: 'me', password: 'p@:x', hosts: [{ host: 'a', port: 1 }] },
  ],
  [
    'redis+sentinel://a,b:2/mine',
    {
      ...{ kind: 'sentinel', tls: false, ...nobody, primary: 'mine', db: 0, sentinels: { ...nobody, tls: false } },
      hosts: [
        { host: 'a', port: 26379 },
        { host: 'b', port: 2 },
      ],
    },
  ],
  [
    'rediss+sentinel://:pw@a/mine?db=3&sentinel_user=s&sentinel_password=q%26&sentinel_tls=false',
    {
      ...{ kind: 'sentinel', tls: true, username: undefined, password: 'pw', primary: 'mine', db: 3 },
      hosts: [{ host: 'a', port: 26379 }],
      sentinels: { username: 's', password: 'q&', tls: false },
    },
  ],
])('%s', (url, says) => {
  expect(parseRedisAddress(url)).toEqual(says)
})

describe('an invalid address is refused with a sentence that has the valid forms and not the password', () => {
  test.each([
    ['http://u:hunter2@host', 'redis://host:port'],
    ['redis://u:hunter2@a,b', 'redis+cluster://'],
    ['redis+sentinel://u:hunter2@a,b', '/primary-name'],
    ['redis+sentinel://u:hunter2@a/name?db=x', '?db=0'],
    ['redis+sentinel://u:hunter2@a/name?sentinel_tls=perhaps', '/primary-name'],
    ['redis+sentinel://u:hunter2@a/name?colour=red', '/primary-name'],
    ['redis+cluster://u:hunter2@a:99999', 'host:port,host:port'],
    ['redis+cluster://u:hunter2@a/1', 'redis+cluster://'],
    ['redis+cluster://u:hunter2%@a', 'redis+cluster://'],
    ['redis+cluster://u:hunter2@a,,b', 'redis+cluster://'],
    ['redis+other://u:hunter2@a', 'redis+sentinel://'],
    ['redis://u:hunter2@host/primary', 'redis://host:port[/db]'],
    ['redis+cluster://', 'redis+cluster://'],
  ])('%s', (url, form) => {
    const refused = () => loadConfig({ REDIS_URL: url })
    expect(refused).toThrow(form)
    expect(refused).toThrow(/^REDIS_URL must (?!.*hunter2).*[^.]\.$/)
  })
})

test('the shown part of an address has no credentials', () => {
  expect(shownAddress('rediss://me:hunter2@host:1/2')).toBe('host:1')
  expect(shownAddress('redis+cluster://me:hunter2@a,[::1]:2')).toBe('a:6379,[::1]:2')
  expect(shownAddress('redis+sentinel://me:hunter2@a/mine?sentinel_password=hunter2')).toBe('a:26379')
})

test.each(['http://host', 'unix://', 'unix:///%zz', 'unix:///run/redis.sock?db=2'])(
  'the client refuses %s with a sentence that has every form',
  async (url) => {
    const sentence =
      /^redisUrl must be redis:\/\/host:port\[\/db\], unix:\/\/\/\S+, redis\+sentinel:\/\/.* or redis\+cluster:\/\//
    await expect(connect(url)).rejects.toThrow(sentence)
    await expect(connect(url)).rejects.toBeInstanceOf(TypeError)
  },
)
