// What a scenario is: a promise, a way to put it to the test, and what came of it.
import type { Judgement } from './checker.ts'
import type { LineTls } from './provider-line.ts'
import type { Random } from './random.ts'
import { untilOver } from './rest.ts'
import { type Rig, type RigPlan, startRig } from './rig.ts'

/** A figure that the scenario shows, with its bounds where it has some. */
export interface Figure {
  what: string
  value: number
  unit: string
  atMost?: number
  atLeast?: number
}

export interface Finding {
  judgement: Judgement
  /** The longest time until work went on after trouble; undefined where there is nothing to recover from. */
  recoveryMs?: number
  figures: Figure[]
  /** Broken promises that the judge cannot see. */
  violations?: string[]
}

/** Why a scenario could not be run here. */
export interface Skipped {
  skipped: string
}

export interface Run {
  random: Random
  /** Folder of the compiled Laneway that is put to the test. */
  build: string
  /** Folder of this run: data, logs, ledger. */
  folder: string
  /** How workers reach WhatsApp; undefined in plain text. */
  tls: LineTls | undefined
  /** Whether to run at the size of the published figures instead of about 500 messages. */
  full: boolean
  /** How long a service may take to come to rest after the last trouble. */
  quiescenceLimitMs: number
  /** On a build without a safeguard: when WhatsApp took nothing for so long, the service is as still as at rest. */
  stillMs?: number
  /** Prints a line about how far it is. */
  say(line: string): void
  /** Says what had not come to its end when the time was over, although it still moved: nothing is proven by that. */
  late(what: string): void
}

export interface Scenario {
  name: string
  /** One sentence: what holds. */
  promise: string
  /** Runs by itself, because it measures pace. */
  alone?: true
  /** Runs on a build without a safeguard, and must show harm. */
  safeguard?: true
  run(run: Run): Promise<Finding | Skipped>
}

/** Starts a rig, plays the scenario on it and stops it, whatever happens. */
export async function onRig(run: Run, plan: RigPlan, play: (rig: Rig) => Promise<Finding>): Promise<Finding> {
  const rig = await startRig(run, plan)
  try {
    return await play(rig)
  } finally {
    await rig.stop()
  }
}

/** The scaled runs share two cores with each other and with other tests: their time limits are three times as wide. */
export const timeLimit = (run: Run, limit: number): number => (run.full ? limit : 3 * limit)

/**
 * Waits until `ask` answers true; else it answers how far it is. What is stuck before that breaks a promise, and what only
 * takes too long is late. `what`: the sentence for that.
 */
export async function untilDone(
  run: Pick<Run, 'quiescenceLimitMs' | 'late'>,
  violations: string[],
  what: string,
  ask: () => Promise<string | true>,
  limitMs = run.quiescenceLimitMs,
): Promise<void> {
  const end = await untilOver(limitMs, ask)
  if (end === 'stuck') violations.push(`${what} and does not move any more`)
  if (end === 'late') run.late(what)
}

const UNITS_OF_TIME: ReadonlySet<string> = new Set(['ms', 's'])

/** Whether a figure is above a limit of time, as any is on a machine that is slow enough. */
export const isSlow = ({ value, unit, atMost }: Figure): boolean =>
  UNITS_OF_TIME.has(unit) && atMost !== undefined && value > atMost

/** Sentences for the figures that are out of bounds. */
export function brokenFigures(figures: readonly Figure[]): string[] {
  return figures.flatMap(({ what, value, unit, atMost, atLeast }) => {
    if (atMost !== undefined && !(value <= atMost))
      return [`${what}: ${rounded(value)} ${unit}, at most ${rounded(atMost)}`]
    if (atLeast !== undefined && !(value >= atLeast))
      return [`${what}: ${rounded(value)} ${unit}, at least ${rounded(atLeast)}`]
    return []
  })
}

export const rounded = (value: number): number => Math.round(value * 100) / 100
