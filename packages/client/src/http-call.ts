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
  open(request: HttpRequest, limitMs?: number): Promise<Response>
}

/** For the service at this address, `https://…`. Asks for nothing yet; throws a TypeError when it is no such address. */
export function createCaller(url: string, apiKey: string, life: Lifetime, account?: number): HttpCaller {
  const base = baseOf(url)
  // What it is must not be repeated: it is a secret.
  if (!/^[!-~]+$/.test(apiKey)) throw new TypeError('The apiKey must be one key, and nothing else.')

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
      const outcome = await exchange(base, { apiKey, account }, request, {
        life: life.signal,
        limitMs: Math.ceil(left),
        read,
      })
      if ('value' in outcome) return { ok: true, value: outcome.value }
      if ('refusal' in outcome) return { ok: false, error: new LanewayRefused(outcome.refusal) }
      life.check()
      if ('away' in outcome) error = new LanewayUnavailable(outcome.away, { cause: outcome.cause })
      if ('later' in outcome) error = new LanewayRefused(outcome.later)
      if ('late' in outcome)
        error = new LanewayTimeout('There was no answer in time. It may have been done all the same.')
      // What may have been done must not be done again.
      if (request.isOnce && !('later' in outcome)) return { ok: false, error }
      const waitMs = 'later' in outcome ? Math.max(delay, outcome.afterMs) : delay
      if (performance.now() + waitMs > deadline) return { ok: false, error }
      await life.sleep(waitMs)
    }
  }

  async function ask(request: HttpRequest, limitMs = ANSWER_LIMIT_MS): Promise<HttpReply> {
    const reply = await untilAnswered(request, limitMs, bodyIn)
    return reply.ok ? { ok: true, body: reply.value } : reply
  }

  return {
    ask,
    async askOrThrow(request, limitMs) {
      const reply = await ask(request, limitMs)
      if (!reply.ok) throw reply.error
      return reply.body
    },
    async open(request, limitMs = ANSWER_LIMIT_MS) {
      const reply = await untilAnswered(request, limitMs, async (response) => response)
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

/** A request. It is made again when it got no answer, unless it `isOnce`. */
export interface HttpRequest {
  method: string
  path: string
  isOnce?: boolean
  /** Of JSON. Without it and `content` there is no body. */
  body?: object
  /** A body of another type, sent as it is. */
  content?: { bytes: Uint8Array | FormData; type: string | undefined } | undefined
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

/** What is no Laneway answers 200 as well. */
class NoLaneway extends Error {}

/** The object in an answer that is no refusal. Rejects where the connection is lost on the way, and for any other text. */
async function bodyIn(response: Response): Promise<Readonly<Record<string, unknown>>> {
  const text = await response.text()
  try {
    const body: unknown = JSON.parse(text)
    if (typeof body === 'object' && body !== null) return membersOf(body)
  } catch {}
  throw new NoLaneway(`The address answered ${response.status} with another text: is it Laneway?`)
}

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
  { apiKey, account }: { apiKey: string; account: number | undefined },
  request: HttpRequest,
  { life, limitMs, read }: { life: AbortSignal; limitMs: number; read: (response: Response) => Promise<T> },
): Promise<Outcome<T>> {
  const { method, path, body, content, keyIn, idempotencyKey, traceparent } = request
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
        // Pages of other sites cannot send it, which is what one older address asks it for.
        'x-requested-with': 'XMLHttpRequest',
        // Of a form, fetch says itself where its parts end.
        ...(content?.type !== undefined && { 'content-type': content.type }),
        ...(account !== undefined && { 'x-laneway-account': String(account) }),
        ...(keyIn === 'bearer' && { authorization: `Bearer ${apiKey}` }),
        ...(idempotencyKey !== undefined && { 'idempotency-key': headerOf(idempotencyKey) }),
        ...(traceparent !== undefined && { traceparent: headerOf(traceparent) }),
      },
      ...(body && { body: JSON.stringify(keyIn === 'body' ? { ...body, api_key: apiKey } : body) }),
      ...(content && { body: content.bytes }),
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
    if (cause instanceof NoLaneway) {
      return { refusal: { code: 'unexpected_answer', message: cause.message, details: [] } }
    }
    if (signal.aborted) return { late: true }
    return { away: 'The service cannot be reached; check its address.', cause }
  } finally {
    clearTimeout(timer)
  }
}
