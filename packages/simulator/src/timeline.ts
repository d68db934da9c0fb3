// What happens to an accepted message afterwards: the steps from sent to read or failed, as data, and two functions of
// them: which updates are due when (webhooks of the Cloud API wire), and the present status of a message (lookups
// of the partner wire). Both are computed from the moment of acceptance; no timer belongs to a message.

import type { ChatErrorCode } from './chat-errors.ts'

export type Status = 'sent' | 'delivered' | 'read' | 'failed'

/** Milliseconds from acceptance to each status of a message that arrives. */
export interface Delays {
  sentMs: number
  deliveredMs: number
  readMs: number
}

/** The moment of a step: at acceptance, or when a message that arrives would have this status. */
type Moment = 'accepted' | 'sent' | 'delivered' | 'read'

interface Step {
  status: Status
  /** When the update leaves; the time written in it is that of its own status. */
  at: Moment
  /** Why, on `failed`. */
  code?: ChatErrorCode
}

/** The status updates that follow a message's acceptance. */
export interface Timeline {
  /** In the order in which updates that are due together leave. */
  steps: readonly Step[]
  /** Milliseconds added to every step. */
  lateByMs?: number
  /** No webhook reports these steps; only lookups show them. */
  silent?: true
  /** The first step's webhook is posted, and answered, before the request itself is. */
  firstBeforeAnswer?: true
}

const sent: Step = { status: 'sent', at: 'sent' }
const delivered: Step = { status: 'delivered', at: 'delivered' }
const read: Step = { status: 'read', at: 'read' }

/** A message that arrives and is read. */
export const ARRIVES: Timeline = { steps: [sent, delivered, read] }
export const SENT_TWICE_EACH: Timeline = { steps: [sent, sent, delivered, delivered, read, read] }
export const BACKWARDS: Timeline = {
  steps: [
    { status: 'read', at: 'sent' },
    { status: 'delivered', at: 'delivered' },
    { status: 'sent', at: 'read' },
  ],
}
export const SKIPS_DELIVERED: Timeline = { steps: [sent, read] }
export const BEFORE_ANSWER: Timeline = {
  steps: [{ status: 'sent', at: 'accepted' }, delivered, read],
  firstBeforeAnswer: true,
}
export const SILENT: Timeline = { steps: [{ status: 'sent', at: 'accepted' }], silent: true }
export const LATE: Timeline = { steps: [sent, delivered, read], lateByMs: 10_000 }
export const FAILS_AFTER_DELIVERY: Timeline = {
  steps: [sent, delivered, { status: 'failed', at: 'read', code: 131026 }],
}
export const FAILS_LATE: Timeline = { steps: [sent, { status: 'failed', at: 'read', code: 131026 }] }

/** A message that was accepted and fails instead of being sent. */
export function failsWith(code: ChatErrorCode): Timeline {
  return { steps: [{ status: 'failed', at: 'sent', code }] }
}

/** One update of a message's status. */
export interface StatusUpdate {
  status: Status
  /** Epoch ms at which the update leaves. */
  dueMs: number
  /** When it happened according to the update, epoch ms. */
  happenedMs: number
  code?: ChatErrorCode
}

/** All updates of a message accepted at `acceptedMs`, in the order of the timeline's steps. */
export function updatesOf(timeline: Timeline, acceptedMs: number, delays: Delays): StatusUpdate[] {
  return timeline.steps.map((step) => {
    const dueMs = acceptedMs + delayOf(step.at, delays) + (timeline.lateByMs ?? 0)
    const happenedMs = step.status === 'failed' ? dueMs : acceptedMs + delayOf(step.status, delays)
    return {
      status: step.status,
      dueMs,
      happenedMs: Math.min(happenedMs, dueMs),
      ...(step.code === undefined ? {} : { code: step.code }),
    }
  })
}

/** A failure after the message arrived does not take the arrival back. */
const RANK = { sent: 1, failed: 2, delivered: 3, read: 4 } satisfies Record<Status, number>

/** The status of a message at `nowMs`: the furthest of the steps that are due, or null when none is yet. */
export function standingOf(timeline: Timeline, acceptedMs: number, delays: Delays, nowMs: number): StatusUpdate | null {
  let furthest: StatusUpdate | null = null
  for (const update of updatesOf(timeline, acceptedMs, delays)) {
    if (update.dueMs > nowMs) continue
    if (furthest === null || RANK[update.status] >= RANK[furthest.status]) furthest = update
  }
  return furthest
}

function delayOf(moment: Moment, delays: Delays): number {
  switch (moment) {
    case 'accepted':
      return 0
    case 'sent':
      return delays.sentMs
    case 'delivered':
      return delays.deliveredMs
    case 'read':
      return delays.readMs
  }
}
