// Pins: whatever happens to a campaign, in whatever order, nobody is sent to twice without a flag, nobody is forgotten when
// it says done, and its figures add up and are never negative; and it always comes to its end.
// Real: Redis, the fan-out, the steps of messages. The test is the worker and the provider.
//
// `LIVES=500 npx vitest run campaign-lives` plays more of them, `LIVES_SEED=…` repeats a run.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { unsettled } from '../../src/model/campaigns/progress.ts'
import { STATES } from '../../src/model/messages/lifecycle.ts'
import { type Life, type Lives, OUTCOMES, startLives } from '../support/campaign-lives.ts'

const LIVES = Number(process.env.LIVES ?? 60)
const SEED = Number(process.env.LIVES_SEED ?? Date.now() % 2 ** 31)
/** Lives that are played at the same time: a fan-out mostly waits. */
const AT_ONCE = 12

vi.setConfig({ testTimeout: 60_000 + LIVES * 5_000, hookTimeout: 60_000 })

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
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('sweep', 'pause', 'resume', 'requeue') }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), place: fc.nat(200) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('late' as const), place: fc.nat(200) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('expire' as const),
      each: fc.constantFrom(1, 2, 3),
      from: fc.nat(130),
    }),
  },
)
type HistoryEvent = Parameters<typeof happen>[1]
const livesOf = fc.array(
  fc.record({ total: fc.integer({ min: 1, max: 130 }), happenings: fc.array(happening, { maxLength: 12 }) }),
  { minLength: AT_ONCE, maxLength: AT_ONCE },
)

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
    | { kind: 'work'; most: number; outcome: (typeof OUTCOMES)[number] }
    | { kind: 'cancel' | 'late'; place: number }
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
  else if ('outcome' in it) await life.work(it.most, it.outcome)
  else if ('place' in it) await (it.kind === 'cancel' ? life.cancel(it.place) : life.delivered(it.place))
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
  const [marks, states] = [await life.recipientStates(), await life.states()]
  for (const [place, known] of states.entries()) {
    if (known !== undefined) expect(marks[place], `the campaign knows the state of ${place}`).toBe(known)
  }
  for (const each of STATES.filter((one) => one !== 'queued')) {
    expect(marks.filter((mark) => mark === each).length, `as many are ${each} as are counted`).toBe(progress[each])
  }
  if (state !== 'done') return
  for (const place of life.places()) {
    const mark = marks[place]
    const isTold = mark !== undefined && !['sent', 'delivered', 'read'].includes(mark)
    expect(life.ledger.has(place) || isTold, `${place} is forgotten: ${mark}`).toBe(true)
  }
}

async function play(total: number, happenings: readonly HistoryEvent[]): Promise<void> {
  // Fed five recipients at a time, so that much happens in between.
  const life = await lives.begin(total, 20)
  for (const each of happenings) {
    await happen(life, each)
    await check(life)
  }
  // However it was left, it ends once it is resumed; too many failures may pause it more than once.
  for (let tries = 0; (await life.record()).state !== 'done'; tries += 1) {
    expect(tries, 'it does not end').toBeLessThan(5)
    await perhaps(life.resume())
    await life.goOn()
    await check(life)
  }
  if (happenings.every(({ kind }) => kind !== 'requeue')) expect(unsettled((await life.describe()).progress)).toBe(0)
}

test(`whole lives of campaigns keep what is promised (seed ${SEED}, ${LIVES} lives)`, async () => {
  await fc.assert(
    fc.asyncProperty(livesOf, async (many) => {
      // All have ended before one fails the run: what goes on behind it would meet closed connections.
      const ends = await Promise.allSettled(many.map(({ total, happenings }) => play(total, happenings)))
      for (const end of ends) if (end.status === 'rejected') throw end.reason
    }),
    { numRuns: Math.ceil(LIVES / AT_ONCE), seed: SEED, interruptAfterTimeLimit: Math.max(60_000, LIVES * 1_500) },
  )
})

test('a message that is thrown back, and whose job is then dead-lettered, ends failed', async () => {
  const life = await lives.begin(30)
  await life.feedTo(30)
  expect(await life.work(30, 'throttled')).toBe(30)
  await life.work(30, 'dead')
  await life.goOn()
  await check(life)
  expect((await life.describe()).progress).toMatchObject({ queued: 0, failed: 30 })
})
