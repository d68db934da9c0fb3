// What every scenario gets, and how it measures: in rounds, each contender in turn, so that a noisy minute hits all.
import type { Closing } from './closing.ts'
import type { Rig } from './contender.ts'
import type { Many } from './numbers-options.ts'
import { cpuMs } from './process-usage.ts'
import { type Figure, withGoal } from './report.ts'
import { ratioOf, spreadOf } from './statistics.ts'

export interface Bench {
  rig: Rig
  /** Folder for the files of what is started. */
  dir: string
  closing: Closing
  /** Rounds that count; a warm-up comes before them. */
  rounds: number
  /** How long a round of a timed scenario loads one contender. */
  seconds: number
  /** The same as it was typed. */
  givenSeconds: number | undefined
  /** Of the scenario `numbers`: what it plays. */
  many: Many
  /** A quick look: one round if not given, and of `numbers` less time. */
  short: boolean
  /** Whether to measure at the sizes of the goals where the default is smaller. */
  full: boolean
  /** How many people a campaign has, or a file of contacts; undefined: by `full`. */
  people: number | undefined
  /** Lanes and workers of an idle installation; undefined: a thousand and four. */
  lanes: number | undefined
  workers: number | undefined
  /** Folder for CPU profiles of Laneway's processes; none without. */
  profile: string | undefined
  /** Prints a line that stays. */
  say: (line: string) => void
  /** Shows what is going on. */
  progress: (doing: string) => void
}

export type Scenario = (bench: Bench) => Promise<Figure[]>

/** One measurement: messages per second, and CPU time that each message took in the processes under test. */
export interface Measured {
  perSecond: number
  cpuUs: number
}

/**
 * Measures each contender once per round, in turn, after a round that does not count; every other round the other way
 * round, so that none is always the one that comes after another. Returns the measurements in the order of the contenders.
 */
export async function inTurn(
  bench: Bench,
  contenders: readonly { name: string }[],
  measure: (at: number, isWarmUp: boolean) => Promise<Measured>,
): Promise<Measured[][]> {
  const values: Measured[][] = contenders.map(() => [])
  for (let round = 0; round <= bench.rounds; round += 1) {
    const order = [...contenders.entries()]
    for (const [at, contender] of round % 2 === 0 ? order : order.reverse()) {
      bench.progress(`${round === 0 ? 'warm-up' : `round ${round} of ${bench.rounds}`}, ${contender.name}`)
      const measured = await measure(at, round === 0)
      if (round > 0) values[at]?.push(measured)
    }
  }
  return values
}

/** The figures of contenders measured in turn: rates, CPU time per message, and ratios of the first to the others. */
export function compare(
  scenario: string,
  names: readonly string[],
  values: readonly Measured[][],
  goals: Readonly<Record<string, number>>,
): Figure[] {
  const rates = values.map((rounds) => rounds.map(({ perSecond }) => perSecond))
  const figures = names.flatMap((name, at): Figure[] => {
    const rate = spreadOf(rates[at] ?? [])
    const cpu = spreadOf((values[at] ?? []).map(({ cpuUs }) => cpuUs))
    return [
      { scenario, what: name, value: rate.median, unit: '/s', spread: rate },
      { scenario, what: `${name}, CPU per message`, value: cpu.median, unit: 'us', spread: cpu },
    ]
  })
  const ratios = names.slice(1).map((name, at): Figure => {
    const spread = ratioOf(rates[0] ?? [], rates[at + 1] ?? [])
    const figure = { scenario, what: `${names[0]} / ${name}`, value: spread.median, unit: 'x', spread }
    const goal = goals[name]
    return goal === undefined ? figure : withGoal(figure, `>= ${goal}`)
  })
  return [...figures, ...ratios]
}

/** Runs `work` and returns how many µs of CPU time it took the processes per message. */
export async function cpuPer(pids: readonly number[], work: () => Promise<number>): Promise<number> {
  const before = cpuMs(pids)
  const messages = await work()
  return ((cpuMs(pids) - before) * 1_000) / messages
}
