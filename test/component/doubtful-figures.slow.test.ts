// Pins: a campaign counts a message that was repeated in doubt, and then failed, expired or was cancelled, as unknown, as lookups
// show it: in its figures, its export and its runs, also once the record is gone; and evidence that comes later is counted once.
// Real: Redis, the fan-out, the steps of messages, the export, the recipients of a run. The test is the worker and the provider.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type MessageId, messageId } from '../../src/kernel/message-id.ts'
import { cancelStep } from '../../src/lanes/cancel-message.ts'
import { claimMessages } from '../../src/lanes/messages/claim.ts'
import { recordStatus } from '../../src/lanes/messages/steps.ts'
import { ASIDE } from '../../src/model/campaigns/counts.ts'
import { RESUME_CLASSES } from '../../src/model/campaigns/definition.ts'
import { type Life, type Lives, RETENTION_MS, startLives } from '../support/campaign-lives.ts'
import { countsOf, messageRecord } from '../support/state/messages.ts'

let lives: Lives
beforeAll(async () => {
  lives = await startLives()
})
afterAll(() => lives?.close())

/** A campaign whose messages the provider took without an answer, and which wait for their repeat. */
async function inDoubt(total: number): Promise<Life> {
  const life = await lives.begin(total, 20, 'at_least_once')
  await life.feedTo(total)
  expect(await life.work(total, 'unanswered')).toBe(total)
  await life.sweep()
  expect(await life.states()).toEqual(Array.from({ length: total }, () => 'queued'))
  return life
}

/** A worker claims the message of the campaign, under this attempt. */
async function claim(life: Life, id: MessageId, attempt: string, validUntil: number, more = {}): Promise<unknown> {
  const message = {
    ...({ to: '447700900123', type: 'template', text: '', class: 'campaign', campaign: undefined } as const),
    ...{ run: life.id.number, validUntil, ...more },
  }
  const times = { lostAfterMs: 20_000, evidenceWaitMs: 1_000, retentionMs: RETENTION_MS }
  const [claimed] = await claimMessages(lives.redis, [{ id, attempt, message }], times)
  return claimed
}

/** The same once its validity is over. */
const claimLate = async (life: Life, id: MessageId, more = {}): Promise<void> =>
  expect(await claim(life, id, 'LATE', Date.now() - 1, more)).toMatchObject({ state: 'expired' })

/** How many a run for each class finds, without the classes that nobody is in. */
async function found(life: Life): Promise<Record<string, number>> {
  const plans = await Promise.all(RESUME_CLASSES.map(async (only) => [only, await life.plan(only)] as const))
  return Object.fromEntries(
    plans.flatMap(([only, { matched, found }]) => {
      expect(found, only).toBe(matched)
      return found > 0 ? [[only, found]] : []
    }),
  )
}

/** In the figures, the export, the lookups, what the campaign keeps of its recipients, and its runs. */
async function expectAllUnknown(life: Life): Promise<void> {
  const all = Array.from({ length: life.total }, () => 'unknown')
  expect((await life.describe()).progress).toMatchObject({
    unknown: life.total,
    queued: 0,
    failed: 0,
    expired: 0,
    cancelled: 0,
  })
  expect([await life.states(), await life.exported(), await life.recipientStates()]).toEqual([all, all, all])
  expect(await found(life)).toEqual({ unknown: life.total })
  await life.expire(life.places())
  expect(await life.exported()).toEqual(all)
  expect(await found(life)).toEqual({ unknown: life.total })
}

describe('a message that was repeated in doubt counts as unknown', () => {
  test('when its repeat is refused', async () => {
    const life = await inDoubt(4)
    await life.work(4, 'failed')
    await life.goOn()
    await expectAllUnknown(life)
  })

  test('when its campaign is cancelled', async () => {
    const life = await inDoubt(4)
    await life.end()
    await expectAllUnknown(life)
  })

  test('when its campaign is cancelled during a pause, and a worker finds it', async () => {
    const life = await inDoubt(4)
    await life.pause()
    await life.end()
    await life.work(4, 'sent')
    await expectAllUnknown(life)
  })

  test('when a person cancels it', async () => {
    const life = await inDoubt(4)
    for (const place of life.places()) await life.cancel(place)
    await life.goOn()
    await expectAllUnknown(life)
  })

  test('when its validity is over before the repeat', async () => {
    const life = await inDoubt(4)
    for (const id of life.messages) await claimLate(life, id)
    await life.goOn()
    await expectAllUnknown(life)
  })

  test('when it is a requeued message that nobody has claimed yet', async () => {
    const life = await lives.begin(4, 20)
    const [cancelled, late] = [life.messages.slice(0, 2), life.messages.slice(2)]
    const content = { type: 'template' as const, template: { name: 't', language: { code: 'en' }, components: [] } }
    const payload = {
      ...({ v: 1, to: '447700900123', class: 'campaign', content } as const),
      run: life.id.number,
      again: true as const,
    }
    for (const id of cancelled) {
      await lives.queues.add(messageId(id.lane, id.ulid), { ...payload, until: Date.now() + 60_000 })
      expect(await cancelStep(lives.redis, id, RETENTION_MS)).toMatchObject({ verdict: 'done' })
    }
    for (const id of late) await claimLate(life, id, { again: true })
    await life.goOn()
    await expectAllUnknown(life)
  })
})

describe('evidence that comes later is counted once', () => {
  test.each(['sent', 'delivered'] as const)('when the first attempt is reported as %s', async (status) => {
    const life = await inDoubt(4)
    await life.work(4, 'failed')
    for (const place of life.places()) await life.reported(place, { status, of: 'first' })
    expect((await life.describe()).progress).toMatchObject({ [status]: 4, unknown: 0, failed: 0 })
    await life.goOn()
    expect(await found(life)).toEqual(status === 'sent' ? { not_delivered: 4 } : {})
  })

  test('when an unknown message is refused after all, and when a refused one is requeued', async () => {
    const life = await inDoubt(4)
    await life.work(4, 'unanswered')
    await life.sweep()
    expect((await life.describe()).progress).toMatchObject({ unknown: 4 })
    for (const place of life.places()) await life.reported(place, { status: 'failed', of: 'last' })
    // The first attempt may have gone out all the same.
    expect((await life.describe()).progress).toMatchObject({ unknown: 4, failed: 0, capped: 0 })
    await life.requeueAll()
    expect((await life.describe()).progress).toMatchObject({ queued: 4, unknown: 0, failed: 0, capped: 0 })
  })

  test('for messages that ended when campaigns still counted the stored state, which count that way until then', async () => {
    const life = await lives.begin(4, 20)
    await life.feedTo(4)
    await life.work(4, 'failed')
    for (const id of life.messages) await messageRecord(lives.redis, id).change({ o: '1' })
    expect((await life.describe()).progress).toMatchObject({ failed: 4, unknown: 0 })
    for (const id of life.messages.slice(0, 2)) await recordStatus(lives.redis, id, 'AAAAAA', 'sent', {})
    await life.requeueAll()
    expect((await life.describe()).progress).toMatchObject({ failed: 0, unknown: 0, sent: 2, queued: 2 })
    await life.work(4, 'failed')
    expect((await life.describe()).progress).toMatchObject({ failed: 0, unknown: 2, sent: 2, queued: 0 })
  })
})

test('a message that expired after its repeat does not count for the circuit breaker of its campaign', async () => {
  const life = await inDoubt(4)
  for (const id of life.messages) await claimLate(life, id)
  expect(await countsOf(lives.redis, life.id).field(ASIDE.exempt)).toBe('4')
  for (const place of life.places()) await life.reported(place, { status: 'delivered', of: 'first' })
  expect(await countsOf(lives.redis, life.id).field(ASIDE.exempt)).toBe('0')
})
