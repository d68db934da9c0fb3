// What all requests to servers that we do not know read alike: a text of bounded length, how long to wait, what went wrong.

/** The body as text. Rejects with the code `answer_too_large` beyond so many bytes, and the connection is closed then. */
export async function readText(body: AsyncIterable<Buffer>, maxBytes: number): Promise<string> {
  const chunks: Buffer[] = []
  let read = 0
  for await (const chunk of body) {
    chunks.push(chunk)
    read += chunk.length
    if (read > maxBytes) throw Object.assign(new Error('the answer is too large'), { code: 'answer_too_large' })
  }
  return Buffer.concat(chunks).toString('utf8')
}

/** The wait of a Retry-After, in ms from now: seconds or a date; undefined when it has none. */
export function readRetryAfter(header: string | string[] | undefined, nowMs: number): number | undefined {
  if (typeof header !== 'string') return undefined
  const text = header.trim()
  if (/^\d{1,15}(\.\d+)?$/.test(text)) return Math.ceil(Number(text) * 1_000)
  // A date always names its zone; what Date.parse makes of anything else was not meant.
  const until = text.endsWith('GMT') ? Date.parse(text) : Number.NaN
  return Number.isNaN(until) ? undefined : Math.max(0, until - nowMs)
}

/** A short word for what went wrong, safe to log: an error code, never a message that may hold an address or a token. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown'
  const code = 'code' in error && typeof error.code === 'string' ? error.code : error.name
  return CAUSES[code] ?? (code.startsWith('HPE_') ? 'bad_answer' : code.toLowerCase())
}

const CAUSES: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'refused',
  ENOTFOUND: 'name_not_found',
  EAI_AGAIN: 'name_not_found',
  UND_ERR_CONNECT_TIMEOUT: 'connect_timeout',
  ETIMEDOUT: 'connect_timeout',
  TimeoutError: 'timeout',
  UND_ERR_HEADERS_TIMEOUT: 'timeout',
  UND_ERR_BODY_TIMEOUT: 'timeout',
  ECONNRESET: 'reset',
  EPIPE: 'reset',
  UND_ERR_SOCKET: 'reset',
  UND_ERR_INFO: 'reset',
  UND_ERR_DESTROYED: 'reset',
  ERR_HTTP2_STREAM_ERROR: 'reset',
  ERR_HTTP2_SESSION_ERROR: 'reset',
  ERR_HTTP2_STREAM_CANCEL: 'reset',
  ERR_HTTP2_INVALID_SESSION: 'reset',
  ERR_HTTP2_GOAWAY_SESSION: 'reset',
  ERR_HTTP2_ERROR: 'bad_answer',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'bad_answer',
  UND_ERR_HEADERS_OVERFLOW: 'bad_answer',
}
