// Requests of the console. They go to the API that applications call, with the session cookie in place of a key.
import { signal } from '@preact/signals'
import type { z } from 'zod'
import type { CsvOptions } from '../../../../src/files/csv-head.ts'

/** A refused request, with the sentence of the server. */
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

/** What a load or an action was refused for; a fault of the page counts as a refusal. */
export const refusedBy = (error: unknown): Refused =>
  error instanceof Refused ? error : new Refused(0, 'unknown', String(error))

/** The account that an operator acts for; undefined for all accounts, and for other keys. */
export const actingFor = signal<number | undefined>(undefined)

/** Whether the session is an operator's, who chooses an account to act for. */
export const isOperator = signal(false)

/** Increases each time the server no longer knows the session. */
export const sessionEnded = signal(0)

/** The rest of a request. A body is sent as JSON unless it is a form or a blob. */
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

/** An address with its query, without undefined and empty values. */
export function addressOf(path: string, query: Call['query'] = {}): string {
  const pairs = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [[name, String(value)]],
  )
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs)}`
}

/** An address for a download link, such as an export: with it the browser sends no header, so the query has the account. */
export const downloadAddress = (path: string, query: Call['query'] = {}): string =>
  addressOf(path, { ...query, account: actingFor.value })

/** The header for the account that an operator acts for. */
export const actingHeaders = (): Record<string, string> =>
  actingFor.value === undefined ? {} : { 'x-laneway-account': String(actingFor.value) }

/** The same for something of a known account, for an operator who looks at all accounts. */
export const actingHeadersFor = (account: number): Record<string, string> =>
  isOperator.value ? { 'x-laneway-account': String(account) } : {}

const UNREACHABLE = 'Laneway cannot be reached.'
/** All that is known after a request without an answer. */
export const NOTHING_CHANGED = 'Nothing was changed, as far as the page knows.'

/** Whether Laneway, or something that it needs, is away. */
export const isUnavailable = ({ status }: Refused): boolean => [0, 502, 503, 504].includes(status)

/** Whether the same request may soon succeed: Laneway or Redis is away, or there are too many requests. */
export const isTemporary = (refusal: Refused): boolean => isUnavailable(refusal) || refusal.status === 429

/** The refusal of a request that the page repeats by itself; with that in its message. */
export const withRetryNote = ({ status, code, message, details }: Refused): Refused =>
  new Refused(status, code, `${message} The page tries again by itself.`, details)

/** A page that waits longer for what it reads has most likely lost its connection: browsers notice that after minutes. */
const READ_LIMIT_MS = 30_000

/**
 * Sends a request and returns the parsed answer. Throws Refused, also if the server cannot be reached (status 0); a GET
 * without an answer within READ_LIMIT_MS counts as that. The shape
 * of the answer is not checked: page and server are built together, and the tests of the server check it.
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
      signal: AbortSignal.any([
        ...(signal ? [signal] : []),
        ...(method === 'GET' ? [AbortSignal.timeout(READ_LIMIT_MS)] : []),
      ]),
    })
    if (response.ok) return (response.status === 204 ? undefined : await response.json()) as T
    throw refusalOf(response.status, await response.json().catch(() => ({})))
  } catch (error) {
    // An answer that broke off counts as none.
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

/** Sends a request and returns `data` of the answer. */
export const dataOf = async <T>(method: string, path: string, more?: Call): Promise<T> =>
  (await call<{ data: T }>(method, path, more)).data

/** The type of `data` in the answers of a route. Only the type: the browser loads no schemas. */
export type Data<Route extends { answers: object }> = {
  [Status in keyof Route['answers']]: Route['answers'][Status] extends z.ZodType<{ data: infer Inside }>
    ? Inside
    : never
}[keyof Route['answers']]

/** A page of a list, and the cursor of the next. */
export interface Page<T> {
  data: T[]
  next: string | null
}

/** Random bytes in hexadecimal. Pages without TLS have no crypto.randomUUID. */
export const randomHex = (bytes: number): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(bytes)), (byte) => byte.toString(16).padStart(2, '0')).join('')

/**
 * Uploads a file; the query has how to read it. Resolves with `data` of the answer; `onProgress` gets a share from 0 to 1.
 * Throws Refused.
 */
export function uploadFile<T>(
  path: string,
  file: File,
  contentType: string,
  onProgress: (share: number) => void,
  options: CsvOptions & { tag?: number },
): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest()
    request.open('POST', addressOf(path, { ...options }))
    request.setRequestHeader('content-type', contentType)
    for (const [name, value] of Object.entries(actingHeaders())) request.setRequestHeader(name, value)
    request.responseType = 'json'
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total)
    request.onerror = () => reject(new Refused(0, 'unreachable', 'The upload broke off. Try again.'))
    request.onload = () => {
      const isGood = request.status >= 200 && request.status < 300
      if (isGood) resolve(request.response?.data as T)
      else reject(refusalOf(request.status, request.response ?? {}))
    }
    request.send(file)
  })
}

/** How long the bytes are kept for the browser to begin saving them. */
const KEPT_MS = 60_000

/** Fetches an address and saves the answer under this name. Throws Refused; a plain link could not show a refusal. */
export async function download(address: string, name: string): Promise<void> {
  let bytes: Blob
  try {
    const answer = await fetch(address, { headers: actingHeaders(), credentials: 'same-origin' })
    if (!answer.ok) throw refusalOf(answer.status, await answer.json().catch(() => ({})))
    // With its own content type some browsers would open it instead.
    bytes = new Blob([await answer.arrayBuffer()], { type: 'application/octet-stream' })
  } catch (error) {
    if (error instanceof Refused) throw error
    throw new Refused(0, 'unreachable', 'The download broke off. Try again.')
  }
  const link = document.createElement('a')
  link.href = URL.createObjectURL(bytes)
  link.download = name
  link.click()
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS)
}
