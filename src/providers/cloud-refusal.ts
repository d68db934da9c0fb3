// Reading the Graph API's error envelope, whatever was asked.
import { z } from 'zod'
import type { CallEnd } from '../model/messages/outcome.ts'
import type { Refused } from './answer-body.ts'

/**
 * Only an envelope with code and type counts: proxies have envelopes with a code of their own. An odd field beside
 * these must not turn a refusal into an answer that proves nothing.
 */
const refusal = z.object({
  error: z.object({
    message: z.string().optional().catch(undefined),
    type: z.string(),
    code: z.number(),
    error_subcode: z.number().optional().catch(undefined),
    error_data: z.object({ details: z.string().optional() }).optional().catch(undefined),
  }),
})

/** The contents of an error envelope; undefined for any other body. */
export function refusedBy(body: unknown): Refused | undefined {
  const error = refusal.safeParse(body).data?.error
  return error && { code: error.code, subcode: error.error_subcode, text: error.error_data?.details ?? error.message }
}

/** The problem in any answer but a success; `body` is its JSON, if it was that. */
export function readRefusal(
  status: number,
  body: unknown,
  retryAfterMs: number | undefined,
): Extract<CallEnd, { kind: 'answered' }> {
  const refused = refusedBy(body)
  const { code, subcode, text } = refused ?? {}
  return { kind: 'answered', status, readable: refused !== undefined, code, subcode, text, retryAfterMs }
}
