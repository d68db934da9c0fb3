// Pins: what events tell of a message that never changes, whatever its record holds. Real: Redis.
import { expect, test } from 'vitest'
import { archiveOf } from '../../src/lanes/archive/archive.ts'
import { newRecordFields } from '../../src/lanes/messages/record-format.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { addRecord } from '../support/state/messages.ts'

let redis: Redis
withOwnRedis((own) => {
  redis = own
})

const MESSAGE = { to: '491700000001', text: '', class: 'campaign', validUntil: 5, campaign: undefined } as const

test("a campaign's template, a picture and a message that is no longer kept are each described as such", async () => {
  await addRecord(redis, { lane: 1, ulid: 'A' }, 's', newRecordFields({ ...MESSAGE, type: 'template', run: 7 }))
  await addRecord(redis, { lane: 1, ulid: 'B' }, 's', newRecordFields({ ...MESSAGE, type: 'image', run: undefined }))
  const facts = await archiveOf(redis).find({ lane: 1, ulids: ['A', 'B', 'C'] }, 'facts')
  expect(facts).toMatchObject([{ kind: 'template', run: 7 }, { kind: 'image', run: null }, undefined])
})
