// What every archive does, whatever is behind it: cases that run against any implementation of src/lanes/archive/archive.ts.

import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { acceptedAtMs, type MessageId } from '../../src/kernel/message-id.ts'
import type { Archive, Candidate, Cursor, SearchFilter, Walked, WalkQuery } from '../../src/lanes/archive/archive.ts'

/** A message that is accepted. */
export interface Accepting {
  to: string
  /** How long ago; 0 when it is left out. */
  ageMs?: number
  class?: 'transactional' | 'campaign'
  group?: string
  /** The campaign of ours that it belongs to, when that started, and the place in its list. */
  of?: { campaign: number; startedAtMs: number; place: number }
}

/** How the attempt at a message ends. */
export type Ending = 'delivered' | 'failed' | 'unconfirmed'

/** An archive, and what fills it: the life of messages, which writes into it step by step. */
export interface ArchiveWorld {
  archive: Archive
  /** Of received messages. */
  account: number
  newLane(): number
  /** A campaign of the lane with so many recipients. */
  startCampaign(lane: number, campaign: number, recipients: number): Promise<void>
  /** It is accepted and waits. */
  accept(lane: number, message: Accepting): Promise<MessageId>
  /** Its attempt ends so. */
  end(id: MessageId, how: Ending): Promise<void>
  /** The person writes; WhatsApp's id of what they wrote. */
  receive(lane: number, from: string): Promise<string>
  /** Its retention is over. */
  expire(id: MessageId): Promise<void>
  /** What is kept of it is not what Laneway wrote. */
  ruin(id: MessageId): Promise<void>
  close(): Promise<void>
}

const ANNA = '491700000001'
const BEN = '491700000002'
const HOUR_MS = 3_600_000
/** The code of messages that failed. */
export const FAILED_FOR = '131026'

/** Runs the cases against the archive of a world. */
export function archiveCases(name: string, open: () => Promise<ArchiveWorld>): void {
  let world: ArchiveWorld
  beforeAll(async () => {
    world = await open()
  })
  afterAll(() => world?.close())

  async function ended(lane: number, how: Ending, message: Partial<Accepting> = {}): Promise<MessageId> {
    const id = await world.accept(lane, { to: ANNA, ...message })
    await world.end(id, how)
    return id
  }

  /** All that a search finds, in pages of `limit`. */
  async function searched(lanes: number[], filter: Partial<SearchFilter> = {}, limit = 100): Promise<Candidate[]> {
    const found: Candidate[] = []
    let after: Cursor | undefined
    do {
      const page: Candidate[] = []
      const query = { lanes, limit, after, filter: { outbound: true, inbound: true, ...filter } }
      for await (const { candidates, next } of world.archive.search(query)) {
        page.push(...candidates)
        after = next
        if (page.length >= limit) break
      }
      found.push(...page)
    } while (after !== undefined)
    return found
  }
  const ulidsOf = (found: readonly (Candidate | Walked)[]) =>
    found.flatMap((each) => (each.kind === 'sent' ? [each.ulid] : []))

  async function walked(query: WalkQuery): Promise<Walked[][]> {
    const pieces: Walked[][] = []
    for await (const piece of world.archive.walk(query)) pieces.push(piece)
    return pieces
  }
  const walkedOf = async (lane: number, ...people: string[][]) => (await walked({ lane, people })).flat()

  describe(`${name}: find`, () => {
    test('messages are found in the order of their ids, with their whole history; a waiting one is not', async () => {
      const lane = world.newLane()
      const [delivered, failed] = [await ended(lane, 'delivered'), await ended(lane, 'failed', { group: 'spring' })]
      const waiting = await world.accept(lane, { to: ANNA })
      const found = await world.archive.find({ lane, ulids: [failed, waiting, delivered].map(({ ulid }) => ulid) })
      expect(found).toMatchObject([
        { state: 'failed', to: ANNA, campaign: 'spring', problem: { code: FAILED_FOR } },
        undefined,
        { state: 'delivered', to: ANNA, text: expect.any(String) },
      ])
      const [first] = found
      const history = first !== undefined && !(first instanceof Error) ? first.history : []
      expect(history.map(({ what }) => what)).toEqual(['claimed', 'failed'])
      expect(history[0]?.atMs).toBeGreaterThanOrEqual(acceptedAtMs(failed.ulid))
    })

    test('each view agrees with the whole of a message', async () => {
      const lane = world.newLane()
      const { ulid } = await ended(lane, 'failed', { class: 'campaign', group: 'spring' })
      const of = { lane, ulids: [ulid] }
      expect(await world.archive.find(of, 'progress')).toEqual([
        { state: 'failed', repeats: 0, run: undefined, code: FAILED_FOR },
      ])
      expect(await world.archive.find(of, 'facts')).toMatchObject([
        { class: 'campaign', kind: 'audio', group: 'spring', run: null, isForgotten: false },
      ])
    })

    test('an unreadable message is an error in its place, and hides no other', async () => {
      const lane = world.newLane()
      const [ruined, good] = [await ended(lane, 'delivered'), await ended(lane, 'delivered')]
      await world.ruin(ruined)
      const of = { lane, ulids: [ruined.ulid, good.ulid] }
      expect(await world.archive.find(of)).toEqual([expect.any(Error), expect.objectContaining({ state: 'delivered' })])
      expect(await world.archive.find(of, 'progress')).toEqual([
        expect.any(Error),
        expect.objectContaining({ state: 'delivered' }),
      ])
    })

    test('a message past its retention is not found', async () => {
      const lane = world.newLane()
      const id = await ended(lane, 'delivered')
      await world.expire(id)
      for (const view of ['whole', 'progress', 'facts'] as const) {
        expect(await world.archive.find({ lane, ulids: [id.ulid] }, view), view).toEqual([undefined])
      }
    })

    test("a received message is found by WhatsApp's id, only for its account", async () => {
      const lane = world.newLane()
      const id = await world.receive(lane, ANNA)
      const { account } = world
      expect(await world.archive.find({ account, id })).toMatchObject({ id, lane, from: ANNA })
      expect(await world.archive.find({ account: account + 1, id })).toBeUndefined()
    })
  })

  describe(`${name}: search`, () => {
    test('messages of all lanes come newest first and each once, whatever the size of a page', async () => {
      const lanes = [world.newLane(), world.newLane()]
      const ids: string[] = []
      for (const ageMs of [3 * HOUR_MS, 60_000, 0]) {
        for (const lane of lanes) ids.push((await ended(lane, 'delivered', { ageMs })).ulid)
      }
      const expected = ids.sort().reverse()
      for (const limit of [1, 4, 100]) expect(ulidsOf(await searched(lanes, {}, limit)), `${limit}`).toEqual(expected)
    })

    test('a waiting message is a candidate; of those with a record, only matches are found', async () => {
      const lane = world.newLane()
      const delivered = await ended(lane, 'delivered', { group: 'spring' })
      const failed = await ended(lane, 'failed', { class: 'campaign', to: BEN, ageMs: 2 * HOUR_MS })
      const waiting = await world.accept(lane, { to: ANNA })
      const expectFound = async (filter: Partial<SearchFilter>, ...wanted: MessageId[]) => {
        const found = ulidsOf(await searched([lane], filter)).filter((ulid) => ulid !== waiting.ulid)
        expect(found, JSON.stringify(filter)).toEqual(wanted.map(({ ulid }) => ulid))
      }
      await expectFound({ state: 'failed' }, failed)
      await expectFound({ state: 'delivered' }, delivered)
      await expectFound({ class: 'campaign' }, failed)
      await expectFound({ group: 'spring' }, delivered)
      await expectFound({ code: FAILED_FOR }, failed)
      await expectFound({ names: [BEN] }, failed)
      await expectFound({ sinceMs: Date.now() - HOUR_MS }, delivered)
      await expectFound({ untilMs: Date.now() - HOUR_MS }, failed)
      await expectFound({ outbound: false })
      expect(ulidsOf(await searched([lane]))).toContain(waiting.ulid)
    })

    test('a received message is found under the person who wrote it, and by the other terms of the search', async () => {
      const lane = world.newLane()
      const id = await world.receive(lane, BEN)
      await ended(lane, 'delivered', { to: BEN })
      const found = await searched([lane], { outbound: false, names: [BEN] })
      expect(found).toMatchObject([{ kind: 'received', lane }])
      const [first] = found
      const name = first?.kind === 'received' ? first.name : ''
      expect(await world.archive.find({ account: world.account, name })).toMatchObject({ id })
      expect(await searched([lane], { outbound: false, names: [ANNA] })).toEqual([])
    })

    test('the messages of one campaign are found by its number', async () => {
      const lane = world.newLane()
      await world.startCampaign(lane, 1, 10)
      const of = { campaign: 1, startedAtMs: Date.now() - HOUR_MS }
      const ids = [await ended(lane, 'delivered', { class: 'campaign', of: { ...of, place: 3 } })]
      ids.push(await ended(lane, 'failed', { class: 'campaign', to: BEN, of: { ...of, place: 7 } }))
      await ended(lane, 'delivered')
      const found = await searched([lane], { campaign: { lane, number: 1 } })
      expect(ulidsOf(found)).toEqual(ids.map(({ ulid }) => ulid).reverse())
    })
  })

  describe(`${name}: put`, () => {
    test('a message put again, as after a crash, is found once, and without a record only as a candidate', async () => {
      const lane = world.newLane()
      const { ulid } = await world.accept(lane, { to: ANNA })
      const messages = [{ ulid, to: ANNA, until: Date.now() + HOUR_MS }]
      await world.archive.put({ lane, messages, retentionMs: HOUR_MS })
      expect(ulidsOf(await searched([lane]))).toEqual([ulid])
      expect(await world.archive.find({ lane, ulids: [ulid] })).toEqual([undefined])
    })

    test('extending the life of a message changes nothing else', async () => {
      const lane = world.newLane()
      const { ulid } = await ended(lane, 'failed', { ageMs: 72 * HOUR_MS })
      await world.archive.put({ lane, ulids: [ulid], keptUntilMs: Date.now() + 1_000 * HOUR_MS })
      expect(ulidsOf(await searched([lane]))).toEqual([ulid])
    })
  })

  describe(`${name}: walk`, () => {
    test('all messages of the people are visited, sent and received, each with its person', async () => {
      const lane = world.newLane()
      await world.startCampaign(lane, 1, 10)
      const ofCampaign = { class: 'campaign', of: { campaign: 1, startedAtMs: Date.now(), place: 4 } } as const
      const anna = [await ended(lane, 'delivered', { ageMs: 72 * HOUR_MS }), await ended(lane, 'failed', ofCampaign)]
      anna.push(await world.accept(lane, { to: ANNA }))
      const ben = await ended(lane, 'delivered', { to: BEN })
      await world.receive(lane, BEN)
      const ofBoth = await walkedOf(lane, [ANNA], [BEN, 'DE.1'])
      const of = (who: number) => ulidsOf(ofBoth.filter((each) => each.who === who))
      expect([...new Set(of(0))].sort()).toEqual(anna.map(({ ulid }) => ulid).sort())
      expect(of(1)).toEqual([ben.ulid])
      expect(ofBoth.filter(({ kind }) => kind === 'received')).toMatchObject([{ who: 1, lane }])
      expect(new Set(ulidsOf(await walkedOf(lane, [ANNA])))).toEqual(new Set(of(0)))
      expect(ofBoth.find((each) => each.kind === 'sent' && each.ulid === ben.ulid)?.acceptedAtMs).toBe(
        acceptedAtMs(ben.ulid),
      )
    })

    test('an unlisted message is no longer visited, and nothing else is lost', async () => {
      const lane = world.newLane()
      const [first, second] = [await ended(lane, 'delivered'), await ended(lane, 'delivered')]
      for (const each of await walkedOf(lane, [ANNA])) {
        if (each.kind === 'sent' && each.ulid === first.ulid) await each.unlist()
      }
      expect(ulidsOf(await walkedOf(lane, [ANNA]))).toEqual([second.ulid])
      expect(ulidsOf(await searched([lane])).sort()).toEqual([first.ulid, second.ulid].sort())
    })

    test('campaigns come latest first, each on its own, within the requested times and numbers', async () => {
      const lane = world.newLane()
      const now = Date.now()
      const ids: string[] = []
      for (const [i, startedAtMs] of [now - 3 * HOUR_MS, now - 2 * HOUR_MS, now - HOUR_MS].entries()) {
        await world.startCampaign(lane, i + 1, 10)
        const of = { campaign: i + 1, startedAtMs, place: 0 }
        ids.push((await ended(lane, 'delivered', { class: 'campaign', of })).ulid)
      }
      await ended(lane, 'delivered')
      const walkedIn = async (campaigns: object) => {
        const all = { sinceMs: 0, untilMs: now, most: 10, mostRecipients: 1_000, ...campaigns }
        return (await walked({ lane, people: [[ANNA]], campaigns: all })).map(ulidsOf)
      }
      const [oldest = '', middle = '', latest = ''] = ids
      expect(await walkedIn({})).toEqual([[latest], [middle], [oldest]])
      expect(await walkedIn({ most: 2 })).toEqual([[latest], [middle]])
      expect(await walkedIn({ sinceMs: now - 2.5 * HOUR_MS, untilMs: now - 1.5 * HOUR_MS })).toEqual([[middle]])
      expect(await walkedIn({ mostRecipients: 1 })).toEqual([[latest]])
    })

    test('messages that ended undelivered come page by page in the order of their end, and leave with their retention', async () => {
      const lane = world.newLane()
      const ids: MessageId[] = []
      for (let i = 0; i < 3; i += 1) ids.push(await ended(lane, 'failed'))
      await ended(lane, 'delivered')
      const page = (endedAfter = { score: 0, member: '' }) =>
        world.archive.walk({ lane, endedAfter, endedUntilMs: Date.now() + 1_000, most: 2 })
      const first = await page()
      const second = await page(first.last)
      const both = [...first.messages, ...second.messages]
      expect(first.messages).toHaveLength(2)
      expect(both.map(({ ulid }) => ulid).sort()).toEqual(ids.map(({ ulid }) => ulid).sort())
      for (const { message } of both) expect(message).toMatchObject({ state: 'failed', problem: { code: FAILED_FOR } })
      expect((await page(second.last)).messages).toEqual([])
      const gone = ids[0] ?? { lane, ulid: '' }
      await world.expire(gone)
      expect((await page()).messages).toContainEqual({ ulid: gone.ulid, message: undefined })
      expect((await page()).messages.map(({ ulid }) => ulid)).not.toContain(gone.ulid)
    })
  })

  describe(`${name}: erase`, () => {
    test('recipient and content are erased, and the outcome stays; a second time changes nothing', async () => {
      const lane = world.newLane()
      const id = await ended(lane, 'failed')
      expect(await world.archive.erase(id, BEN)).toBe('other')
      expect(await world.archive.find({ lane, ulids: [id.ulid] })).toMatchObject([{ to: ANNA }])
      expect(await world.archive.erase(id, ANNA)).toBe('erased')
      const [record] = await world.archive.find({ lane, ulids: [id.ulid] })
      expect(record).toMatchObject({ to: '', text: '', state: 'failed', problem: { code: FAILED_FOR, sentence: '' } })
      expect(record).not.toHaveProperty('payload')
      expect(await world.archive.find({ lane, ulids: [id.ulid] }, 'facts')).toMatchObject([{ isForgotten: true }])
      expect(await world.archive.erase(id, ANNA)).toBe('before')
    })

    test('a message that has not ended is left to its lane', async () => {
      const lane = world.newLane()
      const id = await ended(lane, 'unconfirmed')
      expect(await world.archive.erase(id, ANNA)).toBe('unconfirmed')
      expect(await world.archive.find({ lane, ulids: [id.ulid] })).toMatchObject([{ to: ANNA, state: 'unconfirmed' }])
      expect(await world.archive.erase(await world.accept(lane, { to: ANNA }), ANNA)).toBe('other')
    })

    test('a received message is removed completely if it is from the person', async () => {
      const lane = world.newLane()
      const { account } = world
      const id = await world.receive(lane, BEN)
      const [met] = await walkedOf(lane, [BEN])
      const name = met?.kind === 'received' ? met.name : ''
      expect(await world.archive.erase({ account, name }, ANNA)).toBe('other')
      expect(await world.archive.find({ account, id })).toMatchObject({ from: BEN })
      expect(await world.archive.erase({ account, name }, BEN)).toBe('erased')
      expect(await world.archive.find({ account, id })).toBeUndefined()
      expect(await world.archive.erase({ account, name }, BEN)).toBe('other')
    })
  })
}
