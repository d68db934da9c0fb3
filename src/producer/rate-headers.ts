// The remaining quota in the head of an answer: the headers of the IETF draft draft-ietf-httpapi-ratelimit-headers. They are kept until
// the head is written: with a header set before, Node builds the whole head in a slower way.
import type { ServerResponse } from 'node:http'

/** Of each answer whose head is not written yet. */
const noted = new WeakMap<ServerResponse, { policy: string; left: string }>()

/** One more limit that the request was counted against. All are in one line: Node writes many lines several times as slowly. */
export function noteRate(
  response: ServerResponse,
  { of, rate, left }: { of: string; rate: number; left: number },
): void {
  const before = noted.get(response)
  const join = (line: string | undefined, more: string): string => (line === undefined ? more : `${line}, ${more}`)
  noted.set(response, {
    policy: join(before?.policy, `"${of}";q=${rate};w=1`),
    left: join(before?.left, `"${of}";r=${left};t=1`),
  })
}

/** Names and values in turn, for the head that is written now. */
export function rateHeaders(response: ServerResponse): string[] {
  const known = noted.get(response)
  return known === undefined ? [] : ['RateLimit-Policy', known.policy, 'RateLimit', known.left]
}

/** Sets them at once, for responses that write their head themselves. */
export function setRateHeaders(response: ServerResponse): void {
  const known = noted.get(response)
  if (known === undefined || response.headersSent) return
  response.setHeader('RateLimit-Policy', known.policy)
  response.setHeader('RateLimit', known.left)
}
