// Pins: a script runs on a server that knows it, on one that has forgotten it, and never with shifted arguments.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectPatient, type Redis } from '../../src/redis/connect.ts'
import { defineScript } from '../../src/redis/lua.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'

let server: TestRedis
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = connectPatient(server.url)
  redis.on('error', () => {})
})
afterAll(async () => {
  redis.disconnect()
  await server.stop()
})

const tags = new URL('../../src/contacts/store/tags.ts', import.meta.url).href
const createTag = defineScript(tags, 'contacts-create-tag', 2)

test('a script runs, and runs again on a server that was restarted and knows no scripts', async () => {
  expect(await createTag(redis, ['names', 'tag:1'], ['vip', 1, 'VIP'])).toBe('1')
  expect(await createTag(redis, ['names', 'tag:2'], ['vip', 2, 'VIP'])).toBe('1')
  await server.kill9()
  await server.restart()
  expect(await redis.hgetall('tag:1')).toEqual({ id: '1', name: 'VIP' })
  expect(await createTag(redis, ['names', 'tag:3'], ['new', 3, 'New'])).toBe('3')
})

test('a wrong number of keys is refused before anything is sent', async () => {
  await expect(createTag(redis, ['names'], ['a', 1, 'A'])).rejects.toThrow('takes 2 keys, got 1')
})

test('an error of the script itself is passed on', async () => {
  await redis.set('text', 'x')
  await expect(createTag(redis, ['text', 'tag:4'], ['a', 4, 'A'])).rejects.toThrow('WRONGTYPE')
})

test('a script that does not exist is noticed when it is named, not when it is run', () => {
  expect(() => defineScript(import.meta.url, 'no-such-script', 0)).toThrow('ENOENT')
})
