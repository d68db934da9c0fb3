// People who have had enough marketing. A cap begins with the first message to a person who is drawn for one and lasts a
// day from the time that the business learns of it; further messages within it are refused, and are the business's fault once
// it has learned of the cap.

import { happens } from './chance.ts'
import type { Plan } from './plan.ts'

/** How a message to a person with a cap fares. */
export interface Capped {
  /** Whether the request is refused; else the message is taken and fails. */
  inAnswer: boolean
  /** Since when the business has known of it (epoch ms); null where it had not been told. */
  knownMs: number | null
  untilMs: number
  /** The business knows of it from this time on (epoch ms). */
  learns: (atMs: number) => void
}

/** The caps of one portfolio. */
export class Caps {
  readonly #plan: NonNullable<Plan['caps']>
  readonly #seed: number
  readonly #dayMs: number
  /** By person: the last cap, when the business was told of it, and how many there were. */
  readonly #caps = new Map<string, { toldMs: number | null; untilMs: number; times: number }>()

  constructor(plan: NonNullable<Plan['caps']>, { seed, day_ms }: Pick<Plan, 'seed' | 'day_ms'>) {
    this.#plan = plan
    this.#seed = seed
    this.#dayMs = day_ms
  }

  /** Whether a marketing message to this person is capped; `reportMs`: when a webhook would report it. */
  judge(to: string, nowMs: number, reportMs: number): Capped | null {
    const known = this.#caps.get(to)
    const inAnswer = this.#isToldInAnswer(to)
    if (known !== undefined && nowMs < known.untilMs) {
      const knownMs = known.toldMs !== null && nowMs >= known.toldMs ? known.toldMs : null
      return { inAnswer, knownMs, untilMs: known.untilMs, learns: this.#learning(to) }
    }
    const { share, again } = this.#plan
    const times = known?.times ?? 0
    const chance = times === 0 ? share : again
    if (!happens(chance, this.#seed, `cap ${to} ${times}`)) return null
    // The time in a webhook is in whole seconds.
    const untilMs = (inAnswer ? nowMs : Math.floor(reportMs / 1000) * 1000) + this.#dayMs
    this.#caps.set(to, { toldMs: inAnswer ? nowMs : null, untilMs, times: times + 1 })
    return { inAnswer, knownMs: null, untilMs, learns: this.#learning(to) }
  }

  #learning(to: string): (atMs: number) => void {
    const cap = this.#caps.get(to)
    return (atMs) => {
      if (cap !== undefined) cap.toldMs ??= atMs
    }
  }

  #isToldInAnswer(to: string): boolean {
    const { told } = this.#plan
    return told === 'either' ? happens(0.5, this.#seed, `told ${to}`) : told === 'answer'
  }
}
