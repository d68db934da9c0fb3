// All portfolios whose physics are switched on. For the Cloud API wire alone, since they report by webhook.

import type { Delays } from '../timeline.ts'
import type { DisplayNumberOf, News } from '../webhook-body.ts'
import { type Line, Listing } from './listing.ts'
import type { Plan } from './plan.ts'
import { Portfolio } from './portfolio.ts'

/** The portfolios, by their numbers. */
export class Physics {
  readonly listing = new Listing()
  readonly #bySender = new Map<string, Portfolio>()

  /** Ends what was switched on before; what it has made due still comes. */
  switchOn(
    plans: readonly Plan[],
    around: {
      delays: Delays
      displayNumberOf: DisplayNumberOf
      hasWindow(sender: string, to: string, nowMs: number): boolean
      /** `told` is called when the webhook was answered. */
      tell(news: News, wabaId: string, dueMs: number, told: ((atMs: number) => void) | undefined): void
    },
    nowMs: number,
  ): void {
    this.#bySender.clear()
    const note = (line: Line): void => this.listing.add(line)
    for (const plan of plans) {
      const { delays, displayNumberOf, hasWindow } = around
      const portfolio = new Portfolio(
        plan,
        {
          delays,
          displayNumberOf,
          hasWindow,
          note,
          tell: (news, dueMs, told) => around.tell(news, plan.waba_id, dueMs, told),
        },
        nowMs,
      )
      for (const sender of plan.senders) this.#bySender.set(sender, portfolio)
    }
  }

  /** The portfolio of a number; undefined where no physics are on for it. */
  of(sender: string): Portfolio | undefined {
    return this.#bySender.get(sender)
  }

  /** What is in force. */
  plans(): Plan[] {
    return [...new Set(this.#bySender.values())].map(({ plan }) => plan)
  }
}
