// What a change is counted as, and what a process has counted for the history and not written yet. Counting touches two
// maps and nothing else; whoever writes takes whole batches. A process that is killed takes the seconds with it that it had
// not written.
import { randomBytes } from 'node:crypto'
import { PROVEN_SENT, type State } from '../messages/lifecycle.ts'
import { PROVIDER_CODES } from '../messages/provider-codes.ts'
import { nobody, type Observer } from '../observe.ts'
import { addFields, COUNTED, FINE, type Fields, MEASURED } from './history-fields.ts'

/** Stands for the whole installation among the lanes, whose numbers begin at 1. */
export const WHOLE = 0
/** Batches that wait for Redis: ten minutes of them. The oldest go when there are more. */
const BATCHES_MAX = 60

/** Counts of one period, by lane and with the WHOLE. */
export interface Batch {
  /** Rises with each batch of this process, so that one that is written again is not counted again. */
  number: number
  /** When the period begins (epoch ms). */
  atMs: number
  lanes: Map<number, Fields>
}

export type HistoryBuffer = ReturnType<typeof createHistoryBuffer>

/** An empty buffer and the observer that fills it. `now` is the clock (epoch ms). */
export function createHistoryBuffer(now: () => number = Date.now) {
  let batches: Batch[] = []
  let current: Batch | undefined
  let made = 0
  let dropped = 0

  function fieldsOf(lane: number): Fields {
    const ms = now()
    if (current === undefined || ms - current.atMs >= FINE.everyMs || ms < current.atMs) {
      close()
      made += 1
      current = { number: made, atMs: ms - (ms % FINE.everyMs), lanes: new Map() }
    }
    const known = current.lanes.get(lane)
    if (known) return known
    const fields: Fields = new Map()
    current.lanes.set(lane, fields)
    return fields
  }

  function close(): void {
    if (current === undefined) return
    batches.push(current)
    current = undefined
    if (batches.length <= BATCHES_MAX) return
    batches.shift()
    dropped += 1
  }

  function count(lane: number, field: string, by: number): void {
    for (const of of [lane, WHOLE]) {
      const fields = fieldsOf(of)
      fields.set(field, (fields.get(field) ?? 0) + by)
    }
  }

  const observer: Observer = {
    ...nobody,
    accepted({ lane, count: by }) {
      if (by > 0) count(lane, COUNTED.accepted, by)
    },
    changed({ lane, from, to, code, count: by = 1 }) {
      for (const state of enteredStates(from, to)) {
        count(lane, COUNTED[state], by)
        if (state === 'failed') count(lane, `${COUNTED.failed}.${countedCode(code) || 'other'}`, by)
      }
    },
  }

  return {
    /** Names this process among those that write. */
    writer: randomBytes(4).toString('base64url'),
    observer,

    /** What waits on a lane, or on the WHOLE, at this moment. */
    measure(lane: number, backlog: number, oldestSeconds: number): void {
      addFields(fieldsOf(lane), [
        [MEASURED.backlog, backlog],
        [MEASURED.oldest, Math.round(oldestSeconds)],
      ])
    },

    /** All batches, the oldest first. What could not be written is put back. */
    take(): Batch[] {
      close()
      const taken = batches
      batches = []
      return taken
    },

    /** Batches that were taken and not written, or only in part: `lanes` are those that are left. */
    putBack(unwritten: readonly Batch[]): void {
      const all = [...unwritten, ...batches]
      dropped += Math.max(0, all.length - BATCHES_MAX)
      batches = all.slice(-BATCHES_MAX)
    },

    /** How many batches were dropped since this was last asked. */
    takeDropped(): number {
      const since = dropped
      dropped = 0
      return since
    },
  }
}

/** States that are counted when a message comes into them; on its way there it is `queued` and `sending`. */
type CountedState = Exclude<State, 'queued' | 'sending'>

const SENT: readonly State[] = PROVEN_SENT
const isCounted = (state: State): state is CountedState => state !== 'queued' && state !== 'sending'

/**
 * The states that a message has come into. One that is read before anybody told that it was delivered was delivered and
 * sent as well, so that sent is never less than delivered, nor delivered less than read.
 */
export function enteredStates(from: State | undefined, to: State): readonly CountedState[] {
  if (from === to || !isCounted(to)) return []
  if (!SENT.includes(to)) return [to]
  const before = from === undefined ? -1 : SENT.indexOf(from)
  return PROVEN_SENT.slice(before + 1, SENT.indexOf(to) + 1)
}

/**
 * The codes that a metric or a count of failures may carry are a closed list, so that no provider can make up new series:
 * its own, and these, words of ours and those that the HTTP client gives for a call without an answer.
 */
const OWN_CODES = [
  ...['worker_lost', 'record_lost', 'dead_letter', 'content_lost', 'sender_unreadable', 'woken_late', 'missed_slot'],
  ...['not_replicated', 'person_erased', 'opted_out'],
  ...['timeout', 'reset', 'refused', 'name_not_found', 'connect_timeout', 'answer_too_large', 'failed'],
  ...['bad_answer', 'invalid_header', 'stopped', 'refused_stream', 'repeated', 'answer_of_another'],
]
const KNOWN: ReadonlySet<string> = new Set([...OWN_CODES, ...[...PROVIDER_CODES.keys()].map(String)])
const HTTP_STATUS = /^http_([1-5])\d\d$/

/** The code itself when it is known; the class of an HTTP status (`http_5xx`); else `other`. Of none: empty. */
export function countedCode(code: string | undefined): string {
  if (code === undefined) return ''
  if (KNOWN.has(code)) return code
  const status = HTTP_STATUS.exec(code)?.[1]
  return status === undefined ? 'other' : `http_${status}xx`
}
