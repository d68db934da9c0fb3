// Thirty numbers at their pace send marketing templates while the machine does other things too: processes that compute all
// the time, at the start on a backlog and again later. Plain BullMQ is played through the same minutes as a measure of what
// the machine has left. A worker that is late must not ask for more because it is late.
import { startOurs, startPlain } from '../../../bench/many-numbers.ts'
import { type Measured, NOTHING_FOUND, playNumbers, type Sending } from '../many-numbers.ts'
import type { Figure, Scenario } from '../scenario.ts'
import { pause } from '../wait.ts'

const BURNERS = 2
/** Into each stretch it takes so long until what came before is over. */
const SETTLES_MS = 5_000
/** How long each stretch is measured after that. */
const MEASURED_MS = { small: 5_000, full: 10_000 }
/** What the worker must keep of the pace that plain BullMQ keeps beside it. */
const LEAST_OF_PLAIN = 0.6
/** How many more commands each message may take while the machine is busy. */
const MOST_COMMANDS = 2
/** What it must have of its own pace at rest once the machine is its own again. */
const WHOLE = 0.95

const STRETCHES = ['start on a backlog, busy', 'at rest', 'busy', 'at rest again'] as const
type Stretch = (typeof STRETCHES)[number]

export const busyMachine: Scenario = {
  name: 'busy-machine',
  promise:
    'A worker on a machine that does other things as well goes on sending, asks for no more, and comes back by itself.',
  alone: true,
  async run(run) {
    const measuredMs = run.full ? MEASURED_MS.full : MEASURED_MS.small
    const seconds = (STRETCHES.length * (SETTLES_MS + measuredMs)) / 1_000
    return playNumbers(run, { kind: 'single', redisLateMs: 0, seconds }, async (play) => {
      const stretches = (sending: Sending) => playStretches(sending, measuredMs)
      const plain = await play('plain', startPlain, stretches)
      const ours = await play('laneway', startOurs, stretches)
      const figures = STRETCHES.flatMap((stretch): Figure[] => {
        const [mine, theirs] = [ours.result[stretch], plain.result[stretch]]
        const isBusy = stretch.endsWith('busy')
        return [
          {
            ...{ what: `share of the pace, ${stretch}`, value: mine.share, unit: 'of 1' },
            ...(isBusy ? { atLeast: LEAST_OF_PLAIN * theirs.share } : {}),
            ...(stretch === 'at rest again' ? { atLeast: WHOLE * ours.result['at rest'].share } : {}),
          },
          { what: `the same of plain BullMQ`, value: theirs.share, unit: 'of 1' },
          {
            ...{ what: `Redis commands a message, ${stretch}`, value: mine.commands, unit: 'commands' },
            ...(isBusy ? { atMost: MOST_COMMANDS * ours.result['at rest'].commands } : {}),
          },
        ]
      })
      const { accepted, distinct, twice } = ours
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

async function playStretches({ burn, measure }: Sending, measuredMs: number): Promise<Record<Stretch, Measured>> {
  const stretch = async (isBusy: boolean): Promise<Measured> => {
    const burners = burn(isBusy ? BURNERS : 0)
    await pause(SETTLES_MS)
    const measured = await measure(measuredMs)
    await burners.stop()
    return measured
  }
  return {
    'start on a backlog, busy': await stretch(true),
    'at rest': await stretch(false),
    busy: await stretch(true),
    'at rest again': await stretch(false),
  }
}
