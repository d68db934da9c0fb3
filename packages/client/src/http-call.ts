// One request to the service: repeated until it is answered or the time is over, its refusals and failures as the client's
// errors.
import { membersOf, readRefusal } from './contract.ts'
import { type LanewayError, LanewayRefused, LanewayTimeout, LanewayUnavailable } from './errors.ts'
import { ANSWER_LIMIT_MS, type Lifetime } from './transport.ts'
import type { Refusal } from './types.ts'

const FIRST_DELAY_MS = 100
const LONGEST_DELAY_MS = 2_000

export type HttpReply = { ok: true; body: Readonly<Record<string, unknown>> } | { ok: false; error: LanewayError }

/** Requests to the service at one address with one key. */
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

/** From the service or a proxy before it: the request was not processed. */
const AWAY = new Set([502, 503, 504])
/** Too many requests; Retry-After gives the wait. */
const TOO_MUCH = 429

/** Laneway answers one of those with this code when WhatsApp does not deliver a file. */
const FINAL = new Set(['media_unavailable'])

/** A request that may be made again when it got no answer. */
export interface HttpRequest {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  /** Without it there is no body. */
  body?: object
  /** Where the key travels. */
  keyIn: 'body' | 'bearer'
  idempotencyKey?: string | undefined
  traceparent?: string | undefined
}

/** The idempotency key unchanged, so that it is the same through the intake queue; encoded if no header can hold it. */
const headerOf = (key: string): string =>
  /^[!-~]([ -~]*[!-~])?$/.test(key) ? key : Buffer.from(key).toString('base64url')

/** The object in the answer; empty where there is none. */
const jsonOf = async (response: Response): Promise<Readonly<Record<string, unknown>>> =>
  membersOf(await response.json().catch(() => undefined))

/** The wait that the answer asks for; 0 without one. */
function retryAfterMs({ headers }: Response): number {
  const seconds = Number(headers.get('retry-after') ?? 0)
  return seconds > 0 ? seconds * 1_000 : 0
}

/** How one try ended. `later`: refused for now. `late`: the time was over, or the client was closed. */
type Outcome<T> =
  | { value: T }
  | { refusal: Refusal }
  | { later: Refusal; afterMs: number }
  | { away: string; cause?: unknown }
  | { late: true }

/** Makes the request once. `read` reads an answer that is no refusal. */
async function exchange<T>(
  base: string,
  apiKey: string,
  request: HttpRequest,
  { life, limitMs, read }: { life: AbortSignal; limitMs: number; read: (response: Response) => Promise<T> },
): Promise<Outcome<T>> {
  const { method, path, body, keyIn, idempotencyKey, traceparent } = request
  const late = new AbortController()
  const timer = setTimeout(() => late.abort(), limitMs)
  const signal = AbortSignal.any([life, late.signal])
  try {
    const response = await fetch(`${base}${path}`, {
      method,
      signal,
      // A redirect must not take the key to another host.
      redirect: 'manual',
      headers: {
        ...(body && { 'content-type': 'application/json' }),
        ...(keyIn === 'bearer' && { authorization: `Bearer ${apiKey}` }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': headerOf(idempotencyKey) }),
        ...(traceparent !== undefined && { traceparent: headerOf(traceparent) }),
      },
      ...(body && { body: JSON.stringify(keyIn === 'body' ? { ...body, api_key: apiKey } : body) }),
    })
    if (response.ok) return { value: await read(response) }
    const answer = await jsonOf(response)
    const refusal = readRefusal({ ...membersOf(answer.error), message: answer.message })
    if (AWAY.has(response.status) && !FINAL.has(refusal?.code ?? '')) {
      return { away: `The service is away: it answered ${response.status}.` }
    }
    if (response.status === TOO_MUCH && refusal) return { later: refusal, afterMs: retryAfterMs(response) }
    const unexpected = `The address answered ${response.status}: is it Laneway?`
    return { refusal: refusal ?? { code: 'unexpected_answer', message: unexpected, details: [] } }
  } catch (cause) {
    if (signal.aborted) return { late: true }
    return { away: 'The service cannot be reached; check its address.', cause }
  } finally {
    clearTimeout(timer)
  }
}
