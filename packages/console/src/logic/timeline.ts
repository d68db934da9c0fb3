// The history of a message as a person reads it: what each event means, which attempt it belongs to, how long it took.
import type { SentMessage } from '../../../../src/messages/lookup/message-schema.ts'

const EVENTS: Readonly<Record<string, readonly [tone: 'good' | 'busy' | 'wait' | 'bad' | 'quiet', means: string]>> = {
  accepted: ['quiet', 'Laneway has it on disk and answers for it.'],
  claimed: ['busy', 'A worker took it up: an attempt begins.'],
  'held by another attempt': ['wait', 'Another attempt had it already, so this one did not send.'],
  'proven unsent': ['wait', 'The provider certainly did not take it.'],
  'no trustworthy answer': ['wait', 'The request left and no answer that can be trusted came.'],
  sent: ['busy', 'Evidence: WhatsApp has taken it.'],
  delivered: ['good', 'Evidence: it is on the person’s device.'],
  read: ['good', 'Evidence: the person has seen it.'],
  failed: ['bad', 'It will not be sent, or was not delivered.'],
  'queued again': ['quiet', 'It waits for another attempt.'],
  'given up as unknown': ['wait', 'No evidence came in time: whether it went out stays unproven.'],
  expired: ['wait', 'Its time was over before it could be sent.'],
  cancelled: ['quiet', 'Somebody cancelled it before it was sent.'],
}

/**
 * The events in order of time, each with its meaning. `attempt` counts from 1 and is undefined before the first; `afterMs` is
 * the time since the event before. An unknown event is shown as it came.
 */
export function timelineOf(history: SentMessage['history']) {
  let attempt = 0
  let beforeMs: number | undefined
  return history.map(({ at, event, attempt: attemptId, detail }) => {
    if (event === 'claimed') attempt += 1
    const ms = Date.parse(at)
    const afterMs = beforeMs === undefined ? undefined : ms - beforeMs
    beforeMs = ms
    const [tone, means] = EVENTS[event] ?? ['quiet', '']
    return { at, event, means, detail, attempt: attempt === 0 ? undefined : attempt, attemptId, afterMs, tone }
  })
}

/** Milliseconds as `+92 ms`, `+1.8 s`, `+3 min`. */
export function stepText(ms: number): string {
  if (ms < 1_000) return `+${Math.max(0, Math.round(ms))} ms`
  if (ms < 60_000) return `+${(ms / 1_000).toFixed(1)} s`
  if (ms < 3_600_000) return `+${Math.floor(ms / 60_000)} min`
  return `+${Math.floor(ms / 3_600_000)} h`
}
