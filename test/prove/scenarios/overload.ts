// A campaign for each of thirty numbers at their pace. For ten seconds both cores are burnt, later each answer of Redis is late: the
// worker falls behind. Three seconds after that is over, the pace must be whole again, and stay so.
import { startOurs } from '../../../bench/many-numbers.ts'
import { NOTHING_FOUND, playNumbers, type Sending } from '../many-numbers.ts'
import type { Scenario } from '../scenario.ts'
import { pause } from '../wait.ts'

const BURNERS = 2
const REDIS_LATE_MS = 5
const TROUBLE_MS = 10_000
/** Within this the pace is whole again. */
const RECOVERS_MS = 3_000
/** It is measured twice for so long: also what comes later is whole. */
const MEASURED_MS = 5_000
/** Until the worker has come to its pace, before the first trouble. */
const BEGINS_MS = 5_000
const WHOLE = 0.95

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
    const seconds = (BEGINS_MS + 2 * (MEASURED_MS + TROUBLE_MS + RECOVERS_MS + 2 * MEASURED_MS)) / 1_000
    return playNumbers(run, { kind: 'campaign', redisLateMs: REDIS_LATE_MS, seconds }, async (play) => {
      const { result, accepted, distinct, twice } = await play('laneway', startOurs, async (sending) => {
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
      })
      const figures = Object.entries(result).flatMap(([trouble, shares]) => [
        { what: `share of the pace before: ${trouble}`, value: shares.before, unit: 'of 1' },
        { what: `while ${trouble}`, value: shares.during, unit: 'of 1' },
        { what: 'from 3 s after that on', value: shares.first, unit: 'of 1', atLeast: WHOLE },
        { what: 'from 8 s after that on', value: shares.second, unit: 'of 1', atLeast: WHOLE },
      ])
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

/** Before, during and after a trouble; `begin` resolves to what ends it. */
async function through({ measure }: Sending, begin: () => Promise<() => Promise<void>>): Promise<Shares> {
  const before = (await measure(MEASURED_MS)).share
  const end = await begin()
  const during = (await measure(TROUBLE_MS)).share
  await end()
  await pause(RECOVERS_MS)
  return { before, during, first: (await measure(MEASURED_MS)).share, second: (await measure(MEASURED_MS)).share }
}
