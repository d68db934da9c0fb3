// Pins: a step that Redis refuses in part is an error, never a success. Real: Redis.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { createAccount } from '../../src/accounts/accounts.ts'
import { createCredential } from '../../src/accounts/credentials.ts'
import { createFile } from '../../src/gallery/files.ts'
import { createFolder } from '../../src/gallery/folders.ts'
import { failMove } from '../../src/gallery/moves.ts'
import { storeInbound } from '../../src/lanes/messages/inbound.ts'
import { connectWithRetry, type Redis } from '../../src/redis/connect.ts'
import { sendHeartbeat } from '../../src/redis/heartbeats.ts'
import { execOrThrow } from '../../src/redis/records.ts'
import { startRedis, type TestRedis } from '../support/redis.ts'
import { accountsKnown, credentialsOf, galleryOf, workersHeardOf } from '../support/state/accounts.ts'
import { receivedRecord } from '../support/state/messages.ts'

let server: TestRedis
let redis: Redis
beforeAll(async () => {
  server = await startRedis()
  redis = connectWithRetry(server.url)
})
afterEach(() => redis.flushall())
afterAll(async () => {
  redis?.disconnect()
  await server?.stop()
})

const file = { folderId: 1, name: 'x', hash: 'a'.repeat(64), mimeType: 'image/png', extension: 'png', size: 1 }
const inbound = { id: 'w', lane: 1, from: '1', type: 'text', text: '', received_at: 1 }

test.each<[string, (redis: Redis) => { ruin: (text: string) => Promise<unknown> }, () => Promise<unknown>]>([
  ['an account', accountsKnown, () => createAccount(redis, 'x')],
  ['a key', (redis) => credentialsOf(redis, 1), () => createCredential(redis, 1, ['admin'], Date.now())],
  ['a folder', (redis) => galleryOf(redis, 1).folders, () => createFolder(redis, 1, { name: 'x' })],
  ['a file', (redis) => galleryOf(redis, 1).filesIn(1), () => createFile(redis, 1, file)],
  [
    'the end of a move',
    (redis) => galleryOf(redis, 1).move('mv_1'),
    () => failMove(redis, { account: 1, move: 'mv_1' }),
  ],
  ['a received message', (redis) => receivedRecord(redis, 1, 'w'), () => storeInbound(redis, 1, inbound, 1_000)],
  ['a sign of life', workersHeardOf, () => sendHeartbeat(redis, 'worker')],
])('%s whose key holds another type is reported as not written', async (_what, placeIn, write) => {
  await placeIn(redis).ruin('something else')
  await expect(write()).rejects.toThrow(/WRONGTYPE/)
})

test('a successful transaction is no error', async () => {
  await execOrThrow(redis.multi().set('a', 1).incr('a'))
  expect(await redis.get('a')).toBe('2')
})
