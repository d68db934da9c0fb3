// Pins: whatever happens to a campaign, in whatever order, nobody is sent to twice without a flag, nobody is forgotten when
// it says done, its figures add up and are those of what lookups show, and a run for a class finds whom it says it matches,
// also once the records are gone; and it always comes to its end.
// Real: Redis, the fan-out, the steps of messages, the export, the recipients of a run. The test is the worker and the provider.
//
// `LIVES=500 npx vitest run campaign-lives` plays more of them, `LIVES_SEED=…` repeats a run.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ASIDE } from '../../src/model/campaigns/counts.ts'
import { RESUME_CLASSES } from '../../src/model/campaigns/definition.ts'
import { unsettled } from '../../src/model/campaigns/progress.ts'
import { STATES } from '../../src/model/messages/lifecycle.ts'
import { type Life, type Lives, OUTCOMES, startLives } from '../support/campaign-lives.ts'
import { countsOf } from '../support/state/messages.ts'

const LIVES = Number(process.env.LIVES ?? 60)
const SEED = Number(process.env.LIVES_SEED ?? Date.now() % 2 ** 31)
/** Lives that are played at the same time: a fan-out mostly waits. */
const AT_ONCE = 12

vi.setConfig({ testTimeout: 900_000 + LIVES * 15_000 })

const ms = fc.integer({ min: 0, max: 120 })
const happening = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('feed' as const), ms }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('kill' as const), commands: fc.nat(40) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('overlap' as const), ms }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('work' as const),
      most: fc.integer({ min: 1, max: 30 }),
      outcome: fc.constantFrom(...OUTCOMES, 'sent' as const),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('doubt' as const),
      most: fc.integer({ min: 1, max: 30 }),
      outcome: fc.constantFrom('failed' as const, 'throttled' as const, 'unanswered' as const),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('sweep', 'pause', 'resume', 'requeue') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), place: fc.nat(200) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('late' as const),
      place: fc.nat(200),
      status: fc.constantFrom('sent' as const, 'delivered' as const, 'failed' as const),
      of: fc.constantFrom('first' as const, 'last' as const),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('expire' as const),
      each: fc.constantFrom(1, 2, 3),
      from: fc.nat(130),
    }),
  },
)
const livesOf = fc.array(
  fc.record({
    total: fc.integer({ min: 1, max: 130 }),
    policy: fc.constantFrom('at_least_once' as const, 'at_most_once' as const),
    happenings: fc.array(happening, { maxLength: 12 }),
    isCancelled: fc.boolean(),
  }),
  { minLength: AT_ONCE, maxLength: AT_ONCE },
)
type OneLife = typeof livesOf extends fc.Arbitrary<(infer L)[]> ? L : never

let lives: Lives
beforeAll(async () => {
  lives = await startLives()
})
afterAll(() => lives?.close())

/** Refusals of moves that the state does not allow are part of life. */
const perhaps = (move: Promise<unknown>): Promise<unknown> => move.catch(() => undefined)

async function happen(
  life: Life,
  it:
    | { kind: 'feed' | 'overlap'; ms: number }
    | { kind: 'kill'; commands: number }
    | { kind: 'work' | 'doubt'; most: number; outcome: (typeof OUTCOMES)[number] }
    | { kind: 'cancel'; place: number }
    | { kind: 'late'; place: number; status: 'sent' | 'delivered' | 'failed'; of: 'first' | 'last' }
    | { kind: 'expire'; each: number; from: number }
    | { kind: string },
): Promise<void> {
  if ('ms' in it) {
    const first = life.feed(it.ms)
    if (it.kind === 'overlap') {
      await life.takeOver()
      await life.feed(it.ms)
    }
    await first
  } else if ('commands' in it) await life.feedAndDie(it.commands)
  else if ('outcome' in it) {
    // Messages without an answer are seldom repeated by chance, which takes a sweep next.
    if (it.kind === 'doubt') {
      await life.work(it.most, 'unanswered')
      await life.sweep()
    }
    await life.work(it.most, it.outcome)
  } else if ('status' in it) await life.reported(it.place, it)
  else if ('place' in it) await life.cancel(it.place)
  else if ('each' in it) await life.expire(life.places().filter((place) => place >= it.from && place % it.each === 0))
  else if (it.kind === 'sweep') await life.sweep()
  else if (it.kind === 'pause') await perhaps(life.pause())
  else if (it.kind === 'resume') await perhaps(life.resume())
  else if (it.kind === 'requeue') await life.requeueAll()
}

async function check(life: Life): Promise<void> {
  expect(life.silentRepeats, 'sent to twice without a flag').toEqual([])
  const { state, progress } = await life.describe()
  expect(
    STATES.reduce((sum, each) => sum + progress[each], 0),
    'the figures add up',
  ).toBe(life.total)
  for (const each of STATES) expect(progress[each], `${each} is never negative`).toBeGreaterThanOrEqual(0)
  expect(progress.capped, 'the capped are part of the failed').toBeLessThanOrEqual(progress.failed)
  const exempt = Number((await countsOf(lives.redis, life.id).field(ASIDE.exempt)) ?? 0)
  const bad = progress.failed + progress.unconfirmed + progress.unknown
  expect([exempt, progress.capped].every((each) => each >= 0) && exempt <= bad, `${exempt} of ${bad} are exempt`).toBe(
    true,
  )
  const [marks, states] = [await life.recipientStates(), await life.states()]
  for (const [place, known] of states.entries()) {
    if (known !== undefined) expect(marks[place], `the campaign knows the state of ${place}`).toBe(known)
  }
  for (const each of STATES.filter((one) => one !== 'queued')) {
    const untouched =
      each === 'cancelled' && state === 'cancelled' ? marks.filter((mark) => mark === undefined).length : 0
    const marked = marks.filter((mark) => mark === each).length
    expect(marked + untouched, `as many are ${each} as are counted`).toBe(progress[each])
  }
  if (state !== 'done') return
  for (const place of life.places()) {
    const mark = marks[place]
    const isTold = mark !== undefined && !['sent', 'delivered', 'read'].includes(mark)
    expect(life.ledger.has(place) || isTold, `${place} is forgotten: ${mark}`).toBe(true)
  }
}

/** Of a campaign that is over: its export has its figures, and whether records are there or gone, it is run again for the same people. */
async function checkRuns(life: Life): Promise<void> {
  const { progress } = await life.describe()
  const exported = await life.exported()
  for (const each of STATES) {
    expect(exported.filter((one) => one === each).length, `as many are exported as ${each}`).toBe(progress[each])
  }
  const plans = async () => Promise.all(RESUME_CLASSES.map(async (only) => ({ only, ...(await life.plan(only)) })))
  const before = await plans()
  for (const { only, matched, found } of before) expect(found, `as many are found as are ${only}`).toBe(matched)
  await life.expire(life.places())
  expect(await plans()).toEqual(before)
}

async function play({ total, policy, happenings, isCancelled }: OneLife): Promise<void> {
  // Fed five recipients at a time, so that much happens in between.
  const life = await lives.begin(total, 20, policy)
  for (const each of happenings) {
    await happen(life, each)
    await check(life)
  }
  if (isCancelled && !['done', 'cancelled'].includes((await life.record()).state)) {
    await life.end()
    await life.work(500, 'sent')
    await life.sweep()
    await check(life)
    return checkRuns(life)
  }
  // However it was left, it ends once it is resumed; too many failures may pause it more than once.
  for (let tries = 0; (await life.record()).state !== 'done'; tries += 1) {
    expect(tries, 'it does not end').toBeLessThan(5)
    await perhaps(life.resume())
    await life.goOn()
    await check(life)
  }
  if (happenings.every(({ kind }) => kind !== 'requeue')) expect(unsettled((await life.describe()).progress)).toBe(0)
  await checkRuns(life)
}

test(`whole lives of campaigns keep what is promised (seed ${SEED}, ${LIVES} lives)`, async () => {
  await fc.assert(
    fc.asyncProperty(livesOf, async (many) => {
      // All have ended before one fails the run: what goes on behind it would meet closed connections.
      const ends = await Promise.allSettled(many.map(play))
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    }),
    // Lives that are interrupted go on behind the next test, so that only what hangs is.
    { numRuns: Math.ceil(LIVES / AT_ONCE), seed: SEED, interruptAfterTimeLimit: 600_000 + LIVES * 15_000 },
  )
})

test('a message that was throttled and whose job then becomes a dead letter ends as failed', async () => {
  const life = await lives.begin(30)
  await life.feedTo(30)
  expect(await life.work(30, 'throttled')).toBe(30)
  await life.work(30, 'dead')
  await life.goOn()
  await check(life)
  expect((await life.describe()).progress).toMatchObject({ queued: 0, failed: 30 })
})
