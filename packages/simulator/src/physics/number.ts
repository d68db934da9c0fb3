// What belongs to one number of a portfolio: its throughput, its maintenance, and that it is held back for spam.

import type { ChatErrorCode } from '../chat-errors.ts'
import { SlidingSecond } from '../sliding-second.ts'
import type { Event } from './listing.ts'
import type { Plan } from './plan.ts'

/** Messages a second of a number that was raised. */
const RAISED_RATE = 1000

/** Why a number takes nothing now. */
export interface NumberRefusal {
  code: ChatErrorCode
  event: Event
}

/** One number. */
export class BusinessNumber {
  readonly #plan: Plan
  readonly #second = new SlidingSecond()
  #taken = 0
  #blocks = 0
  #maintenanceMs: number | null = null
  /** From when it is held back; null while it is not going to be. */
  #heldBackMs: number | null = null

  constructor(plan: Plan) {
    this.#plan = plan
  }

  /** Whether it is closed, held back or too fast. */
  refuse(nowMs: number): NumberRefusal | null {
    const { maintenance, quality, throughput } = this.#plan
    if (maintenance !== undefined && this.#taken >= maintenance.after) {
      this.#maintenanceMs ??= nowMs
      if (nowMs < this.#maintenanceMs + maintenance.for_ms) return { code: 131057, event: 'in_maintenance' }
    }
    if (quality !== undefined && this.#heldBackMs !== null) {
      const isOver = nowMs >= this.#heldBackMs + quality.holds_number_back_ms
      if (nowMs >= this.#heldBackMs && !isOver) return { code: 131048, event: 'held_back' }
    }
    if (throughput === undefined) return null
    const isRaised = throughput.raised_after !== undefined && this.#taken >= throughput.raised_after
    const rate = isRaised ? RAISED_RATE : throughput.rate
    return this.#second.hasRoom(rate, nowMs) ? null : { code: 130429, event: 'throttled' }
  }

  /** Counts a message that was taken; true when its throughput is raised by it. */
  take(nowMs: number): boolean {
    this.#taken += 1
    this.#second.take(RAISED_RATE, nowMs)
    return this.#taken === this.#plan.throughput?.raised_after
  }

  /** A person blocks it at this time; true when that is the one block too many. */
  block(atMs: number): boolean {
    this.#blocks += 1
    if (this.#blocks !== this.#plan.quality?.holds_number_back_at) return false
    this.#heldBackMs = atMs
    return true
  }
}
