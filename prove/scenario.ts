// What a scenario is: a promise, a way to put it to the test, and what came of it.
import type { Judgement } from './checker.ts'
import type { Random } from './random.ts'

/** A figure that the scenario must show. */
export interface Figure {
  what: string
  value: number
  unit: string
  atMost?: number
  atLeast?: number
}

export interface Finding {
  judgement: Judgement
  /** How long until work went on after the last trouble; undefined where there is nothing to recover from. */
  recoveryMs?: number
  figures: Figure[]
  /** Broken promises beyond what the judge saw. */
  violations: string[]
  /** Printed below the table. */
  notes?: string[]
}

export interface Run {
  seed: number
  random: Random
  /** The compiled Laneway that is put to the test. */
  build: string
  /** Folder of this run: data, logs, ledger. */
  folder: string
  /** Whether to run at the size of the published figures instead of about 500 messages. */
  full: boolean
  /** A line about how far it is. */
  say(line: string): void
}

export interface Scenario {
  name: string
  /** One sentence: what holds. */
  promise: string
  /** Runs by itself, because it measures pace. */
  alone?: true
  run(run: Run): Promise<Finding | { skipped: string }>
}

/** The scaled runs share two cores with each other and with other tests: their time limits are three times as wide. */
export const timeLimitMs = (run: Run, ms: number): number => (run.full ? ms : 3 * ms)

/** Sentences for the figures that are not kept. */
export function brokenFigures(figures: readonly Figure[]): string[] {
  return figures.flatMap(({ what, value, unit, atMost, atLeast }) => {
    if (atMost !== undefined && !(value <= atMost)) return [`${what}: ${rounded(value)} ${unit}, at most ${atMost}`]
    if (atLeast !== undefined && !(value >= atLeast)) return [`${what}: ${rounded(value)} ${unit}, at least ${atLeast}`]
    return []
  })
}

export const rounded = (value: number): number => Math.round(value * 100) / 100
