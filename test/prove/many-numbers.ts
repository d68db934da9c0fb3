// Many numbers at their pace from one worker, to a provider that only counts: for scenarios about what a machine has left. The
// contenders are those of the bench. What is done to the machine meanwhile is the scenario's.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { startChild } from '../../bench/child.ts'
import { createClosing } from '../../bench/closing.ts'
import { type NumbersContender, type Start, startProvider, watchOf } from '../../bench/many-numbers.ts'
import type { Many } from '../../bench/numbers-options.ts'
import { providerReport } from '../../bench/provider-contract.ts'
import { commandsRun } from '../../bench/redis.ts'
import { startBurners } from '../testbed/burners.ts'
import type { Run } from './scenario.ts'
import { eventually, pause } from './wait.ts'

/** More than the pace lets out in the time, so that no backlog runs dry. */
const SPARE = 1.1
/** Messages of each number that come in whole batches over all numbers. */
const WHOLE_BATCHES = 100
/** What is left of the backlog in the end leaves within this. */
const REST_MS = 300_000

/** The provider counts here; it keeps no ledger, which would keep the machine busier than what is measured. */
export const NOTHING_FOUND = {
  ...{ lostSilently: [], sentTwiceSilently: [], sentTwice: [], flagged: [], unearned: false, invented: [] },
  ...{ contradictions: [], unsettled: [], violations: [] },
}

export interface Measured {
  /** Share of the pace of all numbers. */
  share: number
  /** Commands that Redis ran for each message that left. */
  commands: number
}

/** A contender that sends. */
export interface Sending extends Pick<NumbersContender, 'lateRedis'> {
  /** From now on, for so long (ms). */
  measure(ms: number): Promise<Measured>
  /** So many processes compute all the time, until `stop`. */
  burn(processes: number): { stop: () => Promise<void> }
}

export interface Played<T> {
  /** What the scenario returned. */
  result: T
  /** Messages: all of them, how many have left, and how many more than once. */
  accepted: number
  distinct: number
  twice: number
}

/**
 * Has contenders send marketing templates, one after the other, with a backlog for `seconds`; `during` is called when the contender
 * was let go, and everything has left when `play` resolves.
 */
export async function playNumbers<R>(
  run: Run,
  options: Pick<Many, 'kind' | 'redisLateMs'> & { seconds: number },
  act: (
    play: <T>(name: string, start: Start, during: (sending: Sending) => Promise<T>) => Promise<Played<T>>,
  ) => Promise<R>,
): Promise<R> {
  const numbers = run.full ? 30 : 10
  const pace = run.full ? 80 : 40
  const backlog = Math.ceil((pace * options.seconds * SPARE) / WHOLE_BATCHES) * WHOLE_BATCHES
  const closing = createClosing()
  mkdirSync(run.folder, { recursive: true })
  try {
    const [sink, load] = [await startChild('sink'), await startChild('load')]
    for (const child of [sink, load]) closing.add(() => child.stop())
    const rig = { sink, load, sinkPort: await sink.ask('port', undefined, z.number()) }
    const provider = await startProvider('none', run.folder, closing)
    const report = () => provider.child.ask('report', undefined, providerReport)
    const many: Many = {
      ...({ numbers, pace, answer: { low: 300, high: 300 }, tls: 'none', category: 'marketing' } as const),
      ...({ kind: options.kind, waId: 'plain', busy: 0, redisLateMs: options.redisLateMs, workers: 1 } as const),
    }
    return await act(async (name, start, during) => {
      run.say(`${name}: ${numbers} numbers at ${pace}/s`)
      const own = createClosing()
      try {
        const contender = await start({ rig, many, backlog, provider, dir: join(run.folder, name), closing: own })
        await provider.child.ask('watch', watchOf(many), z.unknown())
        const measure = async (ms: number): Promise<Measured> => {
          const { client } = contender.redis
          const [before, commandsBefore, beganAt] = [await report(), await commandsRun(client), performance.now()]
          await pause(ms)
          const [after, commands] = [await report(), await commandsRun(client)]
          const messages = after.distinct - before.distinct
          const wanted = (numbers * pace * (performance.now() - beganAt)) / 1_000
          return { share: messages / wanted, commands: (commands - commandsBefore) / Math.max(1, messages) }
        }
        const burn = (processes: number) => {
          const burners = startBurners(processes)
          own.add(burners.stop)
          return burners
        }
        await contender.release()
        const result = await during({ measure, burn, lateRedis: contender.lateRedis })
        const accepted = backlog * numbers
        await eventually(async () => (await report()).distinct >= accepted, REST_MS, 250)
        const { distinct, twice } = await report()
        return { result, accepted, distinct, twice }
      } finally {
        await own.all()
      }
    })
  } finally {
    await closing.all()
  }
}
