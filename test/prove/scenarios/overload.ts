// A campaign for each of thirty numbers at their pace. For ten seconds both cores are burnt, later each answer of Redis is late: the
// worker falls behind. Three seconds after that is over, the pace must be what it was before, and stay so. Plain BullMQ is played through
// the same minutes as a measure of what the machine has.
import { startOurs, startPlain } from '../../../bench/many-numbers.ts'
import { NOTHING_FOUND, playNumbers, type Sending } from '../many-numbers.ts'
import type { Figure, Scenario } from '../scenario.ts'
import { pause } from '../wait.ts'

const BURNERS = 2
const REDIS_LATE_MS = 5
const TROUBLE_MS = 10_000
/** Within this the pace is whole again. */
const RECOVERS_MS = 3_000
/**
 * Measured before, from then on, and once more after that, since it must stay whole. No shorter: ten seconds hold at most the rate, and what
 * some of them make up for is missing in the others. Shares of five seconds were 0.94 and 1.06 of the same whole pace.
 */
const MEASURED_MS = 10_000
/** Until the worker has come to its pace, before the first trouble. */
const BEGINS_MS = 5_000
/** What it must have then of its pace before, which counts as whole at most: a backlog of the start may be made up for in it. */
const WHOLE = 0.95

const TROUBLES = ['both cores burnt', 'answers of Redis late'] as const
type Trouble = (typeof TROUBLES)[number]

/** Shares of the pace, one after the other. */
interface Shares {
  before: number
  during: number
  first: number
  second: number
}

export const overload: Scenario = {
  name: 'overload',
  promise: 'A worker that has fallen behind comes back to its whole pace within seconds, and stays there.',
  alone: true,
  async run(run) {
    const seconds = (BEGINS_MS + 2 * (TROUBLE_MS + RECOVERS_MS + 3 * MEASURED_MS)) / 1_000
    return playNumbers(run, { kind: 'campaign', redisLateMs: REDIS_LATE_MS, seconds }, async (play) => {
      const plain = await play('plain', startPlain, playTroubles)
      const { result, accepted, distinct, twice } = await play('laneway', startOurs, playTroubles)
      const figures = TROUBLES.flatMap((trouble): Figure[] => {
        const [ours, theirs] = [result[trouble], plain.result[trouble]]
        const least = WHOLE * Math.min(1, ours.before)
        return [
          { what: `share of the pace before: ${trouble}`, value: ours.before, unit: 'of 1' },
          { what: 'the same of plain BullMQ', value: theirs.before, unit: 'of 1' },
          { what: `while ${trouble}`, value: ours.during, unit: 'of 1' },
          { what: 'the same of plain BullMQ', value: theirs.during, unit: 'of 1' },
          { what: 'from 3 s after that on', value: ours.first, unit: 'of 1', atLeast: least },
          { what: 'the same of plain BullMQ', value: theirs.first, unit: 'of 1' },
          { what: 'from 13 s after that on', value: ours.second, unit: 'of 1', atLeast: least },
          { what: 'the same of plain BullMQ', value: theirs.second, unit: 'of 1' },
        ]
      })
      return {
        judgement: { ...NOTHING_FOUND, accepted, inLedger: distinct },
        figures: [
          ...figures,
          { what: 'accepted and not sent', value: accepted - distinct, unit: 'messages', atMost: 0 },
          { what: 'sent twice', value: twice, unit: 'messages', atMost: 0 },
        ],
      }
    })
  },
}

async function playTroubles(sending: Sending): Promise<Record<Trouble, Shares>> {
  // It was late from the release on, as the bench has it.
  await sending.lateRedis.end()
  await pause(BEGINS_MS)
  const burnt = await through(sending, async () => {
    const burners = sending.burn(BURNERS)
    return burners.stop
  })
  const late = await through(sending, async () => {
    await sending.lateRedis.begin()
    return sending.lateRedis.end
  })
  return { 'both cores burnt': burnt, 'answers of Redis late': late }
}

/** Before, during and after a trouble; `begin` resolves to what ends it. */
async function through({ measure }: Sending, begin: () => Promise<() => Promise<void>>): Promise<Shares> {
  const before = (await measure(MEASURED_MS)).share
  const end = await begin()
  const during = (await measure(TROUBLE_MS)).share
  await end()
  await pause(RECOVERS_MS)
  return { before, during, first: (await measure(MEASURED_MS)).share, second: (await measure(MEASURED_MS)).share }
}
