// Observers of what happens to messages: metrics and history. An observer belongs to a connection, because everything
// that happens is written over one; so the code that writes a change reports it in one line, and nothing in between has
// to hand anything on. An observer only counts in memory: it must neither throw nor wait.

import type { Limit } from '../kernel/refusal.ts'
import type { MessageClass } from '../model/messages/content.ts'
import type { State } from '../model/messages/lifecycle.ts'
import type { RULE_WAIT_REASONS } from '../model/portfolio.ts'
import type { Redis } from './connect.ts'

/** A change of state that Redis has really made; what was known already, or came too late, is none. */
export interface Change {
  lane: number
  class: MessageClass
  /** Undefined for a message without a record. */
  from: State | undefined
  to: State
  /** Why it failed: a code of WhatsApp or a word of ours. */
  code?: string | undefined
  /** Of one that is delivered now: how long that took since it was sent. */
  sinceSentMs?: number | undefined
  /** Messages that changed alike; one unless said. */
  count?: number
}

/** How one attempt to send a message ended. */
export interface Attempt {
  lane: number
  class: MessageClass
  provider: string
  outcome: string
  /** Undefined when it was sent. */
  code: string | undefined
  /** From acceptance to the moment that the request left. */
  waitedMs: number
  /** From there to the answer; undefined when no request was made. */
  tookMs: number | undefined
  /** The rest of its lane waited for how it ends. */
  isProbe: boolean
}

/** Messages that were not claimed because of one of WhatsApp's own rules. */
export interface RuleWait {
  lane: number
  class: MessageClass
  why: (typeof RULE_WAIT_REASONS)[number]
}

/** An account update: the field of its webhook and its event. */
export interface Noticed {
  field: string
  event: string | undefined
  isKnown: boolean
}

/** What can be observed. */
export interface Observer {
  /** Messages were queued: one, a batch, or the next ones of a campaign. `tookMs` of those that somebody waited for. */
  accepted(of: { lane: number; class: MessageClass; count: number }): void
  /** A request was accepted whole, in that time. */
  acceptTook(kind: 'one' | 'batch', ms: number): void
  changed(change: Change): void
  attempted(attempt: Attempt): void
  polled(outcome: string): void
  /** A job of the intake queue ended. */
  tookIn(outcome: 'done' | 'refused'): void
  /** A campaign was paused, and not by a person: WhatsApp stops its template, or too many of its messages fail. */
  campaignPaused(why: 'template' | 'failures'): void
  /** A message waits for one of WhatsApp's own rules; reported at each check. */
  ruleWaits(of: RuleWait): void
  /** WhatsApp dropped a message that it had held. */
  heldDropped(): void
  /** A new account update came. */
  noticed(of: Noticed): void
  /** An endpoint took an event, so long after it was written down. */
  eventDelivered(ms: number): void
  /** An endpoint did not take so many events. */
  eventsNotTaken(count: number): void
  /** A request was refused because it met the limit. */
  refusedBy(limit: Limit): void
}

/** Hears everything and does nothing. */
export const nobody: Observer = {
  accepted: () => undefined,
  acceptTook: () => undefined,
  changed: () => undefined,
  attempted: () => undefined,
  polled: () => undefined,
  tookIn: () => undefined,
  campaignPaused: () => undefined,
  ruleWaits: () => undefined,
  heldDropped: () => undefined,
  noticed: () => undefined,
  eventDelivered: () => undefined,
  eventsNotTaken: () => undefined,
  refusedBy: () => undefined,
}

/** Two observers as one: both get the events of messages, the first alone all others. */
export const both = (one: Observer, other: Observer): Observer => ({
  accepted(of) {
    one.accepted(of)
    other.accepted(of)
  },
  changed(change) {
    one.changed(change)
    other.changed(change)
  },
  acceptTook: one.acceptTook,
  attempted: one.attempted,
  polled: one.polled,
  tookIn: one.tookIn,
  campaignPaused: one.campaignPaused,
  ruleWaits: one.ruleWaits,
  heldDropped: one.heldDropped,
  noticed: one.noticed,
  eventDelivered: one.eventDelivered,
  eventsNotTaken: one.eventsNotTaken,
  refusedBy: one.refusedBy,
})

const observers = new WeakMap<Redis, Observer>()

/** Registers `observer` for everything that is written over this connection. */
export function observe(redis: Redis, observer: Observer): void {
  observers.set(redis, observer)
}

/** The observer of this connection. */
export const observerOf = (redis: Redis): Observer => observers.get(redis) ?? nobody
