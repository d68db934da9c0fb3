// Pins: a person is forgotten among a million messages in under 5 s. Real: Redis, HTTP, producer, worker.
import { expect } from 'vitest'
import { fillLane } from '../support/filled-lane.ts'
import { serviceTest } from '../support/fixtures.ts'
import { slowness } from '../support/machine.ts'
import { messageRecord } from '../support/state/messages.ts'

const TOTAL = 1_000_000
const MOST_MS = 5_000
const PHONE = '491520990001'

const test = serviceTest()

test('a person is forgotten among a million messages in under 5 s of two quiet cores', async ({
  service,
  tenant,
  admin,
}) => {
  const { redis } = service
  await redis.config('SET', 'appendfsync', 'no')
  const ulids = await fillLane(redis, tenant.partnerLane, { total: TOTAL, every: 10_000, phone: PHONE })
  const begunAt = performance.now()
  const answer = await admin.delete(`/admin/people/${PHONE}`)
  const tookMs = performance.now() - begunAt
  expect(answer.json).toMatchObject({ message: 'erased', data: { messages: ulids.length } })
  process.stdout.write(`forgotten among ${TOTAL} messages in ${Math.round(tookMs)} ms\n`)
  expect(tookMs).toBeLessThan(MOST_MS * (await slowness()))
  for (const ulid of ulids) expect(await messageRecord(redis, { lane: tenant.partnerLane, ulid }).field('t')).toBe('')
})
