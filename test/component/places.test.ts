// Pins: messages of campaigns wait on their lane as places of a list, each once and only while its campaign runs; campaigns that share
// a lane get equal parts of it, whatever their sizes, their rates and whoever came first. Real: Redis and its scripts.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { messageId, newAttemptId } from '../../src/kernel/message-id.ts'
import { readNext, releaseRead } from '../../src/lanes/jobs.ts'
import { claimMessages } from '../../src/lanes/messages/claim.ts'
import { finalizeUnsent } from '../../src/lanes/messages/finalize-unsent.ts'
import { addPlaces, arePlacesWaiting, dropPlaces, placeName, type WaitingPlace } from '../../src/lanes/places.ts'
import type { CampaignId } from '../../src/model/campaigns/campaign-id.ts'
import { campaignMessageUlid } from '../../src/model/campaigns/message-ids.ts'
import { paceOf } from '../../src/model/messages/pace.ts'
import { createCampaign, findCampaign, idOf, moveCampaign } from '../../src/recipients/campaigns.ts'
import { audioJob, audioMessage, type LaneRedis, LONG_TIMES, newId, startLaneRedis } from '../support/lane-redis.ts'
import { placesOn, readLongAgo, waitingOn } from '../support/state/lanes.ts'
import { campaignRecord } from '../support/state/messages.ts'

const KEEP_MS = 60_000
const TOTAL = 10_000
const PHONE = '491700000001'
const definition = {
  sender: '1',
  template: { name: 't', language: { code: 'en' }, components: [] },
  recipients: { tags: [1], except: [] },
}

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())

/** A campaign that runs on this lane. */
async function begin(lane: number): Promise<CampaignId> {
  const id = await createCampaign(world.redis, { account: 1, lane, definition }, Date.now())
  for (const move of ['check', 'pass', 'start'] as const) await moveCampaign(world.redis, id, move, KEEP_MS)
  await campaignRecord(world.redis, id).change({ total: TOTAL })
  return id
}

const feed = (id: CampaignId, from: number, count: number): Promise<void> =>
  addPlaces(world.redis, id, [{ from, count }])

const read = (lane: number, by: string, most = 10, held?: number[]) =>
  readNext(world.redis, lane, { by, most, ...(held && { held }) })

const messageOf = (lane: number, { run, place }: WaitingPlace) => ({
  lane,
  ulid: campaignMessageUlid(idOf({ lane, number: run }), 1_800_000_000_000, place, PHONE),
})

/** Claims messages of these places, as the worker that has read them. */
const claim = (lane: number, places: readonly WaitingPlace[], by: string) =>
  claimMessages(
    world.redis,
    places.map((each) => ({
      id: messageOf(lane, each),
      waitsAs: 'place',
      attempt: newAttemptId(),
      message: { ...audioMessage, to: PHONE, class: 'campaign', run: each.run, validUntil: Date.now() + KEEP_MS },
    })),
    { ...LONG_TIMES, pace: paceOf(100_000), reader: by },
  )

describe('campaigns that share a lane', () => {
  interface Player {
    /** After so many messages of the lane it comes. */
    comes: number
    size: number
    /** What waits on the lane at most, and the least that is fed at once. */
    window: number
    portion: number
  }

  /** Plays them with one worker that takes `most` at a time; calls `sent` with each and the campaigns that had something waiting then. */
  async function play(players: readonly Player[], most: number, sent: (i: number, waiting: Set<number>) => void) {
    const lane = world.newLane()
    const states = players.map(() => ({ id: undefined as CampaignId | undefined, fed: 0, sent: 0 }))
    for (let all = 0; states.some((each, i) => each.sent < (players[i]?.size ?? 0)); ) {
      for (const [i, { comes, size, window, portion }] of players.entries()) {
        const state = states[i]
        if (state === undefined || comes > all) continue
        state.id ??= await begin(lane)
        const room = Math.min(window - (state.fed - state.sent), size - state.fed)
        if (room < Math.min(portion, size - state.fed) || room === 0) continue
        await feed(state.id, state.fed, room)
        state.fed += room
      }
      const { places } = await read(lane, 'one', most)
      if (places.length === 0) {
        // Nobody of those who are there has anything: the next one comes.
        all += 1
        continue
      }
      const claims = await claim(lane, places, 'one')
      for (const [at, { run }] of places.entries()) {
        expect(claims[at]).toMatchObject({ verdict: 'done', state: 'sending' })
        const i = states.findIndex(({ id }) => id?.number === run)
        const waiting = new Set(states.flatMap((state, other) => (state.fed > state.sent ? [other] : [])))
        const state = states[i]
        if (state) state.sent += 1
        all += 1
        sent(i, waiting)
      }
    }
  }

  test('get their turns after what a worker has already read', async () => {
    const lane = world.newLane()
    const [first, late] = [await begin(lane), await begin(lane)]
    await feed(first, 0, 40)
    const { places } = await read(lane, 'one', 20)
    await feed(late, 0, 5)
    const names = await placesOn(world.redis, lane)
    expect(names.slice(0, 20)).toEqual(places.map(({ run, place }) => placeName(run, place)))
    // From then on turn after turn.
    expect(names.slice(20, 30).filter((name) => name.startsWith(`${late.number}/`))).toHaveLength(5)
    await claim(lane, places, 'one')
  })

  const player = fc.record({
    comes: fc.nat(300),
    size: fc.integer({ min: 1, max: 400 }),
    window: fc.integer({ min: 20, max: 100 }),
    portion: fc.integer({ min: 1, max: 20 }),
  })

  test('take turns while both have something waiting, whatever their sizes and whoever came first', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(player, { minLength: 2, maxLength: 3 }),
        fc.integer({ min: 1, max: 15 }),
        async (players, most) => {
          // Of each pair, how far one is ahead since both have had something waiting without a gap.
          const ahead = new Map<string, { now: number; least: number; highest: number }>()
          await play(players, most, (i, waiting) => {
            for (let one = 0; one < players.length; one += 1) {
              for (let other = one + 1; other < players.length; other += 1) {
                const pair = `${one} ${other}`
                if (!waiting.has(one) || !waiting.has(other)) {
                  ahead.delete(pair)
                  continue
                }
                const known = ahead.get(pair) ?? { now: 0, least: 0, highest: 0 }
                ahead.set(pair, known)
                known.now += i === one ? 1 : i === other ? -1 : 0
                known.least = Math.min(known.least, known.now)
                known.highest = Math.max(known.highest, known.now)
                // Two turns, and what a worker has read when one of them comes.
                expect(known.highest - known.least).toBeLessThanOrEqual(2 + most)
              }
            }
          })
        },
      ),
      { numRuns: 10 },
    )
  })

  test.each([
    ['two of one size', [0, 0], [1_000, 1_000]],
    ['a large one and one that comes later', [0, 400], [3_000, 1_000]],
    ['three, one of which comes last', [0, 200, 500], [2_000, 2_000, 1_000]],
  ])('%s have equal shares, within 5 %%', async (_which, comes, sizes) => {
    const players = comes.map((at, i) => ({ comes: at, size: sizes[i] ?? 0, window: 80, portion: 20 }))
    const counts = players.map(() => 0)
    await play(players, 12, (i, waiting) => {
      if (waiting.size === players.length) counts[i] = (counts[i] ?? 0) + 1
    })
    expect(Math.min(...counts)).toBeGreaterThan(300)
    expect(Math.max(...counts) / Math.min(...counts)).toBeLessThanOrEqual(1.05)
  })

  test('one that joins while another is left out gets half of the lane, and the one left out catches up later', async () => {
    const lane = world.newLane()
    const [stuck, first, late] = [await begin(lane), await begin(lane), await begin(lane)]
    await feed(stuck, 0, 10)
    let fed = 0
    const takeOn = async (count: number): Promise<number[]> => {
      const runs: number[] = []
      while (runs.length < count) {
        const { places } = await read(lane, 'one', 10, [stuck.number])
        await claim(lane, places, 'one')
        runs.push(...places.map(({ run }) => run))
        await feed(first, fed, 10)
        fed += 10
      }
      return runs
    }
    await feed(first, fed, 40)
    fed += 40
    await takeOn(200)
    await feed(late, 0, 40)
    const runs = await takeOn(40)
    expect(Math.abs(2 * runs.filter((run) => run === late.number).length - runs.length)).toBeLessThanOrEqual(10)
    expect(runs).not.toContain(stuck.number)
    // Let in again, it makes up for what it had there and no more.
    expect((await read(lane, 'one', 10)).places.map(({ run }) => run)).toEqual(Array(10).fill(stuck.number))
  })
})

describe('a place', () => {
  test('that is fed twice waits once, in its first position', async () => {
    const lane = world.newLane()
    const id = await begin(lane)
    await feed(id, 0, 5)
    await feed(id, 3, 4)
    await feed(id, 0, 7)
    expect(await placesOn(world.redis, lane)).toEqual([0, 1, 2, 3, 4, 5, 6].map((place) => placeName(id.number, place)))
    expect(await arePlacesWaiting(world.redis, id, [6, 7, 0])).toEqual([true, false, true])
  })

  test('is held by one worker, and not read by another meanwhile', async () => {
    const lane = world.newLane()
    const id = await begin(lane)
    await feed(id, 0, 4)
    // In one turn: after two seconds the first one would be taken to have died.
    const [{ places }, ofTwo] = await Promise.all([read(lane, 'one', 2), read(lane, 'two', 10)])
    expect(places).toEqual([0, 1].map((place) => ({ run: id.number, place })))
    expect(ofTwo.places.map(({ place }) => place)).toEqual([2, 3])
    expect(await claim(lane, places, 'one')).toMatchObject([{ state: 'sending' }, { state: 'sending' }])
    expect(await claim(lane, places, 'two')).toMatchObject([{ verdict: 'taken' }, { verdict: 'taken' }])
    expect(await placesOn(world.redis, lane)).toHaveLength(2)
    // Fed once more, it goes as soon as somebody takes it.
    await feed(id, 0, 1)
    expect(await claim(lane, places.slice(0, 1), 'three')).toMatchObject([{ verdict: 'taken' }])
    expect(await placesOn(world.redis, lane)).toHaveLength(2)
  })

  test('is read with the epoch of its campaign', async () => {
    const lane = world.newLane()
    const [one, other] = [await begin(lane), await begin(lane)]
    await campaignRecord(world.redis, other).change({ epoch: 7 })
    await feed(one, 0, 2)
    await feed(other, 0, 2)
    expect([...(await read(lane, 'one')).epochs].sort()).toEqual(
      [
        [one.number, (await findCampaign(world.redis, one))?.epoch],
        [other.number, 7],
      ].sort(),
    )
  })

  test.each(['pause', 'cancel'] as const)('leaves its lane in the same step as the campaign: %s', async (move) => {
    const lane = world.newLane()
    const [one, other] = [await begin(lane), await begin(lane)]
    await feed(one, 20, 30)
    await feed(other, 0, 3)
    await campaignRecord(world.redis, one).change({ next: 50 })
    await moveCampaign(world.redis, one, move, KEEP_MS)
    expect(await placesOn(world.redis, lane)).toEqual([0, 1, 2].map((place) => placeName(other.number, place)))
    // A resume feeds them again.
    expect((await findCampaign(world.redis, one))?.next).toBe(move === 'pause' ? 20 : 50)
    await feed(one, 20, 30)
    expect(await placesOn(world.redis, lane)).toHaveLength(3)
  })

  test('of an unreadable campaign is removed from the lane', async () => {
    const lane = world.newLane()
    const [one, other] = [await begin(lane), await begin(lane)]
    await feed(one, 0, 3)
    await feed(other, 0, 1)
    await dropPlaces(world.redis, one)
    await dropPlaces(world.redis, one)
    expect(await placesOn(world.redis, lane)).toEqual([placeName(other.number, 0)])
  })

  const jobOf = (run: number) => ({ ...audioJob(), class: 'campaign' as const, run })

  test('is removed once its message has a job, in the same step', async () => {
    const lane = world.newLane()
    const id = await begin(lane)
    await feed(id, 0, 2)
    const { ulid } = messageOf(lane, { run: id.number, place: 0 })
    await world.queues.add(messageId(lane, ulid), jobOf(id.number), 60_000)
    expect(await placesOn(world.redis, lane)).toEqual([placeName(id.number, 1)])
    // Fed again all the same, it is not taken beside its job.
    await feed(id, 0, 1)
    const [first] = (await read(lane, 'one')).places.filter(({ place }) => place === 0)
    expect(first && (await claim(lane, [first], 'one'))).toMatchObject([{ verdict: 'taken' }])
    expect(await placesOn(world.redis, lane)).toEqual([placeName(id.number, 1)])
  })

  test('is removed once its message has ended without a claim', async () => {
    const lane = world.newLane()
    const id = await begin(lane)
    await feed(id, 0, 2)
    const message = messageOf(lane, { run: id.number, place: 1 })
    expect(await finalizeUnsent(world.redis, message, 'opted_out', jobOf(id.number), KEEP_MS)).toBe(true)
    expect(await placesOn(world.redis, lane)).toEqual([placeName(id.number, 0)])
  })

  test('that kills whoever reads it alone is found, and the others go on', async () => {
    const lane = world.newLane()
    const id = await begin(lane)
    await feed(id, 0, 3)
    await read(lane, 'first')
    for (let deaths = 0; deaths < 3; deaths += 1) {
      await readLongAgo(world.redis, lane)
      expect(await read(lane, `worker ${deaths}`)).toMatchObject({ places: [{ place: 0 }], deaths, hasMore: true })
    }
    await readLongAgo(world.redis, lane)
    const found = await read(lane, 'last')
    expect(found).toMatchObject({ places: [{ place: 0 }], deaths: 3 })
    // A claim tells that it was not to blame.
    await claim(lane, found.places, 'last')
    expect(await read(lane, 'last')).toMatchObject({ places: [{ place: 1 }], deaths: 0 })
  })
})

describe('what a worker reads next on a lane', () => {
  test.each([
    ['nothing else', 0, 0, 10],
    ['jobs of campaigns', 0, 20, 5],
    ['few jobs of campaigns', 0, 3, 7],
    ['transactional jobs and jobs of campaigns', 6, 20, 2],
    ['an odd number left', 7, 20, 1],
    ['more transactional jobs than there is room for', 20, 20, 0],
  ])(
    'is half places of what transactional jobs leave over, beside %s',
    async (_jobs, transactional, ofCampaigns, count) => {
      const lane = world.newLane()
      const id = await begin(lane)
      await feed(id, 0, 100)
      const jobs = [
        ...Array.from({ length: ofCampaigns }, () => ({ ...audioJob(), class: 'campaign' as const })),
        ...Array.from({ length: transactional }, () => audioJob()),
      ]
      await world.queues.addMany(jobs.map((payload) => ({ id: messageId(lane, newId(lane).ulid), payload })))
      const next = await read(lane, 'one', 10)
      expect(next.places).toHaveLength(count)
      expect(next.jobs).toHaveLength(10 - count)
      expect((await readNext(world.redis, lane, { by: 'one', most: 10, firstOnly: true })).places).toEqual([])
    },
  )

  test('is only jobs of campaigns when no place waits', async () => {
    const lane = world.newLane()
    const ids = Array.from({ length: 12 }, () => messageId(lane, newId(lane).ulid))
    await world.queues.addMany(ids.map((id) => ({ id, payload: { ...audioJob(), class: 'campaign' as const } })))
    expect((await read(lane, 'one', 10)).jobs.map(({ id }) => id)).toEqual(
      (await waitingOn(world.redis, lane, 'campaign')).slice(0, 10),
    )
  })

  test('is other campaigns when one is left out, however much of that one waits first', async () => {
    const lane = world.newLane()
    const [one, other] = [await begin(lane), await begin(lane)]
    await feed(one, 0, 2_000)
    await feed(other, 0, 3)
    await claim(lane, (await read(lane, 'one', 3)).places, 'one')
    const { places } = await read(lane, 'one', 5, [one.number])
    expect(places.every(({ run }) => run === other.number)).toBe(true)
    expect(places.length).toBeGreaterThan(0)
    await releaseRead(world.redis, lane, 'one')
    expect((await read(lane, 'one', 5, [one.number, other.number])).places).toEqual([])
  })
})
