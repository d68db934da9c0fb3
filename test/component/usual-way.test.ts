// Pins: the short ways of the usual claim, the usual answer and the usual report leave in Redis, and answer, what the long ways
// do, which know every case.
import { unpack } from 'msgpackr'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { messageId } from '../../src/kernel/message-id.ts'
import { readNext } from '../../src/lanes/jobs.ts'
import { type Claim, claimMessages } from '../../src/lanes/messages/claim.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { recordSent, recordStatus } from '../../src/lanes/messages/steps.ts'
import { addPlaces } from '../../src/lanes/places.ts'
import { campaignMessageUlid } from '../../src/model/campaigns/message-ids.ts'
import { LETTERS } from '../../src/model/messages/lifecycle.ts'
import { paceOf } from '../../src/model/messages/pace.ts'
import { packPricing } from '../../src/model/messages/pricing.ts'
import { createCampaign, idOf, moveCampaign } from '../../src/recipients/campaigns.ts'
import { audioJob, audioMessage, type LaneRedis, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
import { allOfLane } from '../support/state/everything.ts'
import { campaignRecord, countsOf, outboxOf } from '../support/state/messages.ts'

const KEEP_MS = 60_000
const STARTED_AT = 1_700_000_000_000
const PHONE = '491700000001'
const definition = {
  sender: '1',
  template: { name: 't', language: { code: 'en' }, components: [] },
  recipients: { tags: [1], except: [] },
}
/** Of the campaign, besides one that is left waiting. */
const PLACES = 5

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())

/** A lane on which places of a campaign wait, and two jobs; and the claims of all but the last place. */
async function waitingLane() {
  const { redis, queues } = world
  const lane = world.newLane()
  await outboxOf(redis, lane).add('e', '')
  const id = await createCampaign(redis, { account: 1, lane, definition }, Date.now())
  for (const move of ['check', 'pass', 'start'] as const) await moveCampaign(redis, id, move, KEEP_MS)
  await campaignRecord(redis, id).change({ total: PLACES + 1 })
  await addPlaces(redis, id, [{ from: 0, count: PLACES + 1 }])
  const jobs = [newId(lane), newId(lane)].sort((one, other) => (one.ulid < other.ulid ? -1 : 1))
  for (const job of jobs) await queues.add(messageId(lane, job.ulid), audioJob())
  const read = await readNext(redis, lane, { by: 'one', most: 20 })
  expect(read).toMatchObject({ jobs: [{}, {}], places: { length: PLACES + 1 } })
  const validUntil = Date.now() + KEEP_MS
  const ofPlaces = read.places.map(({ run, place }, i): Claim => {
    const ulid = campaignMessageUlid(idOf(id), STARTED_AT, place, PHONE)
    const message = { ...audioMessage, to: `${PHONE}${i}`, class: 'campaign', run, validUntil, filled: ['a'] } as const
    return { id: { lane, ulid }, waitsAs: 'place', attempt: `PLACE${i}`, message }
  })
  const ofJobs = jobs.map(
    (job, i): Claim => ({ id: job, waitsAs: 'job', attempt: `JOB00${i}`, message: { ...audioMessage, validUntil } }),
  )
  const last = ofPlaces.pop()
  if (last === undefined) throw new Error('nothing waits')
  return { lane, run: id.number, claims: [...ofJobs, ...ofPlaces], last }
}

type Waiting = Awaited<ReturnType<typeof waitingLane>>

/** What no claim and no answer changes: the campaign itself, and the index of the messages, whose ids differ. */
const UNCHANGED = /^lw:\{l\}:(i(:.*)?|campaigns-awake|campaign:run)$/

/** What is kept of a lane, in words that are the same for all lanes and at all times. */
async function keptOf({ lane, run, claims }: Waiting): Promise<Record<string, unknown>> {
  const plain = (text: string): string =>
    claims
      .reduce((said, { id, attempt }) => said.replaceAll(id.ulid, attempt), text)
      .replaceAll(`{l${lane}}`, '{l}')
      .replaceAll(`lane-${lane}`, 'lane')
      .replaceAll(`_${lane}_`, '_lane_')
      .replaceAll(`campaign:${run}`, 'campaign:run')
      .replaceAll(`"number\\":${run},`, '"number":run,')
      .replaceAll(`"${run}/`, '"run/')
      .replaceAll(new RegExp(`("u":"\\d+"),"r":"${run}"`, 'g'), '$1,"r":"run"')
      .replaceAll(`"${run}","${PLACES + 1}"`, `"run","${PLACES + 1}"`)
      .replaceAll(/\b\d{13,16}(-\d+)?\b/g, 'at')
      // Of a history, of an event and of a pricing: ms since the acceptance.
      .replaceAll(/("c|\|[sdr])-?[0-9a-z]+/g, '$1at')
      .replaceAll(/([sdr][0-9]),-?[0-9a-z]+/g, '$1,at')
      .replaceAll(/"[0-9a-z]{6}(\w\w)"/g, '"at$1"')
  const all = Object.entries(await allOfLane(world.redis, lane))
  const said = all.map(([name, text]): [string, string] => [plain(name), plain(text)])
  return Object.fromEntries(said.filter(([name]) => !UNCHANGED.test(name)))
}

/** In one step; its long way is taken when one of them is to wait. */
const claimAll = ({ claims, last }: Waiting, way: 'short' | 'long') =>
  claimMessages(world.redis, way === 'short' ? claims : [...claims, { ...last, fileWaitMs: 1_000 }], {
    ...LONG_TIMES,
    pace: paceOf(1_000),
    slots: { latest: '', pastMs: 0 },
    reader: 'one',
  })

/** What a claim says once for several messages, as it is written to Redis. */
function groupsIn(call: readonly unknown[]): unknown[][] {
  const [, keys] = call
  const packed = call[2 + Number(keys)]
  const shared: unknown = Buffer.isBuffer(packed) ? unpack(packed) : []
  return Array.isArray(shared) ? shared.at(-1) : []
}

const wordsOf = (results: Awaited<ReturnType<typeof claimAll>>) =>
  results.map((result) => (result instanceof Error ? result : { ...result, slot: 'slot' in result }))

const sent = ({ id, attempt, waitsAs, message: { run, class: of } }: Claim): Promise<void> => {
  const firstPollMs = attempt.endsWith('0') ? undefined : 60_000
  const how = { providerId: `wamid.${attempt}`, hasJob: waitsAs === 'job', firstPollMs, run, class: of }
  return recordSent(world.redis, { id, attempt, ...how })
}

describe('the short path', () => {
  test('of a claim, of jobs and of places, has the same result as the long path', async () => {
    const [short, long] = [await waitingLane(), await waitingLane()]
    const [ofShort, ofLong] = [await claimAll(short, 'short'), await claimAll(long, 'long')]
    expect(ofLong.pop()).toMatchObject({ verdict: 'message_waits' })
    expect(wordsOf(ofShort)).toEqual(wordsOf(ofLong))
    expect(wordsOf(ofShort)).toEqual(short.claims.map(() => ({ verdict: 'done', state: 'sending', slot: true })))
    expect(await keptOf(short)).toEqual(await keptOf(long))
  })

  test.each(['short', 'long'] as const)(
    'of a claim keeps apart the values of several messages in one step (%s path)',
    async (way) => {
      const { redis, queues } = world
      const lane = world.newLane()
      const runs = await Promise.all(
        Array.from({ length: 6 }, async () => {
          const id = await createCampaign(redis, { account: 1, lane, definition }, Date.now())
          for (const move of ['check', 'pass', 'start'] as const) await moveCampaign(redis, id, move, KEEP_MS)
          await campaignRecord(redis, id).change({ total: 3 })
          return id
        }),
      )
      const validUntil = Date.now() + KEEP_MS
      const single = { ...audioMessage, validUntil }
      const kinds: Claim['message'][] = [
        { ...single, campaign: 'spring' },
        { ...single, campaign: 'autumn' },
        { ...single, sendAt: Date.now() - 1_000 },
        { ...single, again: true },
        { ...single, type: 'text', text: 'hello' },
        { ...single, class: 'campaign' },
        ...runs.map(
          ({ number: run }) => ({ ...single, type: 'template', class: 'campaign', run, filled: ['a'] }) as const,
        ),
      ]
      const claims: Claim[] = []
      for (let round = 0; round < 3; round += 1)
        for (const [i, kind] of kinds.entries()) {
          const to = `${PHONE}${round}`
          const campaign = runs.find(({ number }) => number === kind.run)
          const ulid = campaign ? campaignMessageUlid(idOf(campaign), STARTED_AT, round, to) : newId(lane).ulid
          const { run } = kind
          await queues.add(messageId(lane, ulid), {
            ...audioJob(),
            class: kind.class,
            ...(run !== undefined && { run }),
          })
          claims.push({
            id: { lane, ulid },
            waitsAs: 'job',
            attempt: `AT${round}${i}`.padEnd(6, '0'),
            message: { ...kind, to },
          })
        }
      const missing: Claim = { id: newId(lane), waitsAs: 'job', attempt: 'GONE00', message: single }
      const asked = vi.spyOn(redis, 'evalsha')
      const results = await claimMessages(redis, way === 'short' ? claims : [...claims, missing], {
        ...LONG_TIMES,
        pace: paceOf(1_000),
      })
      const groups = asked.mock.calls.flatMap(groupsIn)
      asked.mockRestore()
      for (const { number } of runs) expect(groups.filter(([, , , , , run]) => run === number)).toHaveLength(1)
      expect(results.slice(0, claims.length).map((each) => 'state' in each && each.state)).toEqual(
        claims.map(() => 'sending'),
      )
      for (const { id, attempt, message } of claims) {
        const { to, type, text, class: of, run, campaign, sendAt, filled, again } = message
        expect(await readMessage(redis, id)).toEqual({
          ...{ state: 'sending', attempt, to, type, class: of, validUntil, run, campaign, sendAt, filled },
          ...{ text: filled === undefined ? text : '', repeats: again ? 1 : 0 },
          ...{ tries: 0, others: '', history: expect.any(String) },
        })
      }
      for (const id of runs) expect(await countsOf(redis, id).fields()).toEqual({ [LETTERS.sending]: '3' })
    },
  )

  test('of an answer has the same result as the long path', async () => {
    const [short, long] = [await waitingLane(), await waitingLane()]
    for (const each of [short, long]) await claimAll(each, 'short')
    await Promise.all(short.claims.map(sent))
    await Promise.all(
      long.claims.map(({ id, attempt }) =>
        recordStatus(world.redis, id, attempt, 'sent', {
          ...{ providerId: `wamid.${attempt}`, firstPollMs: attempt.endsWith('0') ? undefined : 60_000 },
        }),
      ),
    )
    const kept = await keptOf(short)
    expect(kept).toEqual(await keptOf(long))
    expect(JSON.stringify(kept)).toContain('wamid.PLACE0')
  })

  test.each([
    ['that come in order', ['sent', 'delivered', 'read'], 'r'],
    ['that come late and twice', ['read', 'delivered', 'read', 'sent'], 'r'],
    ['of a delivery alone', ['delivered'], 'd'],
    ['of what the answer said', ['sent'], 's'],
  ] as const)('of reports %s has the same result and answers as the long path', async (_what, reports, last) => {
    const [short, long] = [await waitingLane(), await waitingLane()]
    for (const each of [short, long]) {
      await claimAll(each, 'short')
      await Promise.all(each.claims.map(sent))
    }
    const atMs = Date.now()
    const taken = async ({ claims }: Waiting, way: 'short' | 'long') => {
      const found: unknown[] = []
      for (const status of reports) {
        const ofStatus = claims.map(({ id, attempt }, i) =>
          recordStatus(world.redis, id, attempt, status, {
            ...{ providerId: `wamid.${attempt}`, atMs: i % 2 === 0 ? atMs : undefined },
            ...(i > 2 && { pricing: packPricing({ billable: true, pricing_model: 'PMP', category: 'marketing' }) }),
            // Nothing is polled for the first time now: it only keeps them from the short way.
            ...(way === 'long' && { firstPollMs: 1 }),
          }),
        )
        found.push(await Promise.all(ofStatus))
      }
      return found
    }
    const [ofShort, ofLong] = [await taken(short, 'short'), await taken(long, 'long')]
    expect(ofShort).toEqual(ofLong)
    const kept = await keptOf(short)
    expect(kept).toEqual(await keptOf(long))
    expect(JSON.stringify(kept)).toContain(`|${last}at`)
  })

  test('of a report is not taken when one of them is unusual, and steps keep their order', async () => {
    const lane = await waitingLane()
    await claimAll(lane, 'short')
    await Promise.all(lane.claims.map(sent))
    const [one, other] = lane.claims
    if (one === undefined || other === undefined) throw new Error('nothing waits')
    const problem = { code: '131026', sentence: 'Undeliverable.' }
    // In one step of Redis.
    const taken = await Promise.all([
      recordStatus(world.redis, one.id, one.attempt, 'delivered'),
      recordStatus(world.redis, other.id, other.attempt, 'failed', { problem }),
      recordStatus(world.redis, other.id, other.attempt, 'delivered'),
      recordStatus(world.redis, one.id, one.attempt, 'read'),
      recordStatus(world.redis, { ...one.id, ulid: newId(lane.lane).ulid }, one.attempt, 'read'),
    ])
    expect(taken).toMatchObject([
      { verdict: 'done', state: 'delivered' },
      { verdict: 'done', state: 'failed' },
      { verdict: 'done', state: 'delivered' },
      { verdict: 'done', state: 'read' },
      { verdict: 'missing' },
    ])
  })
})
