// Pins: whatever order holds, releases, drops, erasures, caps, requeues, releases of stale places and deaths come in, a message
// that is held has a place, no other keeps one, and the figures of its campaign add up. Real: Redis. Stood in for: WhatsApp.
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Sender } from '../../src/accounts/senders.ts'
import { createCampaignRefusals } from '../../src/campaigns/fan-out/circuit-breaker.ts'
import { eraseMessage } from '../../src/erase/erase-messages.ts'
import type { FileStore } from '../../src/files/store.ts'
import { type MessageId, messageId, newAttemptId } from '../../src/kernel/message-id.ts'
import { readMessage } from '../../src/lanes/messages/records.ts'
import { requeueStep } from '../../src/lanes/messages/requeue-step.ts'
import { resolveUnconfirmed, setUnconfirmed } from '../../src/lanes/messages/steps.ts'
import { readLaneStats } from '../../src/lanes/stats.ts'
import { campaignMessageUlid } from '../../src/model/campaigns/message-ids.ts'
import type { Evidence } from '../../src/model/messages/lifecycle.ts'
import type { Outcome } from '../../src/model/messages/outcome.ts'
import { workerLost } from '../../src/model/messages/own-problems.ts'
import { heldPlacesOf } from '../../src/portfolios/held-places.ts'
import { createPortfolio, newPortfolioId } from '../../src/portfolios/portfolios.ts'
import { type Counted, checkProviderRules, refundCount } from '../../src/portfolios/rules.ts'
import { rulesOwnerOf } from '../../src/portfolios/rules-owner.ts'
import { createCampaign, idOf, moveCampaign } from '../../src/recipients/campaigns.ts'
import type { Redis } from '../../src/redis/connect.ts'
import { applyReport, type Report } from '../../src/reports/apply-report.ts'
import { releaseStalePlaces } from '../../src/worker/recovery/stale-places.ts'
import { settle } from '../../src/worker/sending/settle.ts'
import { silentLog } from '../support/app.ts'
import { claim } from '../support/claim.ts'
import { type LaneRedis, LONG_TIMES, startLaneRedis } from '../support/lane-redis.ts'
import { dyingAfter } from '../support/redis.ts'
import { answering, anySender, sendingTo } from '../support/sending.ts'
import { campaignRecord, countsOf } from '../support/state/messages.ts'

const MESSAGES = 3
const KEEP_MS = 3_600_000
const CONFIG = { retentionMs: KEEP_MS, capMs: 60_000, maxTries: 8, unconfirmedWaitMs: 1_000 }

let world: LaneRedis
beforeAll(async () => {
  world = await startLaneRedis()
})
afterAll(() => world?.close())

const ANSWERS = {
  sent: { kind: 'sent', providerId: 'p' },
  held: { kind: 'sent', providerId: 'p', isHeld: true },
  unsent: { kind: 'not_asked', problem: { code: 'woken_late', sentence: '' } },
  unproven: {
    kind: 'unconfirmed',
    blocksSender: false,
    coolsLane: false,
    problem: { code: 'no_answer', sentence: '' },
  },
  refused: { kind: 'failed', concerns: 'recipient', problem: { code: '131026', sentence: '' } },
  capped: { kind: 'failed', concerns: 'recipient', problem: { code: '131049', sentence: '' } },
} satisfies Record<string, Outcome>
type Answer = keyof typeof ANSWERS

const REPORTS = {
  sent: { status: 'sent' },
  delivered: { status: 'delivered' },
  read: { status: 'read' },
  dropped: { status: 'failed', problem: { code: '132015', sentence: '' } },
  undelivered: { status: 'failed', problem: { code: '131026', sentence: '' } },
  capped: { status: 'failed', problem: { code: '131049', sentence: '' } },
} satisfies Record<string, { status: Evidence; problem?: { code: string; sentence: string } }>
type Told = keyof typeof REPORTS

interface Setting {
  hasPortfolio: boolean
  waves: number
}

/** A campaign on a lane of its own, with what can happen to its messages. */
async function createLife({ hasPortfolio, waves }: Setting) {
  const { redis, server, queues } = world
  const lane = world.newLane()
  const portfolio = hasPortfolio ? await newPortfolioId(redis) : null
  if (portfolio !== null) await createPortfolio(redis, { id: portfolio, account: 1, name: 'Shop', daily_limit: 2 })
  const sender: Sender = { ...anySender(80), id: lane, portfolio }
  const rules = await rulesOwnerOf(redis, sender)
  const definition = {
    ...{
      sender: '1',
      template: { name: 't', language: { code: 'en' }, components: [] },
      recipients: { tags: [1], except: [] },
    },
    ...(waves > 0 && { retry_capped: { times: waves } }),
  }
  const campaign = await createCampaign(redis, { account: 1, lane, definition }, Date.now())
  const startedAt = Date.now()
  for (const move of ['check', 'pass', 'start'] as const) await moveCampaign(redis, campaign, move, KEEP_MS)
  await campaignRecord(redis, campaign).change({ total: MESSAGES })
  const people = Array.from({ length: MESSAGES }, (_, i) => `4917${lane}000${i}`)
  const ids: MessageId[] = people.map((to, i) => ({
    lane,
    ulid: campaignMessageUlid(idOf(campaign), startedAt, i, to),
  }))
  const attempts: string[][] = people.map(() => [])
  /** Webhooks that were not answered: WhatsApp repeats them. */
  const unanswered: Report[] = []
  let hasDied = false
  const idAt = (i: number): MessageId => ids[i] ?? { lane, ulid: '' }
  const nameAt = (i: number): string => messageId(lane, idAt(i).ulid)
  const personAt = (i: number): string => people[i] ?? ''
  const recordAt = (i: number) => readMessage(redis, idAt(i))
  const holder = portfolio === null ? { lane } : { portfolio }

  /** Does it as a process that dies after so many commands. */
  async function as(dies: number | undefined, work: (connection: Redis) => Promise<unknown>): Promise<boolean> {
    const connection = dies === undefined ? redis : await dyingAfter(server.url, dies)
    try {
      await work(connection)
    } catch (error) {
      if (dies === undefined) throw error
    }
    const isAlive = connection === redis || connection.status !== 'end'
    if (connection !== redis) connection.disconnect()
    if (!isAlive) hasDied = true
    return isAlive
  }

  async function report(of: Report, dies?: number): Promise<void> {
    const isAlive = await as(dies, (connection) => {
      const refusals = createCampaignRefusals({ redis: connection, log: silentLog, config: CONFIG })
      return applyReport({ redis: connection, lanes: queues, log: silentLog, refusals, config: CONFIG }, sender, of)
    })
    if (!isAlive) unanswered.push(of)
    // A person resumes what a drop has paused.
    await moveCampaign(redis, campaign, 'resume', KEEP_MS)
  }

  return {
    async send(i: number, answer: Answer, overtaking: Told | undefined, dies: number | undefined): Promise<void> {
      const [to, id, attempt] = [personAt(i), idAt(i), newAttemptId()]
      const before = await recordAt(i)
      if (before !== undefined && (before.state !== 'queued' || before.to === '')) return
      const ask = { name: nameAt(i), names: [to], isMarketing: true, isCampaign: true, opensConversation: true }
      const [verdict] = await checkProviderRules(redis, rules, [ask], { mostHeld: 2 })
      if (verdict?.verdict !== 'ok') return
      const counted: Counted = { name: nameAt(i), names: [to], ...verdict }
      const message = {
        ...({ to, type: 'template', text: '', class: 'campaign', validUntil: Date.now() + KEEP_MS } as const),
        ...{ campaign: undefined, run: campaign.number, filled: ['Ann'] },
      }
      const claimed = await claim(redis, id, attempt, message, LONG_TIMES)
      if (claimed.verdict !== 'done' || claimed.state !== 'sending') return refundCount(redis, rules, counted)
      attempts[i]?.push(attempt)
      if (overtaking !== undefined) await report({ id, attempt, ...REPORTS[overtaking] })
      await as(dies, async (connection) => {
        const deps = {
          ...sendingTo(
            { redis: connection, lanes: queues },
            sender,
            answering(() => ({ kind: 'accepted', providerId: 'p' })),
          ),
        }
        const entry = await deps.directory.of(lane)
        if (entry === undefined) throw new Error('no sender')
        const attempted = { id, attempt, to, run: campaign.number, counted }
        await settle(
          { ...deps, config: { ...deps.config, ...CONFIG } },
          { ...entry, rules },
          attempted,
          ANSWERS[answer],
        )
      })
    },
    async tell(i: number, which: number, told: Told, dies: number | undefined): Promise<void> {
      const attempt = attempts[i]?.at(-1 - which)
      if (attempt !== undefined) await report({ id: idAt(i), attempt, ...REPORTS[told] }, dies)
    },
    async repeat(): Promise<void> {
      for (const each of unanswered.splice(0)) await report(each)
    },
    async erase(i: number): Promise<void> {
      const files: FileStore = Object.create(null)
      const config = { retentionMs: KEEP_MS, validityMs: { campaign: KEEP_MS } }
      await eraseMessage({ redis, queues, files, config }, idAt(i), personAt(i))
    },
    async requeue(i: number): Promise<void> {
      await requeueStep(redis, idAt(i), { until: Date.now() + KEEP_MS, retentionMs: KEEP_MS, content: '{}' })
    },
    /** The sweep finds a message whose worker has died, or decides one that stays unproven. */
    async sweep(i: number, policy: 'never' | 'once'): Promise<void> {
      const record = await recordAt(i)
      if (record?.state === 'sending') {
        await setUnconfirmed(redis, idAt(i), record.attempt, { problem: workerLost, evidenceMs: 0 })
      } else if (record?.state === 'unconfirmed') {
        await resolveUnconfirmed(redis, idAt(i), record.attempt, policy, 8)
      }
    },
    releaseStale: () => releaseStalePlaces(redis),
    /** What must hold at any time; `isSettled`: stale places were released, so that no dead process has left a place behind. */
    async check(isSettled: boolean): Promise<void> {
      const records = await Promise.all(ids.map((_id, i) => recordAt(i)))
      const places = await heldPlacesOf(redis, holder, 100)
      const held = ids.flatMap((_id, i) => (records[i]?.heldSince === undefined ? [] : [nameAt(i)]))
      const ofHeld = places.flatMap(({ name, isHeld }) => (isHeld ? [name] : []))
      expect(ofHeld).toEqual(expect.arrayContaining(held))
      const counts = Object.fromEntries(
        Object.entries(await countsOf(redis, campaign).fields()).map(([k, n]) => [k, Number(n)]),
      )
      const { held: nowHeld = 0, capped = 0, exempt = 0, ...states } = counts
      expect(nowHeld).toBe(held.length)
      expect(capped).toBe(records.filter((record) => record?.cappedUntil !== undefined).length)
      expect(Math.min(0, exempt, ...Object.values(states))).toBe(0)
      const known = records.filter((record) => record !== undefined)
      expect(Object.values(states).reduce((sum, n) => sum + n, 0)).toBe(known.length)
      const isOpen = (state: string): boolean => ['queued', 'sending', 'unconfirmed'].includes(state)
      const [shown] = (await readLaneStats(redis, lane)).campaigns
      expect(shown?.remaining).toBe(MESSAGES - known.filter(({ state }) => !isOpen(state)).length)
      if (hasDied && !isSettled) return
      const mayHave = ids.flatMap((_id, i) => {
        const { state, heldSince } = records[i] ?? {}
        return heldSince !== undefined || state === 'sending' || state === 'unconfirmed' ? [nameAt(i)] : []
      })
      expect(mayHave).toEqual(expect.arrayContaining(ofHeld))
    },
    /** Everything comes to its end: the dead are found, webhooks come again, and WhatsApp tells of all that it holds. */
    async end(): Promise<void> {
      await this.repeat()
      for (const i of ids.keys()) {
        for (let n = 0; n < 2; n += 1) await this.sweep(i, 'never')
        for (const which of (attempts[i] ?? []).keys()) await this.tell(i, which, 'delivered', undefined)
      }
      await this.releaseStale()
      await this.check(true)
      const queued = new Set<string>()
      for (const i of ids.keys())
        if ((await recordAt(i))?.state === 'queued' || (await recordAt(i)) === undefined) queued.add(nameAt(i))
      const left = (await heldPlacesOf(redis, holder, 100)).filter(({ name, isHeld }) => isHeld || !queued.has(name))
      expect(left).toEqual([])
    },
    recordAt,
    places: () => heldPlacesOf(redis, holder, 100),
  }
}

type Life = Awaited<ReturnType<typeof createLife>>

const message = fc.nat({ max: MESSAGES - 1 })
const mostlyNot = <T>(arbitrary: fc.Arbitrary<T>) =>
  fc.oneof({ arbitrary: fc.constant(undefined), weight: 3 }, { arbitrary, weight: 1 })
const dies = mostlyNot(fc.nat({ max: 9 }))
const told = fc.constantFrom<Told[]>('sent', 'delivered', 'read', 'dropped', 'undelivered', 'capped')
const answer = fc.oneof(
  { arbitrary: fc.constant<Answer>('held'), weight: 3 },
  { arbitrary: fc.constantFrom<Answer[]>('sent', 'unsent', 'unproven', 'refused', 'capped'), weight: 2 },
)
const step = fc.oneof(
  {
    arbitrary: fc.tuple(fc.constant('send' as const), message, answer, mostlyNot(told), dies),
    weight: 4,
  },
  { arbitrary: fc.tuple(fc.constant('tell' as const), message, fc.nat({ max: 1 }), told, dies), weight: 4 },
  {
    arbitrary: fc.tuple(fc.constant('sweep' as const), message, fc.constantFrom('never' as const, 'once' as const)),
    weight: 2,
  },
  { arbitrary: fc.tuple(fc.constant('erase' as const), message), weight: 2 },
  fc.tuple(fc.constant('requeue' as const), message),
  fc.tuple(fc.constant('repeat' as const)),
  fc.tuple(fc.constant('release stale' as const)),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

async function take(life: Life, each: Step): Promise<void> {
  switch (each[0]) {
    case 'send':
      return life.send(each[1], each[2], each[3], each[4])
    case 'tell':
      return life.tell(each[1], each[2], each[3], each[4])
    case 'sweep':
      return life.sweep(each[1], each[2])
    case 'erase':
      return life.erase(each[1])
    case 'requeue':
      return life.requeue(each[1])
    case 'repeat':
      return life.repeat()
    case 'release stale':
      await life.releaseStale()
      return life.check(true)
  }
}

test('in every order a held message has its place, no other keeps one, and all figures add up', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({ hasPortfolio: fc.boolean(), waves: fc.nat({ max: 2 }) }),
      fc.array(step, { minLength: 1, maxLength: 14 }),
      async (setting, steps) => {
        const life = await createLife(setting)
        for (const each of steps) {
          await take(life, each)
          await life.check(false)
        }
        await life.end()
      },
    ),
    { numRuns: 60 },
  )
})

const RULES: readonly Setting[] = [
  { hasPortfolio: false, waves: 0 },
  { hasPortfolio: true, waves: 0 },
]

describe.each(RULES)('with a portfolio: $hasPortfolio', (setting) => {
  test('the person of a held message is erased, and the end of the hold frees its place', async () => {
    for (const told of ['sent', 'dropped'] as const) {
      const life = await createLife(setting)
      await life.send(0, 'held', undefined, undefined)
      expect(await life.places()).toHaveLength(1)
      await life.erase(0)
      expect((await life.recordAt(0))?.to).toBe('')
      await life.check(true)
      await life.tell(0, 0, told, undefined)
      await life.check(true)
      expect(await life.places()).toEqual([])
    }
  })

  test('a release that comes before the answer with the hold leaves no place', async () => {
    for (const told of ['sent', 'delivered', 'dropped'] as const) {
      const life = await createLife(setting)
      await life.send(0, 'held', told, undefined)
      await life.check(true)
      expect(await life.places()).toEqual([])
    }
  })

  test('a process that dies at any point leaves no place behind once stale ones are released', async () => {
    for (let commands = 0; commands < 8; commands += 1) {
      const life = await createLife(setting)
      await life.send(0, 'held', undefined, commands)
      await life.tell(0, 0, 'sent', commands)
      await life.repeat()
      await life.releaseStale()
      await life.check(true)
      expect(await life.places()).toEqual([])
    }
  })

  test('dropping an attempt ends its hold although an earlier attempt turns out to be sent', async () => {
    const life = await createLife(setting)
    await life.send(0, 'unproven', undefined, undefined)
    await life.sweep(0, 'once')
    await life.send(0, 'held', undefined, undefined)
    await life.tell(0, 1, 'sent', undefined)
    expect(await life.places()).toHaveLength(1)
    await life.tell(0, 0, 'dropped', undefined)
    expect((await life.recordAt(0))?.state).toBe('sent')
    await life.check(true)
    expect(await life.places()).toEqual([])
  })
})
