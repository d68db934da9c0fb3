// Marketing that is held: the first messages leave, the next are held until WhatsApp has seen how people like them. One
// decision is made about all that were held, and everything after it follows from that.

import type { Plan } from './plan.ts'

/** The holds of one portfolio. */
export class Holds {
  readonly plan: NonNullable<Plan['holds']>
  #passed = 0
  /** When it is decided; null until the first is held. */
  #decidesMs: number | null = null

  constructor(plan: NonNullable<Plan['holds']>) {
    this.plan = plan
  }

  /** Until when this marketing message is held; null when it leaves. `isFirst`: the decision was begun by it. */
  hold(nowMs: number): { untilMs: number; isFirst: boolean } | null {
    if (this.#decidesMs !== null) return nowMs < this.#decidesMs ? { untilMs: this.#decidesMs, isFirst: false } : null
    if (this.#passed < this.plan.after) {
      this.#passed += 1
      return null
    }
    this.#decidesMs = nowMs + this.plan.for_ms
    return { untilMs: this.#decidesMs, isFirst: true }
  }
}
