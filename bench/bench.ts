// What every scenario gets, and how it measures: in rounds, each contender in turn, so that a noisy minute hits all.
import type { Closing } from './closing.ts'
import type { Rig } from './contender.ts'
import type { Figure } from './report.ts'

export interface Bench {
  rig: Rig
  /** Folder for the files of what is started. */
  dir: string
  closing: Closing
  /** Rounds that count; a warm-up comes before them. */
  rounds: number
  /** How long a round of a timed scenario loads one contender. */
  seconds: number
  /** Whether to measure at the sizes of the goals where the default is smaller. */
  full: boolean
  /** Folder for CPU profiles of Laneway's processes; none without. */
  profile: string | undefined
  /** Prints a line that stays. */
  say: (line: string) => void
  /** Shows what is going on. */
  progress: (doing: string) => void
}

export type Scenario = (bench: Bench) => Promise<Figure[]>

/**
 * Measures each contender once per round, in turn, after a round that does not count. Returns the values in the order
 * of the contenders.
 */
export async function inTurn<C extends { name: string }>(
  bench: Bench,
  contenders: readonly C[],
  measure: (contender: C, isWarmUp: boolean) => Promise<number>,
): Promise<number[][]> {
  const values: number[][] = contenders.map(() => [])
  for (let round = 0; round <= bench.rounds; round += 1) {
    for (const [at, contender] of contenders.entries()) {
      bench.progress(`${round === 0 ? 'warm-up' : `round ${round} of ${bench.rounds}`}, ${contender.name}`)
      const value = await measure(contender, round === 0)
      if (round > 0) values[at]?.push(value)
    }
  }
  return values
}
