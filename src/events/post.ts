// One POST to an endpoint, signed, and how it was answered. Never redirected, never repeated here.

import { type Agent, request } from 'undici'
import { readRetryAfter } from '../outbound/answers.ts'
import { signedHeaders } from '../outbound/signatures.ts'

/** Time for the whole request, until the last byte of the answer. */
const TIMEOUT_MS = 15_000
/** Bytes of an answer that are read; the rest is ignored. */
const ANSWER_BYTES = 4_096

/** How an endpoint answered. */
export interface PostEnd {
  /** Undefined without an answer; then `problem` has the reason. */
  status: number | undefined
  problem: string | undefined
  answer: string
  retryAfterMs: number | undefined
  tookMs: number
}

/** POSTs a body at `atMs` (epoch ms) and never rejects. `secrets`: it is signed with each of them. `stopped` aborts it. */
export async function postEvents(
  agent: Agent,
  url: string,
  secrets: readonly string[],
  { id, body, atMs }: { id: string; body: string; atMs: number },
  stopped: AbortSignal,
): Promise<PostEnd> {
  const began = performance.now()
  const seconds = Math.floor(atMs / 1_000)
  let status: number | undefined
  let answer = ''
  let problem: string | undefined
  let retryAfterMs: number | undefined
  try {
    const response = await request(url, {
      dispatcher: agent,
      method: 'POST',
      headers: signedHeaders(secrets, { id, seconds, body }),
      body,
      signal: AbortSignal.any([AbortSignal.timeout(TIMEOUT_MS), stopped]),
    })
    status = response.statusCode
    retryAfterMs = readRetryAfter(response.headers['retry-after'], atMs)
    let read = 0
    const decoder = new TextDecoder()
    for await (const chunk of response.body) {
      const bytes = Buffer.from(chunk)
      // A character may be split between two chunks; one that is split at the end is left out.
      answer += decoder.decode(bytes.subarray(0, ANSWER_BYTES - read), { stream: true })
      read += bytes.length
      // Leaving the loop closes the connection, so that an endless answer cannot keep it busy.
      if (read > ANSWER_BYTES) break
    }
  } catch (error) {
    // The status counts even if the rest of the answer never came.
    if (status === undefined) problem = sentenceOf(error)
  }
  return { status, problem, answer, retryAfterMs, tookMs: Math.round(performance.now() - began) }
}

/** Failures with a sentence of their own; nothing about the network behind the endpoint is shown. */
const SENTENCES: Readonly<Record<string, string>> = {
  UNSAFE_TARGET: 'it leads to an address that is not allowed',
  ECONNREFUSED: 'the connection was refused',
  ECONNRESET: 'the connection was cut',
  UND_ERR_SOCKET: 'the connection was cut',
  UND_ERR_CONNECT_TIMEOUT: 'no connection within 5 s',
  ENOTFOUND: 'its name leads nowhere',
  EAI_AGAIN: 'its name could not be looked up',
}

function sentenceOf(error: unknown): string {
  if (error instanceof Error && error.name === 'TimeoutError') return 'no answer within 15 s'
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|SSL|TLS|SIGNATURE/.test(code)) return 'its certificate is not valid'
  return SENTENCES[code] ?? 'no answer'
}
