// The history of a message, packed into one short string of its record, and unpacked for people. An entry is one
// letter for what happened, the milliseconds since acceptance in base 36 and, after a comma, a detail:
// `c5|s2k|d1f4` is claimed after 5 ms, sent after 92 ms, delivered after 1.8 s.

/**
 * What can happen to a message, by the letter it is stored under. Lua writes the letters; see
 * src/lanes/messages/scripts/message-step.lua.
 */
export const HISTORY_EVENTS = {
  c: 'claimed',
  h: 'held by another attempt',
  u: 'proven unsent',
  l: 'no trustworthy answer',
  s: 'sent',
  d: 'delivered',
  r: 'read',
  f: 'failed',
  q: 'queued again',
  n: 'given up as unknown',
  x: 'expired',
  k: 'cancelled',
} as const
export type HistoryCode = keyof typeof HISTORY_EVENTS

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
