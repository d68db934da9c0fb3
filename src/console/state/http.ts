// Every request of the console: the HTTP addresses that applications call, with the session's cookie for a key.
import { signal } from '@preact/signals'
import type { z } from 'zod'

/** A request that was refused, with the server's own sentence. */
export class Refused extends Error {
  override name = 'Refused'
  readonly status: number
  readonly code: string
  readonly details: readonly { path: string; message: string }[]

  constructor(status: number, code: string, message: string, details: Refused['details'] = []) {
    super(message)
    this.status = status
    this.code = code
    this.details = details
  }
}

/** The account that an operator acts for; undefined for all, and for everybody else. */
export const actingFor = signal<number | undefined>(undefined)

/** Whether the session is an operator's, which chooses the account it acts for. */
export const isOperator = signal(false)

/** Rises when the server does not know the session any more. */
export const sessionEnded = signal(0)

/** What a request has besides its method and path; a body that is no form goes as JSON. */
export interface Call {
  query?: Readonly<Record<string, string | number | undefined>> | undefined
  body?: unknown
  headers?: Readonly<Record<string, string>>
  signal?: AbortSignal | undefined
}

interface ErrorBody {
  message?: string
  error?: { code?: string; details?: Refused['details'] }
}

/** An address with its query; what is undefined or empty is left out. */
export function addressOf(path: string, query: Call['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
}

/** The address of something that the browser itself loads, such as an export: it can send no header. */
export const downloadAddress = (path: string, query: Call['query'] = {}): string =>
  addressOf(path, { ...query, account: actingFor.value })

/** Headers that say for whom an operator acts. */
export const actingHeaders = (): Record<string, string> =>
  actingFor.value === undefined ? {} : { 'x-laneway-account': String(actingFor.value) }

/** The same for something of a certain account: an operator that looks at all acts for the one that it belongs to. */
export const actingHeadersFor = (account: number): Record<string, string> =>
  isOperator.value ? { 'x-laneway-account': String(account) } : {}

const UNREACHABLE = 'Laneway cannot be reached.'
/** What can be said of something that was asked for and not answered. */
export const NOTHING_CHANGED = 'Nothing was changed, as far as the page knows.'

/** Whether a refusal says only that Laneway, or what it needs, is not there at the moment. */
export const isUnavailable = ({ status }: Refused): boolean => [0, 502, 503, 504].includes(status)

/** Whether a refusal will soon be over: nobody answers, Redis is away, too much is going on. */
export const isTemporary = (refusal: Refused): boolean => isUnavailable(refusal) || refusal.status === 429

/** The refusal of something that is asked for again by itself, which says so. */
export const withRetryNote = ({ status, code, message, details }: Refused): Refused =>
  new Refused(status, code, `${message} The page tries again by itself.`, details)

/**
 * Sends a request and gives the parsed answer. Throws Refused, also when the server cannot be reached (status 0). The
 * answer's shape is the server's promise (its own tests hold it); page and server are built from one source.
 */
export async function call<T>(method: string, path: string, { query, body, headers, signal }: Call = {}): Promise<T> {
  const isForm = body instanceof FormData || body instanceof Blob
  try {
    const response = await fetch(addressOf(path, query), {
      method,
      credentials: 'same-origin',
      headers: {
        ...actingHeaders(),
        ...(body === undefined || isForm ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? null : isForm ? body : JSON.stringify(body),
      signal: signal ?? null,
    })
    if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T
    throw refusalOf(response.status, await response.json().catch(() => ({})))
  } catch (error) {
    // An answer that broke off is none.
    if (signal?.aborted || error instanceof Refused) throw error
    throw new Refused(
      0,
      'unreachable',
      method === 'GET' ? UNREACHABLE : `${UNREACHABLE} ${NOTHING_CHANGED} Press again.`,
    )
  }
}

/** The refusal in an answer. A 401 ends the session of the page. */
export function refusalOf(status: number, body: ErrorBody): Refused {
  if (status === 401) sessionEnded.value += 1
  const sentence = body.message ?? `The server answered ${status}.`
  return new Refused(status, body.error?.code ?? 'unknown', sentence, body.error?.details)
}

/** Most answers of our own addresses hold what was asked for in `data`. */
export const dataOf = async <T>(method: string, path: string, more?: Call): Promise<T> =>
  (await call<{ data: T }>(method, path, more)).data

/** What `data` of the answers of a route holds. Only the type: schemas are not loaded by the browser. */
export type Data<Route extends { answers: object }> = {
  [Status in keyof Route['answers']]: Route['answers'][Status] extends z.ZodType<{ data: infer Inside }>
    ? Inside
    : never
}[keyof Route['answers']]

/** A page of a list, and what to ask for to get the next one. */
export interface Page<T> {
  data: T[]
  next: string | null
}

/** As many random bytes in hexadecimal digits. Pages without TLS have no crypto.randomUUID. */
export const randomHex = (bytes: number): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('')
