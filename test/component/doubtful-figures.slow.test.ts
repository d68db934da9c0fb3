// Pins: a campaign counts a message that was repeated in doubt, and then failed, expired or was cancelled, as unknown, as lookups
// show it: in its figures, its export and its runs, also once the record is gone; and evidence that comes later is counted once.
// Real: Redis, the fan-out, the steps of messages, the export, the plan of a run. The test is the worker and the provider.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RESUME_CLASSES } from '../../src/model/campaigns/definition.ts'
import { type Life, type Lives, startLives } from '../support/campaign-lives.ts'

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

  test('when its campaign is cancelled while it is paused, and a worker finds it', async () => {
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
})
