// Plays scenarios and collects what came of each: several at the same time when they are small, one after the other
// when figures are measured.
import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { LineTls } from './provider-line.ts'
import { createRandom } from './random.ts'
import { brokenFigures, type Finding, isSlow, type Scenario } from './scenario.ts'
import { TooSlow } from './wait.ts'

/** What came of one scenario. */
export interface Played {
  name: string
  promise: string
  /** Whether it ran without a safeguard: then harm is what it had to show. */
  safeguard: boolean
  seed: number
  seconds: number
  /** Undefined when it was skipped or broke down. */
  finding: Finding | undefined
  skipped: string | undefined
  /** One sentence each; empty when the promise was kept. */
  violations: string[]
  /** What took too long, one sentence each. Where nothing else was found, the promise is neither kept nor broken. */
  late: string[]
  /** Where its logs and case files are; kept only when the promise was not. */
  folder: string
}

export interface Plan {
  seed: number
  build: string
  /** Each scenario gets a folder in it. */
  place: string
  full: boolean
  /** How workers reach WhatsApp; undefined in plain text. */
  tls: LineTls | undefined
  say(line: string): void
}

/** Small scenarios spend most of their time waiting: so many share two cores well. */
const AT_ONCE = 4

/** Waits that were lost with a killed process are over after half a minute; a throttled lane takes longer to empty. */
const QUIESCENCE_LIMIT_MS = { full: 300_000, small: 120_000, harmed: 60_000 }

/** What a run says of a promise. `late`: the machine was too slow to tell. */
export type Verdict = 'skipped' | 'broken' | 'late' | 'kept'

export function verdictOf({ skipped, violations, late }: Pick<Played, 'skipped' | 'violations' | 'late'>): Verdict {
  if (skipped !== undefined) return 'skipped'
  if (violations.length > 0) return 'broken'
  return late.length > 0 ? 'late' : 'kept'
}

const SAID = {
  skipped: 'skipped',
  broken: 'BROKE its promise',
  late: 'was too slow to tell',
  kept: 'kept its promise',
} satisfies Record<Verdict, string>

/** The result is in the order of `scenarios`. */
export async function playAll(scenarios: readonly Scenario[], plan: Plan): Promise<Played[]> {
  const results = new Map<Scenario, Played>()
  const rest = scenarios.filter(({ alone }) => !alone).values()
  const runner = async () => {
    for (const scenario of rest) results.set(scenario, await play(scenario, plan))
  }
  await Promise.all(Array.from({ length: plan.full ? 1 : AT_ONCE }, runner))
  for (const scenario of scenarios.filter(({ alone }) => alone)) results.set(scenario, await play(scenario, plan))
  return scenarios.flatMap((scenario) => results.get(scenario) ?? [])
}

async function play(scenario: Scenario, plan: Plan): Promise<Played> {
  const { seed, build, full, tls } = plan
  const folder = join(plan.place, scenario.name)
  mkdirSync(folder, { recursive: true })
  const say = (line: string) => plan.say(`${scenario.name}: ${line}`)
  say('starts')
  const begunAt = performance.now()
  const played: Played = {
    name: scenario.name,
    promise: scenario.promise,
    safeguard: scenario.safeguard ?? false,
    seed,
    seconds: 0,
    finding: undefined,
    skipped: undefined,
    violations: [],
    late: [],
    folder,
  }
  const late = (what: string): void => {
    say(`late: ${what}`)
    played.late.push(what)
  }
  try {
    const quiescenceLimitMs = QUIESCENCE_LIMIT_MS[scenario.safeguard ? 'harmed' : full ? 'full' : 'small']
    const random = createRandom(seed, scenario.name)
    const end = await scenario.run({ random, build, folder, full, tls, quiescenceLimitMs, say, late })
    if ('skipped' in end) played.skipped = end.skipped
    else {
      played.finding = end
      // A small run shares two cores with others, so that its limits of time show the machine as well.
      const slow = full ? [] : end.figures.filter(isSlow)
      const figures = end.figures.filter((figure) => !slow.includes(figure))
      played.late.push(...brokenFigures(slow))
      played.violations = [...end.judgement.violations, ...brokenFigures(figures), ...(end.violations ?? [])]
    }
  } catch (error) {
    if (error instanceof TooSlow) late(error.message)
    else
      played.violations = [`it broke down: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`]
  }
  played.seconds = (performance.now() - begunAt) / 1_000
  const verdict = verdictOf(played)
  if (verdict === 'kept' || verdict === 'skipped') rmSync(folder, { recursive: true, force: true })
  say(SAID[verdict])
  return played
}
