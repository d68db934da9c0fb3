// What the limits say of a request, in the headers of the IETF draft draft-ietf-httpapi-ratelimit-headers. It is kept until
// the head of the answer is written: with a header set before, Node builds the whole head in a slower way.
import type { ServerResponse } from 'node:http'
import type { RateVerdict } from './rate-limits/rates.ts'

interface RateHeaders {
  policy: string
  left: string
}

const noted = new WeakMap<ServerResponse, RateHeaders>()

/** One more limit that the request was counted against. All are in one line: Node writes many lines several times as slowly. */
export function tellRate(response: ServerResponse, { of, rate, left, isWithin }: RateVerdict): void {
  const policy = `"${of}";q=${rate};w=1`
  const rest = `"${of}";r=${isWithin ? left : 0};t=1`
  const before = noted.get(response)
  if (before === undefined) noted.set(response, { policy, left: rest })
  else {
    before.policy += `, ${policy}`
    before.left += `, ${rest}`
  }
}

/** Names and values in turn, for the head that is written now. */
export function rateHeaders(response: ServerResponse): string[] {
  const known = noted.get(response)
  return known === undefined ? [] : ['RateLimit-Policy', known.policy, 'RateLimit', known.left]
}

/** Sets them at once: for what writes its head by itself. */
export function setRateHeaders(response: ServerResponse): void {
  const known = noted.get(response)
  if (known === undefined || response.headersSent) return
  response.setHeader('RateLimit-Policy', known.policy)
  response.setHeader('RateLimit', known.left)
}
