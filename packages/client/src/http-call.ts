// One request to the service: asked again until it is answered or the time is over, its refusals and failures as the
// client's errors.
import { type LanewayError, LanewayRefused, LanewayTimeout, LanewayUnavailable } from './errors.ts'
import { exchange, type HttpRequest, jsonOf } from './exchange.ts'
import type { Lifetime } from './lifetime.ts'
import { ANSWER_LIMIT_MS } from './transport.ts'

const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 2_000

export type HttpReply = { ok: true; body: Readonly<Record<string, unknown>> } | { ok: false; error: LanewayError }

/** Whoever asks the service at one address with one key. */
export interface HttpCaller {
  /** The body of the answer. Rejects only when the client is closed. */
  ask(request: HttpRequest, limitMs?: number): Promise<HttpReply>
  /** The same, rejecting with its error. */
  askOrThrow(request: HttpRequest, limitMs?: number): Promise<Readonly<Record<string, unknown>>>
  /** An answer whose body is read as it comes; the limit holds until it begins. Closing the client cuts it. */
  open(path: string, limitMs?: number): Promise<Response>
}

/** For the service at this address, `https://…`. Asks for nothing yet; throws a TypeError when it is no such address. */
export function createCaller(url: string, apiKey: string, life: Lifetime): HttpCaller {
  const base = baseOf(url)

  /** Tries until there is an answer, and hands that to `read`. */
  async function untilAnswered<T>(
    request: HttpRequest,
    limitMs: number,
    read: (response: Response) => Promise<T>,
  ): Promise<{ ok: true; value: T } | { ok: false; error: LanewayError }> {
    const deadline = performance.now() + limitMs
    let error: LanewayError = new LanewayTimeout('There was no answer in time. It may have been done all the same.')
    for (let delay = FIRST_DELAY_MS; ; delay = Math.min(2 * delay, LONGEST_DELAY_MS)) {
      life.check()
      const left = deadline - performance.now()
      if (left <= 0) return { ok: false, error }
      const outcome = await exchange(base, apiKey, request, { life: life.signal, limitMs: Math.ceil(left), read })
      if ('value' in outcome) return { ok: true, value: outcome.value }
      if ('refusal' in outcome) return { ok: false, error: new LanewayRefused(outcome.refusal) }
      life.check()
      if ('away' in outcome) error = new LanewayUnavailable(outcome.away, { cause: outcome.cause })
      if ('later' in outcome) error = new LanewayRefused(outcome.later)
      const waitMs = 'later' in outcome ? Math.max(delay, outcome.afterMs) : delay
      if (performance.now() + waitMs > deadline) return { ok: false, error }
      await life.sleep(waitMs)
    }
  }

  async function ask(request: HttpRequest, limitMs = ANSWER_LIMIT_MS): Promise<HttpReply> {
    const reply = await untilAnswered(request, limitMs, async (response) => jsonOf(response))
    return reply.ok ? { ok: true, body: reply.value } : reply
  }

  return {
    ask,
    async askOrThrow(request, limitMs) {
      const reply = await ask(request, limitMs)
      if (!reply.ok) throw reply.error
      return reply.body
    },
    async open(path, limitMs = ANSWER_LIMIT_MS) {
      const reply = await untilAnswered({ method: 'GET', path, keyIn: 'bearer' }, limitMs, async (response) => response)
      if (!reply.ok) throw reply.error
      return reply.value
    },
  }
}

function baseOf(url: string): string {
  const { protocol, href } = new URL(url)
  if (!/^https?:$/.test(protocol)) throw new TypeError(`The url must begin with https:// or http://, got ${protocol}`)
  return href.replace(/\/$/, '')
}
