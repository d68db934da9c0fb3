// Pins: the Lua steps in Redis and the reference model are the same machine, step by step over more than a thousand
// lives; and the lists that the sweep and the polls live on hold exactly the messages that belong there.
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { acceptedAtMs, type MessageId, newUlid } from '../../src/kernel/message-id.ts'
import { cancelStep } from '../../src/lanes/cancel-message.ts'
import type { ClaimResult } from '../../src/lanes/messages/claim.ts'
import { stateSchema } from '../../src/lanes/messages/record-format.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { requeueStep } from '../../src/lanes/messages/requeue-step.ts'
import { giveUp, recordStatus, resolveUnconfirmed, setNotSent, setUnconfirmed } from '../../src/lanes/messages/steps.ts'
import { wasSent, writeSent } from '../../src/lanes/messages/write-sent.ts'
import type { State, Verdict } from '../../src/model/messages/lifecycle.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { FRESH, type Progress, type Step, step as take } from '../model/message-lifecycle.ts'
import { claim } from '../support/claim.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import {
  inDoubtOn,
  messageRecord,
  namesOnLane,
  pollsOn,
  queuedAgainOn,
  requeueableOn,
} from '../support/state/messages.ts'
import { step } from '../support/step-arbitraries.ts'
import { eventually } from '../support/wait.ts'

let redis: Redis
withOwnRedis((own) => {
  redis = own
})

const PAST = Date.now() - 3_600_000
const FUTURE = Date.now() + 3_600_000
const PROBLEM = { code: 'a|b', sentence: 'WhatsApp answered c|d.' }
const WAIT_MS = 1_000

type Told = { verdict: Verdict | 'missing' | ClaimResult['verdict']; state?: State }

/** What is answered of a message that the short step left to the other one. */
const longReply = z.union([
  z.tuple([z.literal('missing')]),
  z.tuple([z.enum(['done', 'ignored', 'in_doubt']), stateSchema], z.unknown()),
])

/** Takes a step in Redis. */
async function inRedis(id: MessageId, each: Step, validUntil: number): Promise<Told> {
  switch (each.kind) {
    case 'claim': {
      const message = { to: '491700000001', type: 'audio', text: 'x', class: 'transactional' } as const
      const times = { lostAfterMs: WAIT_MS, evidenceWaitMs: WAIT_MS, retentionMs: 3_600_000 }
      const more = { validUntil, campaign: undefined, run: undefined }
      return claim(redis, id, each.attempt, { ...message, ...more }, times)
    }
    case 'not_sent':
      return setNotSent(redis, id, each.attempt, { counts: each.counts, maxTries: each.maxTries, problem: PROBLEM })
    case 'unconfirmed':
      return setUnconfirmed(redis, id, each.attempt, { problem: PROBLEM, evidenceMs: WAIT_MS })
    case 'status':
      // Half of the attempts are recorded in the short step.
      if (each.status === 'sent' && each.attempt !== 'BBBBBB') {
        const how = { hasJob: true, firstPollMs: 1, run: undefined, class: 'transactional' } as const
        const sent = { id, attempt: each.attempt, providerId: `wamid.${each.attempt}`, ...how }
        const [written] = await writeSent(redis, [sent])
        if (wasSent(written)) return { verdict: 'done', state: 'sent' }
        const [verdict, letter] = longReply.parse(written)
        return letter === undefined ? { verdict } : { verdict, state: letter }
      }
      return recordStatus(redis, id, each.attempt, each.status, { providerId: `wamid.${each.attempt}`, firstPollMs: 1 })
    case 'resolve':
      return resolveUnconfirmed(redis, id, each.attempt, each.policy, each.maxTries)
    case 'give_up':
      return giveUp(redis, id, 'content', PROBLEM)
    case 'cancel':
      return cancelStep(redis, id, 3_600_000)
    case 'requeue': {
      const [verdict, state] = await requeueStep(redis, id, {
        until: validUntil,
        retentionMs: 3_600_000,
        content: '{}',
      })
      return state === undefined ? { verdict: 'missing' } : { verdict: verdict as Verdict, state }
    }
  }
}

/** Whether the validity of the message has passed is for Redis to say: the step's own opinion is replaced. */
function seenByRedis(each: Step, isPast: boolean): Step {
  return each.kind === 'claim' || each.kind === 'resolve' ? { ...each, expired: isPast } : each
}

interface Life {
  validUntil: number
  /** What happens in turn. `expires`: the validity of the message passes before the step. */
  steps: readonly { step: Step; expires: boolean; validUntil: number }[]
}

const seldom = fc.integer({ min: 0, max: 5 }).map((die) => die === 0)
const validity = seldom.map((isPast) => (isPast ? PAST : FUTURE))
const life: fc.Arbitrary<Life> = fc.record({
  validUntil: validity,
  steps: fc.array(fc.record({ step, expires: seldom, validUntil: validity }), { maxLength: 25 }),
})

let lanes = 0

/** Lives one life twice, in Redis and in the model, and compares after every step. */
async function compare(lane: number, { validUntil, steps }: Life): Promise<void> {
  const id = { lane, ulid: newUlid(Date.now()) }
  let model: Progress = FRESH
  let isThere = false
  let until = validUntil
  for (const { step: each, expires, validUntil: newUntil } of steps) {
    if (expires) {
      until = PAST
      if (isThere) await messageRecord(redis, id).change({ u: until })
    }
    const seen = seenByRedis(each, until === PAST)
    // What waits past its validity is never sent, so that there is nothing to cancel.
    const isOver = seen.kind === 'cancel' && model.state === 'queued' && until === PAST
    const expected = isOver ? { progress: model, verdict: 'ignored' as const } : take(model, seen)
    const told = await inRedis(id, seen, seen.kind === 'requeue' ? newUntil : until)
    if (!isThere && seen.kind !== 'claim') {
      expect(told.verdict).toBe('missing')
      continue
    }
    isThere = true
    model = expected.progress
    if (seen.kind === 'requeue' && expected.verdict === 'done') until = newUntil
    expect(told).toEqual({ verdict: expected.verdict, state: isOver ? 'expired' : model.state })
    const record = await readMessage(redis, id)
    const { state, attempt, tries, repeats, others } = record ?? {}
    expect({ state, attempt, tries, repeats, others }).toEqual(model)
    await expectLists(id, model.state)
  }
}

async function expectLists(id: MessageId, state: State): Promise<void> {
  const [open, again, badly, poll] = await Promise.all(
    [inDoubtOn, queuedAgainOn, requeueableOn, pollsOn].map((list) => list(redis, id.lane).timeOf(id.ulid)),
  )
  expect(open !== null, `in doubt as ${state}`).toBe(['sending', 'unconfirmed'].includes(state))
  expect(again !== null, `queued again as ${state}`).toBe(state === 'queued')
  expect(badly !== null, `ended badly as ${state}`).toBe(['failed', 'unknown', 'expired', 'cancelled'].includes(state))
  if (state !== 'sent' && state !== 'delivered') expect(poll, `polled as ${state}`).toBeNull()
  if (state === 'sent') expect(poll, `polled as ${state}`).not.toBeNull()
}

test('more than a thousand lives go the same way in Redis and in the model, step by step', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(life, { minLength: 20, maxLength: 20 }), async (lives) => {
      lanes += 1
      await Promise.all(lives.map((each) => compare(lanes, each)))
    }),
    { numRuns: 60 },
  )
})

test('a message in doubt is decided only after the request of its attempt can no longer be under way', async () => {
  lanes += 1
  const id = { lane: lanes, ulid: newUlid(Date.now()) }
  const about = { to: '491700000001', type: 'audio', text: 'x', class: 'transactional' } as const
  const message = { ...about, validUntil: Date.now() + 3_600_000, campaign: undefined, run: undefined }
  // A provider that is waited for 60 s, and a wire that brings no evidence.
  const times = { lostAfterMs: 70_000, evidenceWaitMs: 0, retentionMs: 3_600_000 }
  const claimedFrom = Date.now()
  await claim(redis, id, 'AAAAAA', message, times)
  const claimedUntil = Date.now()
  expect(await claim(redis, id, 'BBBBBB', message, times)).toMatchObject({ verdict: 'in_doubt', state: 'unconfirmed' })
  const decidedAt = Number(await inDoubtOn(redis, id.lane).timeOf(id.ulid))
  expect(decidedAt).toBeGreaterThan(claimedFrom + 60_000)
  expect(decidedAt).toBeLessThanOrEqual(claimedUntil + 65_000)
})

test('a step on a message that was never claimed stores nothing', async () => {
  const id = { lane: 90_001, ulid: newUlid(Date.now()) }
  expect(await recordStatus(redis, id, 'AAAAAA', 'delivered')).toEqual({ verdict: 'missing' })
  expect(await resolveUnconfirmed(redis, id, 'AAAAAA', 'once', 3)).toEqual({ verdict: 'missing' })
  expect(await namesOnLane(redis, id.lane)).toEqual([])
})

test('the history of a message that is throttled forever stays short, and keeps its beginning and end', async () => {
  const id = { lane: 90_002, ulid: newUlid(Date.now()) }
  const times = { lostAfterMs: WAIT_MS, evidenceWaitMs: WAIT_MS, retentionMs: 3_600_000 }
  const message = { to: '491700000001', type: 'audio', text: 'x', class: 'transactional', validUntil: FUTURE } as const
  for (let i = 0; i < 200; i += 1) {
    const attempt = `A${String(i).padStart(5, '0')}`
    await claim(redis, id, attempt, { ...message, campaign: undefined, run: undefined }, times)
    await setNotSent(redis, id, attempt, { counts: false, maxTries: 1, problem: PROBLEM })
  }
  const { history = '', problem } = (await readMessage(redis, id)) ?? {}
  expect(history.length).toBeLessThan(1_600)
  const told = history.split('|')
  expect(told[0]).toMatch(/^c[0-9a-z]+,A00000$/)
  expect(told.at(-2)).toMatch(/^c[0-9a-z]+,A00199$/)
  const dropped = told.flatMap((entry) => (entry.startsWith('~') ? Number(entry.slice(1)) : []))
  const kept = told.filter((entry) => !entry.startsWith('~'))
  for (const entry of kept) expect(entry).toMatch(/^[cu][0-9a-z]+,(A\d{5}|a\/b)$/)
  // Each of the 200 lives had two steps, and it is known how many are not shown.
  expect(dropped).toEqual([400 - kept.length])
  expect(problem).toEqual({ code: 'a/b', sentence: PROBLEM.sentence })
})

test('the provider id is that of the attempt that counts', async () => {
  const id = { lane: 90_003, ulid: newUlid(Date.now()) }
  const claimWith = (attempt: string) => inRedis(id, { kind: 'claim', attempt, expired: false }, FUTURE)
  await claimWith('AAAAAA')
  await recordStatus(redis, id, 'AAAAAA', 'failed', { providerId: 'wamid.first', problem: PROBLEM })
  await inRedis(id, { kind: 'requeue' }, FUTURE)
  await claimWith('BBBBBB')
  await recordStatus(redis, id, 'BBBBBB', 'sent', { providerId: 'wamid.second' })
  await recordStatus(redis, id, 'AAAAAA', 'sent', { providerId: 'wamid.first' })
  expect(await readMessage(redis, id)).toMatchObject({ attempt: 'BBBBBB', providerId: 'wamid.second' })
})

test('a failure while another attempt is known to be sent goes into the history and changes nothing else', async () => {
  const id = { lane: 90_005, ulid: newUlid(Date.now()) }
  const claimWith = (attempt: string) => inRedis(id, { kind: 'claim', attempt, expired: false }, FUTURE)
  await claimWith('AAAAAA')
  await setUnconfirmed(redis, id, 'AAAAAA', { problem: PROBLEM, evidenceMs: 0 })
  await resolveUnconfirmed(redis, id, 'AAAAAA', 'once', 3)
  await claimWith('BBBBBB')
  await recordStatus(redis, id, 'BBBBBB', 'sent', { providerId: 'wamid.second' })
  await recordStatus(redis, id, 'AAAAAA', 'sent', { providerId: 'wamid.first' })
  expect(await readMessage(redis, id)).toMatchObject({ attempt: 'BBBBBB', providerId: 'wamid.second' })
  const failed = { problem: { code: '131026', sentence: 'Gone.' } }
  const told = await recordStatus(redis, id, 'BBBBBB', 'failed', failed)
  expect(told).toEqual({ verdict: 'done', state: 'sent' })
  const record = await readMessage(redis, id)
  // The provider's id was that of the attempt that failed.
  expect(record).toMatchObject({ state: 'sent', attempt: 'AAAAAA' })
  expect([record?.providerId, record?.problem]).toEqual([undefined, undefined])
  expect(record?.history.split('|').at(-1)).toMatch(/^f[0-9a-z]+,131026$/)
  expect(await requeueableOn(redis, id.lane).timeOf(id.ulid)).toBeNull()
})

test('steps that record what happened work on a full Redis; a claim is refused there', async () => {
  const id = { lane: 90_004, ulid: newUlid(Date.now()) }
  const fresh = { lane: 90_004, ulid: newUlid(Date.now()) }
  await inRedis(id, { kind: 'claim', attempt: 'AAAAAA', expired: false }, FUTURE)
  await redis.config('SET', 'maxmemory', '1mb')
  try {
    await expect(inRedis(fresh, { kind: 'claim', attempt: 'AAAAAA', expired: false }, FUTURE)).rejects.toThrow('OOM')
    expect(await messageRecord(redis, fresh).isThere()).toBe(false)
    expect(await recordStatus(redis, id, 'AAAAAA', 'sent')).toEqual({ verdict: 'done', state: 'sent' })
  } finally {
    await redis.config('SET', 'maxmemory', '0')
  }
})

test('no step of a history is earlier than the one that led to it, nor later than now, whatever a webhook reports', async () => {
  const times = { lostAfterMs: WAIT_MS, evidenceWaitMs: WAIT_MS, retentionMs: 3_600_000 }
  const message = { to: '491700000001', type: 'audio', text: 'x', class: 'transactional' } as const
  const more = { validUntil: FUTURE, campaign: undefined, run: undefined }
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.integer({ min: -90_000, max: 90_000 }), { minLength: 3, maxLength: 3 }),
      fc.boolean(),
      async (offsets, isOverAnHourOld) => {
        const acceptedAt = Date.now() - (isOverAnHourOld ? 4_000_000 : 0)
        const id = { lane: 9, ulid: newUlid(acceptedAt) }
        const claimedFrom = Date.now()
        await claim(redis, id, 'AAAAAA', { ...message, ...more }, times)
        for (const [i, status] of (['sent', 'delivered', 'read'] as const).entries()) {
          await recordStatus(redis, id, 'AAAAAA', status, { atMs: Date.now() + (offsets[i] ?? 0) })
        }
        const packed = (await readMessage(redis, id))?.history ?? ''
        const at = packed.split('|').map((entry) => acceptedAt + Number.parseInt(entry.slice(1), 36))
        expect(at).toHaveLength(4)
        expect(at).toEqual([...at].sort((a, b) => a - b))
        expect(at[0]).toBeGreaterThanOrEqual(claimedFrom)
        expect(at.at(-1)).toBeLessThanOrEqual(Date.now())
      },
    ),
    { numRuns: 50 },
  )
})

test('evidence with an exact time keeps that time', async () => {
  const id = { lane: 9, ulid: newUlid(Date.now() - 600_000) }
  const times = { lostAfterMs: WAIT_MS, evidenceWaitMs: WAIT_MS, retentionMs: 3_600_000 }
  const message = { to: '491700000001', type: 'audio', text: 'x', class: 'transactional' } as const
  await claim(redis, id, 'AAAAAA', { ...message, validUntil: FUTURE, campaign: undefined, run: undefined }, times)
  await recordStatus(redis, id, 'AAAAAA', 'sent')
  // A time between what was written down before and now.
  const deliveredAt = Date.now() + 5
  await eventually(async () => Date.now() > deliveredAt, 'the clock has gone on')
  await recordStatus(redis, id, 'AAAAAA', 'delivered', { atMs: deliveredAt })
  const last = (await readMessage(redis, id))?.history.split('|').at(-1) ?? ''
  expect(acceptedAtMs(id.ulid) + Number.parseInt(last.slice(1), 36)).toBe(deliveredAt)
})
