// The budget of a portfolio: to how many people its numbers together may write first in a moving day. A person counts once
// in a day, whatever number writes and however often.

import type { Plan } from './plan.ts'

/** The people of the last day. */
export class Budget {
  readonly #plan: NonNullable<Plan['budget']>
  readonly #dayMs: number
  readonly #beganMs: number
  /** By person: when they were counted; the oldest first. */
  readonly #counted = new Map<string, number>()

  constructor(plan: NonNullable<Plan['budget']>, dayMs: number, beganMs: number) {
    this.#plan = plan
    this.#dayMs = dayMs
    this.#beganMs = beganMs
  }

  /** When the limit is raised (epoch ms); null where it never is. */
  get raisedMs(): number | null {
    const { raised_after_ms: after } = this.#plan
    return after === undefined ? null : this.#beganMs + after
  }

  /** Whether a message to this person is within the limit. */
  hasRoom(to: string, nowMs: number): boolean {
    for (const [person, atMs] of this.#counted) {
      if (atMs > nowMs - this.#dayMs) break
      this.#counted.delete(person)
    }
    const isRaised = this.raisedMs !== null && nowMs >= this.raisedMs
    const limit = isRaised ? (this.#plan.raised_to ?? this.#plan.people) : this.#plan.people
    return this.#counted.has(to) || this.#counted.size < limit
  }

  /** Counts a person to whom a message was taken. */
  count(to: string, nowMs: number): void {
    if (!this.#counted.has(to)) this.#counted.set(to, nowMs)
  }
}
