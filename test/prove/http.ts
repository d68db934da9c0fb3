// One HTTP exchange of the proof's own client: what came back, or why nothing did.
import { Agent, request } from 'undici'
import { pause } from './wait.ts'

export type HttpAnswer = { status: number; body: unknown } | { status: 0; error: string }

/** Connections of the whole run; one that is broken is not used again. */
const agent = new Agent({ connections: 64, pipelining: 1, keepAliveTimeout: 4_000, connect: { timeout: 2_000 } })

/** Never rejects. Longer than any answer may take: a producer that is away answers 503 in under 3 s. */
const LIMIT_MS = 20_000

export async function postJson(
  url: string,
  body: string | object,
  headers: Record<string, string> = {},
): Promise<HttpAnswer> {
  return exchange('POST', url, typeof body === 'string' ? body : JSON.stringify(body), {
    'content-type': 'application/json',
    ...headers,
  })
}

/** A producer whose Redis is away, or late on a busy machine, says to ask again: so it is asked for so long. */
const ASKED_AGAIN_MS = 60_000
const AGAIN_EVERY_MS = 500

/** The answer, of several if the first says to ask again. */
export async function getJson(url: string, headers: Record<string, string> = {}): Promise<HttpAnswer> {
  const until = performance.now() + ASKED_AGAIN_MS
  for (;;) {
    const answer = await exchange('GET', url, undefined, headers)
    if (answer.status !== 503 || performance.now() >= until) return answer
    await pause(AGAIN_EVERY_MS)
  }
}

async function exchange(
  method: 'GET' | 'POST',
  url: string,
  body: string | undefined,
  headers: Record<string, string>,
): Promise<HttpAnswer> {
  try {
    const answer = await request(url, {
      method,
      headers,
      ...(body === undefined ? {} : { body }),
      dispatcher: agent,
      signal: AbortSignal.timeout(LIMIT_MS),
    })
    const text = await answer.body.text()
    return { status: answer.statusCode, body: text === '' ? undefined : JSON.parse(text) }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error)
    return { status: 0, error: code }
  }
}
