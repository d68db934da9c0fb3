// One try of a request over HTTP, and how it ended.
import { membersOf, type Refusal, readRefusal } from './contract.ts'

/** Of the service, or of a proxy before it: nobody could work on the request. */
const AWAY = new Set([502, 503, 504])
/** Too much was asked for; the same may be taken a moment later, of which Retry-After tells. */
const TOO_MUCH = 429

/** What Laneway answers with one of those when it is the chat product that does not hand something over. */
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

/** A key as it is, so that it is the same one through the intake queue; what no header can hold is encoded. */
const headerOf = (key: string): string =>
  /^[!-~]([ -~]*[!-~])?$/.test(key) ? key : Buffer.from(key).toString('base64url')

/** The object in the answer; empty where there is none. */
export const jsonOf = async (response: Response): Promise<Readonly<Record<string, unknown>>> =>
  membersOf(await response.json().catch(() => undefined))

/** What the answer asks to wait; none where it names no seconds. */
function retryAfterMs({ headers }: Response): number {
  const seconds = Number(headers.get('retry-after') ?? 0)
  return seconds > 0 ? seconds * 1_000 : 0
}

/** How one try ended. `later`: refused for now. `late`: the time was over, or the client was closed. */
export type Outcome<T> =
  | { value: T }
  | { refusal: Refusal }
  | { later: Refusal; afterMs: number }
  | { away: string; cause?: unknown }
  | { late: true }

/** Makes the request once. `read` reads an answer that is no refusal. */
export async function exchange<T>(
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
      // The key goes to nobody whom the caller did not name.
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
    // Laneway is there and says that somebody else is not.
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
