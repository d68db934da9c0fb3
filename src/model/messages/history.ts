// The history of a message, packed into one short string of its record, and unpacked for people. An entry is one
// letter for what happened, the milliseconds since acceptance in base 36 and, after a comma, a detail:
// `c5|s2k|d1f4` is claimed after 5 ms, sent after 92 ms, delivered after 1.8 s.
import { LETTERS } from './lifecycle.ts'

/**
 * What can happen to a message, and the letter it is stored under. Lua writes the letters, of most events that of the
 * state they lead to; see src/lanes/messages/scripts/message-step.lua.
 */
export const HISTORY = {
  claimed: LETTERS.sending,
  heldByAnother: 'h',
  unsent: 'u',
  unconfirmed: LETTERS.unconfirmed,
  sent: LETTERS.sent,
  delivered: LETTERS.delivered,
  read: LETTERS.read,
  failed: LETTERS.failed,
  queuedAgain: LETTERS.queued,
  unknown: LETTERS.unknown,
  expired: LETTERS.expired,
  cancelled: LETTERS.cancelled,
} as const

/** The same as people read it. */
export const HISTORY_EVENTS = {
  [HISTORY.claimed]: 'claimed',
  [HISTORY.heldByAnother]: 'held by another attempt',
  [HISTORY.unsent]: 'proven unsent',
  [HISTORY.unconfirmed]: 'no trustworthy answer',
  [HISTORY.sent]: 'sent',
  [HISTORY.delivered]: 'delivered',
  [HISTORY.read]: 'read',
  [HISTORY.failed]: 'failed',
  [HISTORY.queuedAgain]: 'queued again',
  [HISTORY.unknown]: 'given up as unknown',
  [HISTORY.expired]: 'expired',
  [HISTORY.cancelled]: 'cancelled',
} as const
export type HistoryCode = keyof typeof HISTORY_EVENTS

/** What stands for entries that were dropped from the middle of a long history, before their number: `~12`. */
export const GAP = { dropped: '~' } as const

/** One entry of a message's history, unpacked. */
export interface HistoryEvent {
  code: HistoryCode
  what: (typeof HISTORY_EVENTS)[HistoryCode]
  /** Epoch ms. */
  atMs: number
  /** Attempt id, provider code or reason; empty when there is none. */
  detail: string
}

const ENTRY = /^([a-z])(-?[0-9a-z]+)(?:,(.*))?$/s
const isCode = (letter: string): letter is HistoryCode => Object.hasOwn(HISTORY_EVENTS, letter)

/**
 * The history in order of time, without unreadable entries. A time that goes back, such as a delivery reported in whole seconds, is
 * clamped to the entry before it.
 */
export function readHistory(packed: string, acceptedAtMs: number): HistoryEvent[] {
  let lastMs = Number.NEGATIVE_INFINITY
  return packed.split('|').flatMap((entry) => {
    const [, letter = '', delta = '', detail = ''] = ENTRY.exec(entry) ?? []
    if (!isCode(letter)) return []
    lastMs = Math.max(lastMs, Number.parseInt(delta, 36))
    return [{ code: letter, what: HISTORY_EVENTS[letter], atMs: acceptedAtMs + lastMs, detail }]
  })
}
