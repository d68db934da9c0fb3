// The reference model of a message's life: what Redis does in message-lifecycle.lua, written a second time as one pure
// function. No process runs it; tests hold the two together, step by step over more than a thousand lives, and prove of this one
// what must hold of both. It does not read the table of moves, so that a wrong table is found out.
//
// Evidence (a webhook, a status poll, or the provider's own answer) may arrive at any time, in any order, any number of
// times. It only moves a message forward: `failed` never overrides `delivered` or `read`, and proof that a message went
// out corrects every state that had assumed otherwise.
//
// A message that was repeated in doubt may have gone out under two attempts. Each attempt is sent, and then perhaps
// failed; the message is `sent` as long as one of them is known to be sent and not to have failed, and `failed` when the
// attempt that counts has failed and no other is known to be sent. What is told of the others is remembered for that, so
// that the order in which it is told does not matter.
import type { Evidence, Repeat, State, Verdict } from '../../src/model/messages/lifecycle.ts'

/** What the steps read and write of a message. A message that was never claimed is `FRESH`. */
export interface Progress {
  state: State
  /**
   * Id of the attempt that counts: the latest one, or the one that is proven to have gone out. Empty before the first
   * claim. It fences: what another attempt says decides little.
   */
  attempt: string
  /** Tries that ended proven unsent and count against the limit; throttled ones do not. */
  tries: number
  /** Times it was queued again although it may have gone out: above 0 is the flag possible_duplicate. */
  repeats: number
  /** What is known of other attempts, `s` for sent and `f` for failed before the id of each: `sAAAAAA,fBBBBBB`. */
  others: string
}

export const FRESH: Progress = { state: 'queued', attempt: '', tries: 0, repeats: 0, others: '' }

export type Step =
  /** `expired` says that its validity has passed. */
  | { kind: 'claim'; attempt: string; expired: boolean }
  /** `counts` is false when the sender was throttled, not the message. */
  | { kind: 'not_sent'; attempt: string; counts: boolean; maxTries: number }
  | { kind: 'unconfirmed'; attempt: string }
  /** Proof of what became of an attempt. */
  | { kind: 'status'; attempt: string; status: Evidence }
  | { kind: 'resolve'; attempt: string; policy: Repeat; expired: boolean; maxTries: number }
  | { kind: 'cancel' }
  | { kind: 'give_up' }
  | { kind: 'requeue' }

const RANK: Partial<Record<State, number>> = { sent: 1, delivered: 2, read: 3 }

/** Takes one step. Pure and total: every step is defined in every state. */
export function step(progress: Progress, event: Step): { progress: Progress; verdict: Verdict } {
  const to = (state: State, change: Partial<Progress> = {}) => ({
    progress: { ...progress, ...change, state },
    verdict: 'done' as const,
  })
  const ignored = { progress, verdict: 'ignored' as const }
  const { state } = progress

  switch (event.kind) {
    case 'claim':
      if (state === 'queued') return event.expired ? to('expired') : to('sending', { attempt: event.attempt })
      if (state !== 'sending') return ignored
      // The same attempt again is our own command, sent twice over a lost connection.
      if (progress.attempt === event.attempt) return to('sending')
      return { progress: { ...progress, state: 'unconfirmed' }, verdict: 'in_doubt' }

    case 'not_sent': {
      if (progress.attempt !== event.attempt || !isOneOf(state, 'sending', 'unconfirmed', 'unknown')) return ignored
      if (!event.counts) return to('queued')
      const tries = progress.tries + 1
      return to(tries >= event.maxTries ? 'failed' : 'queued', { tries })
    }

    case 'unconfirmed':
      return progress.attempt === event.attempt && state === 'sending' ? to('unconfirmed') : ignored

    case 'status': {
      const change = applyStatus(progress, event.attempt, event.status)
      return change === undefined ? ignored : { progress: { ...progress, ...change }, verdict: 'done' }
    }

    case 'resolve': {
      if (progress.attempt !== event.attempt || state !== 'unconfirmed') return ignored
      if (event.expired || event.policy === 'never') return to('unknown')
      if (event.policy === 'once') {
        return progress.repeats > 0 ? to('unknown') : to('queued', { repeats: progress.repeats + 1 })
      }
      const tries = progress.tries + 1
      return tries >= event.maxTries ? to('unknown', { tries }) : to('queued', { tries })
    }

    case 'give_up':
      return state === 'queued' ? to('failed') : ignored

    case 'cancel':
      return state === 'queued' ? to('cancelled') : ignored

    case 'requeue':
      if (!isOneOf(state, 'failed', 'unknown', 'expired', 'cancelled')) return ignored
      return to('queued', {
        tries: 0,
        repeats: progress.repeats + (state === 'unknown' ? 1 : 0),
        // Told once more, that failure must not end the new attempt.
        others: state === 'failed' ? remember(progress.others, progress.attempt, 'f') : progress.others,
      })
  }
}

/** What proof about an attempt changes; undefined when it changes nothing. */
function applyStatus(progress: Progress, attempt: string, status: Evidence): Partial<Progress> | undefined {
  const { state, others } = progress
  const rank = RANK[state] ?? 0
  if (status === 'delivered' || status === 'read') {
    // Nothing can undo that, so that nothing of others need be known any more.
    return (RANK[status] ?? 0) > rank ? { state: status, attempt, others: '' } : undefined
  }
  if (rank > 1) return undefined
  const counts = attempt === progress.attempt
  const known = statusOf(progress, attempt)
  if (status === 'sent') {
    // A late `sent` of an attempt that failed is only out of order.
    if (known !== undefined) return undefined
    if (state === 'sent') return { others: remember(others, attempt, 's') }
    return sentUnder(progress, attempt)
  }
  if (known === 'f') return undefined
  if (!counts) return { others: remember(others, attempt, 'f') }
  if (isOneOf(state, 'failed', 'expired', 'cancelled')) return undefined
  const fallback = others.split(',').find((entry) => entry.startsWith('s'))
  if (fallback === undefined) return { state: 'failed' }
  return {
    state: 'sent',
    attempt: fallback.slice(1),
    others: remember(without(others, fallback.slice(1)), attempt, 'f'),
  }
}

/** The attempt that is proven to have gone out counts from now on. */
function sentUnder({ state, attempt: before, others }: Progress, attempt: string): Partial<Progress> {
  const left = state === 'failed' && attempt !== before ? remember(others, before, 'f') : others
  return { state: 'sent', attempt, others: left }
}

/** What is known of an attempt so far: `s`, `f` or nothing. */
function statusOf({ state, attempt: counting, others }: Progress, attempt: string): string | undefined {
  if (attempt === counting && (state === 'sent' || state === 'failed')) return state === 'sent' ? 's' : 'f'
  return others
    .split(',')
    .find((entry) => entry.slice(1) === attempt)
    ?.slice(0, 1)
}

const without = (others: string, attempt: string): string =>
  others
    .split(',')
    .filter((entry) => entry !== '' && entry.slice(1) !== attempt)
    .join(',')

/** The last word about an attempt takes the place of the one before. */
const remember = (others: string, attempt: string, letter: 's' | 'f'): string =>
  [without(others, attempt), letter + attempt].filter((part) => part !== '').join(',')

const isOneOf = (state: State, ...states: State[]): boolean => states.includes(state)
