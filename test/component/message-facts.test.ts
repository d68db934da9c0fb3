// Pins: what events tell of a message that never changes, whatever its record holds. Real: Redis.
import { expect, test } from 'vitest'
import { readFacts } from '../../src/events/store/documents.ts'
import { newRecordFields } from '../../src/lanes/messages/record-format.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { addRecord } from '../support/state/messages.ts'

let redis: Redis
withOwnRedis((own) => {
  redis = own
})

const MESSAGE = { to: '491700000001', text: '', class: 'campaign', validUntil: 5, campaign: undefined } as const

test('a template of a campaign, a picture and a message that is not kept are each told as what they are', async () => {
  await addRecord(redis, { lane: 1, ulid: 'A' }, 's', newRecordFields({ ...MESSAGE, type: 'template', run: 7 }))
  await addRecord(redis, { lane: 1, ulid: 'B' }, 's', newRecordFields({ ...MESSAGE, type: 'image', run: undefined }))
  const facts = await readFacts(redis, 1, ['A', 'B', 'C'])
  expect(['A', 'B', 'C'].map((ulid) => [facts.get(ulid)?.kind, facts.get(ulid)?.run])).toEqual([
    ['template', 7],
    ['image', null],
    [null, null],
  ])
})
