// Pins: how long and how many secrets of an endpoint sign, and that all of them are sealed anew. Real: Redis.
import { beforeEach, expect, test } from 'vitest'
import { resealEndpoint, rotateSecret, sealContextOf, secretsAt } from '../../src/events/store/endpoint-secrets.ts'
import { createSeal } from '../../src/kernel/seal.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { endpointRecord } from '../support/state/accounts.ts'

const DAY_MS = 86_400_000
const OLD = 'an old secret key of thirty-two characters'
const NEW = 'a newer secret key of thirty-two characters'
const seal = createSeal([OLD])

let redis: Redis
let count = 0
let name: { account: number; id: string }
withOwnRedis((own) => {
  redis = own
})
beforeEach(async () => {
  count += 1
  name = { account: 1, id: `ep_${count}` }
  await endpointRecord(redis, 1, name.id).change({ secret: seal.encrypt('first')(sealContextOf(name)) })
})

async function stored() {
  const { secret = '', old_secrets = '' } = await endpointRecord(redis, 1, name.id).fields()
  return { ...name, secret, old_secrets }
}
const rotate = (nowMs: number) => rotateSecret(redis, name, { seal, nowMs })

test('a secret signs for a day after its replacement, and is removed at the next rotation after that', async () => {
  const second = await rotate(1_000)
  expect(secretsAt(await stored(), seal, 1_000 + DAY_MS - 1)).toEqual([second, 'first'])
  expect(secretsAt(await stored(), seal, 1_000 + DAY_MS)).toEqual([second])
  await rotate(1_000 + DAY_MS)
  expect((await stored()).old_secrets.split(' ')).toHaveLength(1)
})

test('at most ten secrets sign, the latest', async () => {
  const made: string[] = []
  for (let i = 0; i < 12; i += 1) made.push(await rotate(i))
  expect(secretsAt(await stored(), seal, 12)).toEqual(made.slice(-10).reverse())
})

test('older secrets are resealed as well, so that their old key can be removed', async () => {
  const second = await rotate(1_000)
  const newest = createSeal([NEW, OLD])
  expect(await resealEndpoint(redis, newest, name)).toEqual({ sealed: 2, fresh: 0 })
  expect(secretsAt(await stored(), createSeal([NEW]), 2_000)).toEqual([second, 'first'])
  expect(await resealEndpoint(redis, newest, name)).toEqual({ sealed: 0, fresh: 2 })
})

test('all secrets rotated at the same time sign', async () => {
  const made = await Promise.all([1, 2, 3].map(() => rotate(1_000)))
  expect(secretsAt(await stored(), seal, 1_000).sort()).toEqual([...made, 'first'].sort())
})

test('a rotation for a removed endpoint creates nothing', async () => {
  await endpointRecord(redis, 1, name.id).remove()
  await rotate(1_000)
  expect(await endpointRecord(redis, 1, name.id).isThere()).toBe(false)
})
