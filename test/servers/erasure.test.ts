// Pins: a person is forgotten among a million messages in under 5 s. Real: Redis, HTTP, producer, worker.
import { expect } from 'vitest'
import { fillLane } from '../support/filled-lane.ts'
import { serviceTest } from '../support/fixtures.ts'
import { slowness } from '../support/machine.ts'
import { messageRecord } from '../support/state/messages.ts'

const TOTAL = 1_000_000
const MOST_MS = 5_000
/** Each has a hundred of them. */
const PEOPLE = ['491520990001', '491520990002'] as const

const test = serviceTest()

test('a person is erased among a million messages in under 5 s of two quiet cores', async ({
  service,
  tenant,
  admin,
}) => {
  const { redis } = service
  await redis.config('SET', 'appendfsync', 'no')
  const [one, other] = PEOPLE
  const lane = tenant.partnerLane
  const ulids = {
    [one]: await fillLane(redis, lane, { total: TOTAL, every: 10_000, phone: one }),
    [other]: await fillLane(redis, lane, { total: 100, every: 1, phone: other }),
  }
  const took: number[] = []
  for (const phone of PEOPLE) {
    const begunAt = performance.now()
    const answer = await admin.delete(`/admin/people/${phone}`)
    took.push(performance.now() - begunAt)
    expect(answer.json).toMatchObject({ message: 'erased', data: { messages: ulids[phone].length } })
  }
  // The smaller one, since whatever comes in between only adds to one.
  const tookMs = Math.min(...took)
  process.stdout.write(`forgotten among ${TOTAL} messages in ${Math.round(tookMs)} ms\n`)
  expect(tookMs).toBeLessThan(MOST_MS * (await slowness()))
  for (const ulid of Object.values(ulids).flat()) {
    expect(await messageRecord(redis, { lane, ulid }).field('t')).toBe('')
  }
})
