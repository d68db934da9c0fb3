// Pins: a message of a campaign is claimed only while the campaign runs, and is counted in the same step as it changes.
// Real: Redis and its scripts.
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { importTemplate } from '../../src/accounts/templates.ts'
import { cancelCampaign, pauseCampaign, resumeCampaign } from '../../src/campaigns/commands/moves.ts'
import { mostFrequentCode } from '../../src/campaigns/fan-out/frequent-code.ts'
import { type CampaignQueue, openCampaignQueue } from '../../src/campaigns/store/queue.ts'
import { type MessageId, newUlid } from '../../src/kernel/message-id.ts'
import { cancelStep } from '../../src/lanes/cancel-message.ts'
import { claimMessages } from '../../src/lanes/messages/claim.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { requeueStep } from '../../src/lanes/messages/requeue-step.ts'
import {
  recordSent,
  recordStatus,
  resolveUnconfirmed,
  setNotSent,
  setUnconfirmed,
} from '../../src/lanes/messages/steps.ts'
import { writeSent } from '../../src/lanes/messages/write-sent.ts'
import { addPlaces } from '../../src/lanes/places.ts'
import { campaignMessageUlid } from '../../src/model/campaigns/message-ids.ts'
import { MARK } from '../../src/model/events/outbox-entry.ts'
import { LETTERS } from '../../src/model/messages/lifecycle.ts'
import { outcomeOf, WORKER_LATE } from '../../src/model/messages/outcome.ts'
import { workerLost } from '../../src/model/messages/own-problems.ts'
import { templateSchema } from '../../src/model/templates/template.ts'
import { takeOver } from '../../src/recipients/campaign-heartbeat.ts'
import { createCampaign, findCampaign, idOf, moveCampaign } from '../../src/recipients/campaigns.ts'
import { advanceFanOut } from '../../src/recipients/fan-out-state.ts'
import { readCounts, readRecipientStates } from '../../src/recipients/recipient-states.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { type Change, nobody, observe } from '../../src/redis/observe.ts'
import { claim } from '../support/claim.ts'
import { withOwnRedis } from '../support/own-redis.ts'
import { campaignRecord, countsOf, messageRecord, outboxOf, queuedAgainOn } from '../support/state/messages.ts'

const LANE = 3
/** Where one test leaves thousands of messages in doubt, among which others would look for theirs. */
const CROWDED = 4
/** Longer than any test takes. */
const KEEP_MS = 3_600_000
/** A campaign that nobody has been heard of for so long is taken over; no test takes as long. */
const SILENT_MS = 600_000
const again = () => ({ until: Date.now() + 60_000, retentionMs: KEEP_MS, content: '{}' })
const definition = {
  sender: '1',
  template: { name: 't', language: { code: 'en' }, components: [] },
  recipients: { tags: [1], except: [] },
}

let redis: Redis
let queue: CampaignQueue

withOwnRedis(async (own) => {
  redis = own
  queue = openCampaignQueue(redis)
  const template = { name: 't', language: 'en', status: 'APPROVED', category: 'MARKETING', components: [] }
  await importTemplate(redis, 1, templateSchema.parse(template))
})
afterAll(async () => {
  await queue?.close()
})

type Move = 'check' | 'pass' | 'start' | 'pause' | 'finish' | 'cancel'

const campaignIn = (...moves: Move[]) => campaignOn(LANE, ...moves)

async function campaignOn(lane: number, ...moves: Move[]) {
  const id = await createCampaign(redis, { account: 1, lane, definition }, Date.now())
  for (const move of moves) expect(await moveCampaign(redis, id, move, KEEP_MS)).toMatchObject({ kind: 'moved' })
  return id
}

const message = (run: number, more: object = {}) => ({
  to: '4915112345678',
  type: 'template' as const,
  text: '',
  class: 'campaign' as const,
  validUntil: Date.now() + 60_000,
  campaign: undefined,
  run,
  filled: ['Ann'],
  ...more,
})
const times = { lostAfterMs: 20_000, evidenceWaitMs: 1_000, retentionMs: 100_000 }
const problem = { code: '100', sentence: 'no' }
const ofRecipient = { code: '131026', sentence: 'It cannot be delivered.' }
const newId = () => ({ lane: LANE, ulid: newUlid(Date.now()) })

describe('a claim', () => {
  test('is granted while the campaign runs, and counted', async () => {
    const campaign = await campaignIn('check', 'pass', 'start')
    expect(await claim(redis, newId(), 'A1', message(campaign.number), times)).toEqual({
      verdict: 'done',
      state: 'sending',
    })
    expect(await readCounts(redis, campaign)).toEqual({ sending: 1 })
  })

  test('of many, and their sending, is written to the states of just these recipients, side by side or far apart', async () => {
    const listed = 300
    const places = fc.uniqueArray(fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: listed + 50 })), {
      minLength: 1,
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(places, fc.nat({ max: 40 }), async (claimed, sentCount) => {
        const campaign = await campaignOn(CROWDED, 'check', 'pass', 'start')
        await campaignRecord(redis, campaign).change({ total: listed })
        const claims = claimed.map((place) => ({
          id: { lane: CROWDED, ulid: campaignMessageUlid(idOf(campaign), Date.now(), place, '4915112345678') },
          attempt: 'AAAAAA',
          message: message(campaign.number),
        }))
        await claimMessages(redis, claims, times)
        const sent = claims.slice(0, sentCount)
        const how = { hasJob: false, firstPollMs: undefined, run: campaign.number, class: 'campaign' } as const
        await writeSent(
          redis,
          sent.map(({ id, attempt }, i) => ({ id, attempt, providerId: `wamid.${i}`, ...how })),
        )
        const expected = Array.from({ length: listed + 60 }, (_, place) => {
          const at = claimed.indexOf(place)
          // A place that the list does not have must not make it grow.
          return at === -1 || place >= listed ? undefined : at < sentCount ? 'sent' : 'sending'
        })
        expect(await readRecipientStates(redis, campaign, 0, listed + 60)).toEqual(expected)
      }),
    )
  })

  test('and later reports of one step, in whatever order, leave to each recipient the state of their message', async () => {
    const listed = 8
    const reports = fc.array(fc.tuple(fc.nat({ max: listed - 1 }), fc.constantFrom('delivered', 'read')), {
      minLength: 1,
      maxLength: 12,
    })
    await fc.assert(
      fc.asyncProperty(reports, async (reported) => {
        const campaign = await campaignOn(CROWDED, 'check', 'pass', 'start')
        await campaignRecord(redis, campaign).change({ total: listed })
        const ids = Array.from({ length: listed }, (_, place) => ({
          lane: CROWDED,
          ulid: campaignMessageUlid(idOf(campaign), Date.now(), place, '4915112345678'),
        }))
        const attempt = 'AAAAAA'
        const claims = ids.map((id) => ({ id, attempt, message: message(campaign.number) }))
        await claimMessages(redis, claims, times)
        const how = { hasJob: false, firstPollMs: undefined, run: campaign.number, class: 'campaign' } as const
        await writeSent(
          redis,
          ids.map((id, i) => ({ id, attempt, providerId: `wamid.${i}`, ...how })),
        )
        const told = reported.flatMap(([place, status]) => {
          const id = ids[place]
          return id === undefined ? [] : [recordStatus(redis, id, attempt, status)]
        })
        await Promise.all(told)
        const expected = await Promise.all(ids.map(async (id) => (await readMessage(redis, id))?.state))
        expect(await readRecipientStates(redis, campaign, 0, listed)).toEqual(expected)
      }),
    )
  })

  test.each([
    ['paused', ['check', 'pass', 'start', 'pause']],
    ['cancelled', ['check', 'pass', 'start', 'cancel']],
    ['done', ['check', 'pass', 'start', 'finish']],
    ['ready', ['check', 'pass']],
  ] as const)('is stopped while it is %s, and leaves no trace', async (_state, moves) => {
    const campaign = await campaignIn(...moves)
    const id = newId()
    expect(await claim(redis, id, 'A1', message(campaign.number), times)).toMatchObject({ verdict: 'stopped' })
    expect(await readMessage(redis, id)).toBeUndefined()
    expect(await readCounts(redis, campaign)).toEqual({})
  })

  test('is stopped for a campaign whose record is gone', async () => {
    expect(await claim(redis, newId(), 'A1', message(987_654), times)).toMatchObject({ verdict: 'stopped' })
  })

  test('of a message to be tried again is stopped while the campaign is paused, and cancels the message once it is cancelled', async () => {
    const campaign = await campaignIn('check', 'pass', 'start')
    const id = newId()
    await claim(redis, id, 'A1', message(campaign.number), times)
    await setNotSent(redis, id, 'A1', { counts: false, maxTries: 8, problem })
    await moveCampaign(redis, campaign, 'pause', KEEP_MS)
    expect(await claim(redis, id, 'A2', message(campaign.number), times)).toEqual({
      verdict: 'stopped',
      state: 'queued',
    })
    expect(await readCounts(redis, campaign)).toEqual({ queued: 1 })
    await moveCampaign(redis, campaign, 'cancel', KEEP_MS)
    expect(await claim(redis, id, 'A2', message(campaign.number), times)).toEqual({
      verdict: 'stopped',
      state: 'cancelled',
    })
    expect(await readCounts(redis, campaign)).toEqual({ cancelled: 1 })
  })

  test('is granted after the end of the campaign for a message that a person has requeued', async () => {
    const campaign = await campaignIn('check', 'pass', 'start')
    const id = newId()
    await claim(redis, id, 'A1', message(campaign.number), times)
    await recordStatus(redis, id, 'A1', 'failed', { problem })
    await moveCampaign(redis, campaign, 'finish', KEEP_MS)
    // Nearly over: what becomes of the message must still be counted.
    const kept = [campaignRecord(redis, campaign), countsOf(redis, campaign)]
    for (const each of kept) await each.expireIn(KEEP_MS / 10)
    await requeueStep(redis, id, again())
    for (const each of kept) expect(await each.livesMs()).toBeGreaterThan(KEEP_MS / 2)
    expect(await claim(redis, id, 'A2', message(campaign.number), times)).toEqual({ verdict: 'done', state: 'sending' })
  })
})

describe('a claim of a place of the list', () => {
  const SENT = { verdict: 'done', state: 'sending' }
  const TAKEN = { verdict: 'taken' }

  /** A place of a list of ten, of a campaign that runs. */
  async function placeOfRunning() {
    const campaign = await campaignIn('check', 'pass', 'start')
    await campaignRecord(redis, campaign).change({ total: 10 })
    await addPlaces(redis, campaign, [{ from: 0, count: 10 }])
    const ulid = campaignMessageUlid(String(campaign.number), Date.now(), 4, '4915112345678')
    return { campaign, id: { lane: LANE, ulid } }
  }

  /** Claims it for each of these attempts, all in one step. */
  const claimPlace = (id: MessageId, run: number, ...attempts: string[]) =>
    claimMessages(
      redis,
      attempts.map((attempt) => ({ id, attempt, message: message(run), waitsAs: 'place' })),
      times,
    )

  test('is granted to one attempt, also when that attempt asks again, and to no other', async () => {
    const { campaign, id } = await placeOfRunning()
    for (const answer of [SENT, SENT]) {
      expect(await claimPlace(id, campaign.number, 'A1')).toMatchObject([answer])
    }
    expect(await claimPlace(id, campaign.number, 'A2')).toMatchObject([TAKEN])
    expect(await readMessage(redis, id)).toMatchObject({ state: 'sending', attempt: 'A1' })
    expect(await readCounts(redis, campaign)).toEqual({ sending: 1 })
  })

  test('is granted to nobody once the record is gone, since the campaign has noted the claim', async () => {
    const { campaign, id } = await placeOfRunning()
    expect(await claimPlace(id, campaign.number, 'A1')).toMatchObject([SENT])
    await messageRecord(redis, id).remove()
    expect(await claimPlace(id, campaign.number, 'A2')).toMatchObject([TAKEN])
    expect(await readMessage(redis, id)).toBeUndefined()
  })

  test('is granted once to two attempts in the same step', async () => {
    const { campaign, id } = await placeOfRunning()
    expect(await claimPlace(id, campaign.number, 'A1', 'A2')).toMatchObject([SENT, TAKEN])
    expect(await readCounts(redis, campaign)).toEqual({ sending: 1 })
  })
})

describe('messages that wait for another try', () => {
  async function waiting() {
    const campaign = await campaignIn('check', 'pass', 'start')
    const id = newId()
    await claim(redis, id, 'A1', message(campaign.number), times)
    await setNotSent(redis, id, 'A1', { counts: false, maxTries: 8, problem })
    const found = await findCampaign(redis, campaign)
    if (!found) throw new Error('no campaign')
    return { campaign: found, id }
  }
  const lifecycle = () => ({ redis, queue, retentionMs: KEEP_MS })

  test('are picked up at once when their campaign is resumed', async () => {
    const { campaign, id } = await waiting()
    await pauseCampaign(lifecycle(), campaign, 'lunch')
    expect(Number(await queuedAgainOn(redis, LANE).timeOf(id.ulid))).toBeGreaterThan(Date.now())
    await resumeCampaign(lifecycle(), campaign)
    expect(await queuedAgainOn(redis, LANE).timeOf(id.ulid)).toBe(0)
  })

  test('are cancelled with their campaign, and those of others are not', async () => {
    const [mine, other] = [await waiting(), await waiting()]
    await cancelCampaign(lifecycle(), mine.campaign)
    expect((await readMessage(redis, mine.id))?.state).toBe('cancelled')
    expect((await readMessage(redis, other.id))?.state).toBe('queued')
  })
})

test('the counts match the records after any steps, also with records that do not mention the campaign', async () => {
  const kinds = [
    'claim',
    'sent',
    'delivered',
    'read',
    'failed',
    'unsent',
    'unanswered',
    'lost',
    'decide',
    'cancel',
    'requeue',
  ] as const
  const step = fc.tuple(fc.nat(4), fc.constantFrom(...kinds), fc.constantFrom('A1', 'A2'), fc.boolean())
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      const campaign = await campaignIn('check', 'pass')
      await moveCampaign(redis, campaign, 'start', KEEP_MS, { begins: true })
      const ids = Array.from({ length: 5 }, newId)
      for (const [which, kind, attempt, flag] of steps) {
        const id = ids[which] ?? newId()
        const expired = { validUntil: Date.now() + (flag ? 60_000 : -1) }
        if (kind === 'claim') await claim(redis, id, attempt, message(campaign.number, expired), times)
        else if (kind === 'unsent') await setNotSent(redis, id, attempt, { counts: flag, maxTries: 2, problem })
        else if (kind === 'unanswered') await setUnconfirmed(redis, id, attempt, { problem, evidenceMs: 0 })
        else if (kind === 'lost') await setUnconfirmed(redis, id, attempt, { problem: workerLost, evidenceMs: 0 })
        else if (kind === 'decide') await resolveUnconfirmed(redis, id, attempt, flag ? 'once' : 'never', 2)
        else if (kind === 'failed')
          await recordStatus(redis, id, attempt, 'failed', { problem: flag ? ofRecipient : problem })
        else if (kind === 'cancel') await cancelStep(redis, id, KEEP_MS)
        else if (kind === 'requeue') await requeueStep(redis, id, again())
        else await recordStatus(redis, id, attempt, kind)
      }
      const tally: Record<string, number> = {}
      let exempt = 0
      for (const id of ids) {
        const record = await readMessage(redis, id)
        if (record) tally[record.state] = (tally[record.state] ?? 0) + 1
        const { state, problem: { code = '' } = {} } = record ?? {}
        if ((state === 'unknown' || state === 'unconfirmed') && code === workerLost.code) exempt += 1
        if (state === 'failed' && code === ofRecipient.code) exempt += 1
      }
      const counted = Object.entries(await readCounts(redis, campaign)).filter(([, count]) => count !== 0)
      expect(Object.fromEntries(counted)).toEqual(tally)
      expect((await advanceFanOut(redis, campaign, 1, { rate: 1, pace: undefined }))?.exempt).toBe(exempt)
    }),
    { numRuns: 60 },
  )
})

describe('messages in doubt because of a worker', () => {
  async function begun() {
    const campaign = await campaignIn('check', 'pass')
    await moveCampaign(redis, campaign, 'start', KEEP_MS, { begins: true })
    const id = newId()
    await claim(redis, id, 'A1', message(campaign.number), times)
    const lost = async () => (await advanceFanOut(redis, campaign, 1, { rate: 1, pace: undefined }))?.exempt
    return { campaign, id, lost }
  }

  test('are counted apart until their outcome is known', async () => {
    const { campaign, id, lost } = await begun()
    await setUnconfirmed(redis, id, 'A1', { problem: workerLost, evidenceMs: 0 })
    expect(await lost()).toBe(1)
    await resolveUnconfirmed(redis, id, 'A1', 'never', 1)
    expect([await lost(), await readCounts(redis, campaign)]).toEqual([1, { unknown: 1 }])
    await recordStatus(redis, id, 'A1', 'delivered')
    expect(await lost()).toBe(0)
  })

  test('include those that another worker found already claimed', async () => {
    const { campaign, id, lost } = await begun()
    expect(await claim(redis, id, 'A2', message(campaign.number), times)).toMatchObject({ verdict: 'in_doubt' })
    await resolveUnconfirmed(redis, id, 'A1', 'never', 1)
    expect([await lost(), (await readMessage(redis, id))?.problem]).toEqual([1, workerLost])
  })

  test('include those whose answer a worker read too late because its process stalled', async () => {
    const { id, lost } = await begun()
    const outcome = outcomeOf({ kind: 'unanswered', cause: WORKER_LATE })
    if (outcome.kind !== 'unconfirmed') expect.unreachable()
    await setUnconfirmed(redis, id, 'A1', { problem: outcome.problem, evidenceMs: 0 })
    expect(await lost()).toBe(1)
    await resolveUnconfirmed(redis, id, 'A1', 'never', 1)
    expect(await lost()).toBe(1)
  })

  test('are not named as the reason when the campaign is paused', async () => {
    const campaign = await campaignIn('check', 'pass')
    await moveCampaign(redis, campaign, 'start', KEEP_MS, { begins: true })
    const late = { code: WORKER_LATE, sentence: 'No answer was read in time.' }
    for (const why of [late, workerLost, late, problem]) {
      const id = newId()
      await claim(redis, id, 'A1', message(campaign.number), times)
      await setUnconfirmed(redis, id, 'A1', { problem: why, evidenceMs: 0 })
    }
    expect(await mostFrequentCode(redis, campaign)).toBe('a parameter is not valid (code 100)')
  })

  test('do not include those that the provider left without an answer', async () => {
    const { campaign, id, lost } = await begun()
    await setUnconfirmed(redis, id, 'A1', { problem, evidenceMs: 0 })
    await resolveUnconfirmed(redis, id, 'A1', 'never', 1)
    expect([await lost(), await readCounts(redis, campaign)]).toEqual([0, { unknown: 1 }])
  })
})

describe('a move', () => {
  test('that the state does not allow, or that belongs to another epoch, changes nothing', async () => {
    const id = await campaignIn('check')
    const before = await campaignRecord(redis, id).fields()
    expect(await moveCampaign(redis, id, 'start', KEEP_MS)).toEqual({ kind: 'refused', state: 'checking', epoch: 0 })
    expect(await moveCampaign(redis, id, 'pass', KEEP_MS, { epoch: 7 })).toMatchObject({ kind: 'refused' })
    expect(await campaignRecord(redis, id).fields()).toEqual(before)
    expect(await moveCampaign(redis, { lane: LANE, number: 987_654 }, 'start', KEEP_MS)).toEqual({ kind: 'missing' })
  })

  test('to an end state sets an expiry on the record and its counts', async () => {
    const id = await campaignIn('check', 'pass', 'start')
    await claim(redis, newId(), 'A1', message(id.number), times)
    await moveCampaign(redis, id, 'finish', KEEP_MS)
    for (const each of [campaignRecord(redis, id), countsOf(redis, id)]) {
      const left = await each.livesMs()
      expect(left).toBeGreaterThan(KEEP_MS / 2)
      expect(left).toBeLessThanOrEqual(KEEP_MS)
    }
  })
})

describe('a round', () => {
  const say = { rate: 1, pace: undefined }

  test('moves the cursor for one of two that read the same place, and ends a fan-out of an old epoch', async () => {
    const id = await campaignIn('check', 'pass')
    const started = await moveCampaign(redis, id, 'start', KEEP_MS, { begins: true })
    const epoch = started.kind === 'missing' ? 0 : started.epoch
    expect(await advanceFanOut(redis, id, epoch, { ...say, cursor: { from: 0, to: 250 } })).toMatchObject({ next: 250 })
    expect(await advanceFanOut(redis, id, epoch, { ...say, cursor: { from: 0, to: 300 } })).toMatchObject({ next: 250 })
    expect(await advanceFanOut(redis, id, epoch - 1, say)).toBeUndefined()
    expect((await findCampaign(redis, id))?.next).toBe(250)
  })

  test('counts each recipient as accepted once, however often a resume moves the cursor back', async () => {
    let accepted = 0
    const nobody = () => undefined
    observe(redis, {
      ...{ changed: nobody, acceptTook: nobody, attempted: nobody, polled: nobody, tookIn: nobody },
      ...{ campaignPaused: nobody, eventDelivered: nobody, eventsNotTaken: nobody, refusedBy: nobody },
      ...{ ruleWaits: nobody, heldDropped: nobody, noticed: nobody },
      accepted({ count }) {
        accepted += count
      },
    })
    const id = await campaignIn('check', 'pass')
    const started = await moveCampaign(redis, id, 'start', KEEP_MS, { begins: true })
    const epoch = started.kind === 'missing' ? 0 : started.epoch
    const move = (from: number, to: number) => advanceFanOut(redis, id, epoch, { ...say, cursor: { from, to } })
    await move(0, 250)
    await move(250, 300)
    expect(accepted).toBe(300)
    await campaignRecord(redis, id).change({ next: 100 })
    await move(100, 280)
    expect(accepted).toBe(300)
    await move(280, 400)
    expect(accepted).toBe(400)
    // Taken over while it fed: the cursor moves all the same.
    await advanceFanOut(redis, id, epoch - 1, { ...say, cursor: { from: 400, to: 420 } })
    expect(accepted).toBe(420)
  })

  test('is over once the campaign is paused', async () => {
    const id = await campaignIn('check', 'pass', 'start', 'pause')
    expect(await advanceFanOut(redis, id, 0, say)).toBeUndefined()
  })

  test('keeps others from taking over, and after a silence exactly one takes over', async () => {
    const id = await campaignIn('check', 'pass', 'start')
    expect(await takeOver(redis, id, SILENT_MS)).toMatchObject({ kind: 'on' })
    await campaignRecord(redis, id).change({ beat: 0 })
    const taken = await Promise.all(Array.from({ length: 5 }, () => takeOver(redis, id, SILENT_MS)))
    expect(taken.filter(({ kind }) => kind === 'taken')).toEqual([{ kind: 'taken', epoch: 1 }])
  })

  test('is not taken over while its heartbeat has moved since the last look, however old it is', async () => {
    const id = await campaignIn('check', 'pass', 'start')
    await campaignRecord(redis, id).change({ beat: 7 })
    expect(await takeOver(redis, id, 1_000, '6')).toEqual({ kind: 'on', heartbeat: '7' })
    expect(await takeOver(redis, id, 1_000, '7')).toEqual({ kind: 'taken', epoch: 1 })
  })

  test('of a fan-out that was taken over while it fed leaves the cursor to the new one', async () => {
    const id = await campaignIn('check', 'pass')
    await moveCampaign(redis, id, 'start', KEEP_MS, { begins: true })
    await campaignRecord(redis, id).change({ beat: 0 })
    expect(await takeOver(redis, id, 1_000)).toEqual({ kind: 'taken', epoch: 2 })
    expect(await advanceFanOut(redis, id, 1, { ...say, cursor: { from: 0, to: 250 } })).toBeUndefined()
    expect((await findCampaign(redis, id))?.next).toBe(0)
  })
})

describe('a message that the provider took', () => {
  const sentOf = (id: MessageId, attempt: string, run: number) =>
    ({ id, attempt, providerId: 'wamid.1', hasJob: false, firstPollMs: undefined, run, class: 'campaign' }) as const

  test('keeps nothing of what kept an earlier try from leaving', async () => {
    const { number } = await campaignIn('check', 'pass', 'start')
    const id = newId()
    await claim(redis, id, 'A1', message(number), times)
    await setNotSent(redis, id, 'A1', { counts: true, maxTries: 8, problem })
    expect(await readMessage(redis, id)).toMatchObject({ problem })
    await claim(redis, id, 'A2', message(number), times)
    await recordSent(redis, sentOf(id, 'A2', number))
    const sent = await readMessage(redis, id)
    expect([sent?.state, sent?.problem]).toEqual(['sent', undefined])
  })

  test('is reported as a possible duplicate when a person had it sent although an earlier one may have gone out', async () => {
    const { number } = await campaignIn('check', 'pass', 'start')
    const [id, usual] = [newId(), newId()]
    const outbox = outboxOf(redis, LANE)
    await outbox.add('e', '')
    await claim(redis, id, 'A1', message(number, { again: true }), times)
    await claim(redis, usual, 'A1', message(number), times)
    await Promise.all([recordSent(redis, sentOf(id, 'A1', number)), recordSent(redis, sentOf(usual, 'A1', number))])
    const told = JSON.stringify(await outbox.all())
    expect(told).toContain(`${id.ulid}${LETTERS.sent}${MARK.repeated}`)
    expect(told).not.toContain(`${usual.ulid}${LETTERS.sent}${MARK.repeated}`)
  })

  test('is counted, once with all others of its step and class', async () => {
    const { number } = await campaignIn('check', 'pass', 'start')
    const ids = [newId(), newId(), newId()]
    for (const id of ids) await claim(redis, id, 'A1', message(number), times)
    const changes: Change[] = []
    observe(redis, { ...nobody, changed: (change) => void changes.push(change) })
    await Promise.all(ids.map((id) => recordSent(redis, sentOf(id, 'A1', number))))
    observe(redis, nobody)
    expect(changes).toEqual([{ lane: LANE, class: 'campaign', from: 'sending', to: 'sent', count: 3 }])
  })
})
