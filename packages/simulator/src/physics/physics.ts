// All portfolios whose physics are switched on. For the Cloud API wire alone, since they report by webhook.

import type { Delays } from '../timeline.ts'
import type { AccountUpdate, DisplayNumberOf } from '../webhook-body.ts'
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
      /** Posts a webhook when it is due (epoch ms); `answered` is called when it was answered. */
      schedule(
        update: AccountUpdate,
        wabaId: string,
        dueMs: number,
        answered: ((atMs: number) => void) | undefined,
      ): void
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
          schedule: (update, dueMs, answered) => around.schedule(update, plan.waba_id, dueMs, answered),
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
