// What the two transports, intake.ts and http.ts, have in common for the rest of the client: a request in, a reply out. And
// the lifetime of a client: everything that waits in it ends when it is closed.
import { setMaxListeners } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { type LanewayError, LanewayUnavailable } from './errors.ts'
import type { IntakeAnswers, IntakeJob, IntakeRequests } from './types.ts'

/** Longest wait for an answer, unless the caller says otherwise. */
export const ANSWER_LIMIT_MS = 30_000

export type Reply<J extends IntakeJob> = { ok: true; answer: IntakeAnswers[J] } | { ok: false; error: LanewayError }

/** A way to reach the service: HTTP or the intake queue. */
export interface Transport {
  /**
   * Asks for several things at once and resolves to their replies, in their order. Goes on trying while Redis or the
   * service is away, until the time is over; nothing is done twice by that. Rejects only when the client is closed, or
   * Redis or the answer is not what it must be.
   */
  ask<J extends IntakeJob>(job: J, requests: readonly IntakeRequests[J][], timeoutMs?: number): Promise<Reply<J>[]>
  close(): Promise<void>
}

/** Asks for one thing and resolves to its answer, or rejects with its error. */
export async function askOne<J extends IntakeJob>(
  transport: Transport,
  job: J,
  request: IntakeRequests[J],
  timeoutMs?: number,
): Promise<IntakeAnswers[J]> {
  const [reply] = await transport.ask(job, [request], timeoutMs)
  if (reply?.ok) return reply.answer
  throw reply?.error ?? new Error('There was no reply.')
}

/** How long a call waits before it rejects with LanewayTimeout or LanewayUnavailable. */
export interface WaitOptions {
  /** Milliseconds. */
  timeoutMs?: number
}

/** The time between connecting a client and closing it. */
export interface Lifetime {
  /** Aborted when the client is closed. */
  signal: AbortSignal
  /** Throws LanewayUnavailable when the client is closed. */
  check(): void
  /** Resolves after that time; rejects with LanewayUnavailable at once when the client is closed. */
  sleep(ms: number): Promise<void>
  end(): void
}

/** A lifetime that has not ended. */
export function newLifetime(): Lifetime {
  const closed = new AbortController()
  // Each request that waits to be repeated listens to it: Node would warn of a leak at eleven.
  setMaxListeners(0, closed.signal)
  const check = (): void => {
    if (closed.signal.aborted) throw new LanewayUnavailable('The client is closed.')
  }
  return {
    signal: closed.signal,
    check,
    async sleep(ms) {
      check()
      await delay(ms, undefined, { signal: closed.signal }).catch(check)
    },
    end: () => closed.abort(),
  }
}
