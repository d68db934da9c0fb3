// Pins: records that cannot be read keep the sweep from none of the others, however many they are. Real: Redis, HTTP,
// producer, worker.
import { expect } from 'vitest'
import { newUlid } from '../../src/kernel/message-id.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { markLane } from '../../src/lanes/wake.ts'
import { claim } from '../support/claim.ts'
import { serviceTest } from '../support/fixtures.ts'
import { inDoubtOn, messageRecord } from '../support/state/messages.ts'
import { eventually } from '../support/wait.ts'

const HOUR_MS = 3_600_000

const test = serviceTest()

test('hundreds of broken records are postponed, and the good one behind them is checked', async ({
  service,
  tenant,
}) => {
  const { redis } = service
  const { cloudLane: lane } = tenant
  const broken = Array.from({ length: 250 }, () => newUlid(Date.now()))
  for (const ulid of broken) {
    await messageRecord(redis, { lane, ulid }).change({ s: 'c', k: 'broken' })
    await inDoubtOn(redis, lane).put(Date.now() - 60_000, ulid)
  }
  const id = { lane, ulid: newUlid(Date.now()) }
  const message = { to: '491700000001', type: 'audio', text: 'x', class: 'transactional' } as const
  const more = { validUntil: Date.now() + HOUR_MS, campaign: undefined, run: undefined }
  // Its worker died: it is lost at once.
  await claim(redis, id, 'AAAAAA', { ...message, ...more }, { lostAfterMs: 0, evidenceWaitMs: 0, retentionMs: HOUR_MS })
  const later = Date.now() + 20_000
  await markLane(redis, lane)
  await eventually(async () => (await readMessage(redis, id))?.state === 'unconfirmed', 'the sound one is looked at')
  const scores = () => Promise.all(broken.map((ulid) => inDoubtOn(redis, lane).timeOf(ulid)))
  await eventually(async () => (await scores()).every((score) => Number(score) > later), 'all are put off')
  expect(await messageRecord(redis, { lane, ulid: broken[0] ?? '' }).isThere()).toBe(true)
})
