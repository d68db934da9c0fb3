// Which behaviours apply to a request: that of its recipient's number, and those that the control endpoint asked for.
// Rules stack. A behaviour changes one or more of three parts (rejection, answer, timeline); for each part the newest
// rule that matches decides, so a reset answer and missing webhooks can be combined.

import { type Behaviour, behaviourOfNumber, type Rejection, type SpoiltAnswer } from './behaviours.ts'
import type { Submission } from './submission.ts'

/** Conditions that must all hold; a rule without any matches every request. */
export interface Match {
  /** Recipient, digits. */
  to?: string | undefined
  /** As in the ledger: phone number id, or the `sender` of a template on the partner wire. */
  sender?: string | undefined
  wire?: 'partner' | 'cloud' | undefined
  /** Only each n-th of the requests for which the conditions above hold. */
  every?: number | undefined
  /** Chance from 0 to 1 that a request matches, after all other conditions. */
  probability?: number | undefined
}

/** One order of `POST /_control`: which requests it is for, what happens to them, and how many. */
export interface Rule {
  match: Match
  behaviour: Behaviour
  /** How many more requests it applies to; absent: until cleared. */
  count?: number | undefined
  /** Where the sequence of `probability` begins: the same seed draws the same sequence. */
  seed?: number | undefined
}

/** What is done to one request. */
export interface Plan {
  rejection: Rejection | null
  answer: SpoiltAnswer | null
  /** The behaviour whose timeline the message follows; null: it arrives as usual. */
  fate: Behaviour | null
}

interface ActiveRule {
  rule: Rule
  left: number
  seen: number
  random: () => number
}

/** All rules that were ordered, with the table of reserved numbers behind them. */
export class Rules {
  #active: ActiveRule[] = []
  /** Requests that an every-other behaviour applied to, by wire and name. */
  #turns = new Map<string, number>()

  add(rule: Rule): void {
    const left = rule.count ?? Number.POSITIVE_INFINITY
    this.#active.push({ rule, left, seen: 0, random: seededRandom(rule.seed ?? 1) })
  }

  clear(): void {
    this.#active = []
    this.#turns.clear()
  }

  /** The rules that still apply, oldest first, with what is left of their counts. */
  list(): { match: Match; behaviour: string; left: number | null }[] {
    return this.#active.map(({ rule, left }) => ({
      match: rule.match,
      behaviour: rule.behaviour.name,
      left: Number.isFinite(left) ? left : null,
    }))
  }

  /** Decides about one request, and counts it. */
  planFor(submission: Submission): Plan {
    const plan: Plan = { rejection: null, answer: null, fate: null }
    const ofNumber = behaviourOfNumber(submission.to)
    if (ofNumber !== undefined) this.#apply(ofNumber, submission, plan)
    if (this.#active.length === 0) return plan
    for (const active of this.#active) {
      if (!matches(active, submission)) continue
      active.left -= 1
      this.#apply(active.rule.behaviour, submission, plan)
    }
    this.#active = this.#active.filter(({ left }) => left > 0)
    return plan
  }

  #apply(behaviour: Behaviour, submission: Submission, plan: Plan): void {
    if (behaviour.rejection !== undefined && this.#isItsTurn(behaviour, submission))
      plan.rejection = behaviour.rejection
    if (behaviour.answer !== undefined) plan.answer = behaviour.answer
    if (behaviour.timeline !== undefined) plan.fate = behaviour
  }

  #isItsTurn(behaviour: Behaviour, submission: Submission): boolean {
    if (behaviour.everyOther === undefined) return true
    const key = `${submission.wire} ${behaviour.name}`
    const turn = this.#turns.get(key) ?? 0
    this.#turns.set(key, turn + 1)
    return turn % 2 === 0
  }
}

function matches(active: ActiveRule, submission: Submission): boolean {
  const { to, sender, wire, every, probability } = active.rule.match
  if (to !== undefined && to !== submission.to) return false
  if (sender !== undefined && sender !== submission.sender) return false
  if (wire !== undefined && wire !== submission.wire) return false
  active.seen += 1
  if (every !== undefined && active.seen % every !== 0) return false
  return probability === undefined || active.random() < probability
}

/** Mulberry32: small, and good enough to choose which requests go wrong. */
function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
