// The two ways to Laneway, intake.ts and http.ts, as the rest of the client knows them: ask for something, get a reply.
import type { IntakeAnswers, IntakeJob, IntakeRequests } from './contract.ts'
import type { LanewayError } from './errors.ts'

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
