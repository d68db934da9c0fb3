// Thirty numbers at their pace send marketing templates while the machine does other things too: processes that compute all
// the time, at the start on a backlog and again later. Plain BullMQ is played through the same minutes as a measure of what
// the machine has left. A worker that is late must not ask for more because it is late.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { startChild } from '../../../bench/child.ts'
import { createClosing } from '../../../bench/closing.ts'
import {
  type Provider,
  type Setting,
  type Start,
  startOurs,
  startPlain,
  startProvider,
  watchOf,
} from '../../../bench/many-numbers.ts'
import { providerReport } from '../../../bench/provider-contract.ts'
import { commandsRun } from '../../../bench/redis.ts'
import { startBurners } from '../../testbed/burners.ts'
import type { Figure, Scenario } from '../scenario.ts'
import { eventually, pause } from '../wait.ts'

const BURNERS = 2
/** Into each stretch it takes so long until what came before is over. */
const SETTLES_MS = 5_000
/** How long each stretch is measured after that. */
const MEASURED_MS = { small: 5_000, full: 10_000 }
/** More than the pace lets out in the time, so that no backlog runs dry. */
const SPARE = 1.1
/** Messages of each number that come in whole batches over all numbers. */
const WHOLE_BATCHES = 100
/** What is left of the backlog after all stretches leaves within this. */
const REST_MS = 300_000
/** What the worker must keep of the pace that plain BullMQ keeps beside it. */
const LEAST_OF_PLAIN = 0.6
/** How many more commands each message may take while the machine is busy. */
const MOST_COMMANDS = 2
/** What it must have of its own pace at rest once the machine is its own again. */
const WHOLE = 0.95

const STRETCHES = ['start on a backlog, busy', 'at rest', 'busy', 'at rest again'] as const
type Stretch = (typeof STRETCHES)[number]

interface Measured {
  /** Share of the pace of all numbers. */
  share: number
  /** Commands that Redis ran for each message that left. */
  commands: number
}

/** The provider counts here; it keeps no ledger, which would keep the machine busier than what is measured. */
const NOTHING_FOUND = {
  ...{ lostSilently: [], sentTwiceSilently: [], sentTwice: [], flagged: [], unearned: false, invented: [] },
  ...{ contradictions: [], unsettled: [], violations: [] },
}

export const busyMachine: Scenario = {
  name: 'busy-machine',
  promise:
    'A worker on a machine that does other things as well goes on sending, asks for no more, and comes back by itself.',
  alone: true,
  async run(run) {
    const numbers = run.full ? 30 : 10
    const pace = run.full ? 80 : 40
    const measuredMs = run.full ? MEASURED_MS.full : MEASURED_MS.small
    const seconds = (STRETCHES.length * (SETTLES_MS + measuredMs)) / 1_000
    const closing = createClosing()
    mkdirSync(run.folder, { recursive: true })
    try {
      const [sink, load] = [await startChild('sink'), await startChild('load')]
      for (const child of [sink, load]) closing.add(() => child.stop())
      const rig = { sink, load, sinkPort: await sink.ask('port', undefined, z.number()) }
      const provider = await startProvider('none', run.folder, closing)
      const many = {
        ...({ numbers, pace, answer: { low: 300, high: 300 }, tls: 'none', category: 'marketing' } as const),
        ...({ kind: 'single', waId: 'plain', busy: BURNERS, redisLateMs: 0, workers: 1 } as const),
      }
      const setting = {
        rig,
        many,
        backlog: Math.ceil((pace * seconds * SPARE) / WHOLE_BATCHES) * WHOLE_BATCHES,
        provider,
      }
      const play = async (name: string, start: Start) => {
        run.say(`${name}: ${numbers} numbers at ${pace}/s`)
        return playStretches(start, { ...setting, dir: join(run.folder, name) }, measuredMs)
      }
      const plain = await play('plain', startPlain)
      const ours = await play('laneway', startOurs)
      const figures = STRETCHES.flatMap((stretch): Figure[] => {
        const [mine, theirs] = [ours.stretches[stretch], plain.stretches[stretch]]
        const isBusy = stretch.endsWith('busy')
        return [
          {
            ...{ what: `share of the pace, ${stretch}`, value: mine.share, unit: 'of 1' },
            ...(isBusy ? { atLeast: LEAST_OF_PLAIN * theirs.share } : {}),
            ...(stretch === 'at rest again' ? { atLeast: WHOLE * ours.stretches['at rest'].share } : {}),
          },
          { what: `the same of plain BullMQ`, value: theirs.share, unit: 'of 1' },
          {
            ...{ what: `Redis commands a message, ${stretch}`, value: mine.commands, unit: 'commands' },
            ...(isBusy ? { atMost: MOST_COMMANDS * ours.stretches['at rest'].commands } : {}),
          },
        ]
      })
      const accepted = setting.backlog * numbers
      const { distinct, twice } = ours
      return {
        judgement: { ...NOTHING_FOUND, accepted, inLedger: distinct },
        figures: [
          ...figures,
          { what: 'accepted and not sent', value: accepted - distinct, unit: 'messages', atMost: 0 },
          { what: 'sent twice', value: twice, unit: 'messages', atMost: 0 },
        ],
      }
    } finally {
      await closing.all()
    }
  },
}

/** Plays all stretches, then waits until everything has left. */
async function playStretches(
  start: Start,
  setting: Omit<Setting, 'closing'>,
  measuredMs: number,
): Promise<{ stretches: Record<Stretch, Measured>; distinct: number; twice: number }> {
  const closing = createClosing()
  const { provider, many, backlog } = setting
  try {
    const contender = await start({ ...setting, closing })
    const { client } = contender.redis
    await provider.child.ask('watch', watchOf(many), z.unknown())
    const measure = async (isBusy: boolean): Promise<Measured> => {
      const burners = startBurners(isBusy ? many.busy : 0)
      closing.add(burners.stop)
      await pause(SETTLES_MS)
      const [before, commandsBefore, beganAt] = [await report(provider), await commandsRun(client), performance.now()]
      await pause(measuredMs)
      const [after, commands] = [await report(provider), await commandsRun(client)]
      const messages = after.distinct - before.distinct
      const wanted = (many.numbers * many.pace * (performance.now() - beganAt)) / 1_000
      await burners.stop()
      return { share: messages / wanted, commands: (commands - commandsBefore) / Math.max(1, messages) }
    }
    await contender.release()
    const stretches = {
      'start on a backlog, busy': await measure(true),
      'at rest': await measure(false),
      busy: await measure(true),
      'at rest again': await measure(false),
    }
    const total = backlog * many.numbers
    await eventually(async () => (await report(provider)).distinct >= total, REST_MS, 250)
    const { distinct, twice } = await report(provider)
    return { stretches, distinct, twice }
  } finally {
    await closing.all()
  }
}

const report = ({ child }: Provider) => child.ask('report', undefined, providerReport)
