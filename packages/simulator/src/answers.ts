// Answers as values: what a wire decided to send back, be it JSON or something spoilt in one of the ways of the table.
// writeAnswer puts a value on the connection.

import type { ServerResponse } from 'node:http'
import type { SpoiltAnswer } from './behaviours.ts'
import { type Refusal, refusalHead } from './chat-errors.ts'
import type { Verdict } from './chat-product.ts'

export type Answer =
  | { http: number; body: unknown; headers?: Record<string, string> }
  | { http: 200; bytes: Buffer; type: string }
  /** The acknowledgement is null when the message was not taken. */
  | { spoilt: SpoiltAnswer; acknowledgement: Acknowledgement | null }

/** The body that a send is acknowledged with. `input` is the recipient as it came, `wa_id` its digits. */
export interface Acknowledgement {
  messaging_product: string
  contacts: ({ input: string; wa_id: string } | { input: string; user_id: string })[]
  messages: { id: string; message_status?: string }[]
}

/** How a wire words a refusal. */
export type RefusalBody = (refusal: Refusal) => unknown

/** The answer to a send request, from what WhatsApp decided and how the wire words it. */
export function answerTo(
  verdict: Verdict,
  acknowledge: (id: string) => Acknowledgement,
  refusalBody: RefusalBody,
): Answer {
  if (verdict.kind === 'rejected') {
    const { rejection } = verdict
    return 'code' in rejection
      ? refusalAnswer(rejection, refusalBody)
      : { spoilt: rejection.broken, acknowledgement: null }
  }
  const acknowledgement = acknowledge(verdict.id)
  return verdict.answer === null ? { http: 200, body: acknowledgement } : { spoilt: verdict.answer, acknowledgement }
}

/** The HTTP status and headers that belong to the refusal's code, with the body in the wire's own envelope. */
export function refusalAnswer(refusal: Refusal, refusalBody: RefusalBody): Answer {
  return { ...refusalHead(refusal), body: refusalBody(refusal) }
}

const SLOW_MS = 2000
const DRIP_MS = 250
/** Far above what any client should be willing to read for an acknowledgement. */
const HUGE_BYTES = 32 * 1024 * 1024
const HUGE_PIECE = ' '.repeat(1 << 16)
const JSON_TYPE = { 'content-type': 'application/json' }

/**
 * Sends the answer, or spoils it in the way that it names: hangs, resets, cuts, drips and so on. Does not wait for the
 * end.
 */
export function writeAnswer(response: ServerResponse, answer: Answer): void {
  if ('bytes' in answer) {
    response.writeHead(200, { 'content-type': answer.type, 'content-length': answer.bytes.length })
    response.end(answer.bytes)
    return
  }
  if ('http' in answer) {
    const bytes = JSON.stringify(answer.body)
    response.writeHead(answer.http, { ...answer.headers, ...JSON_TYPE, 'content-length': Buffer.byteLength(bytes) })
    response.end(bytes)
    return
  }
  const { acknowledgement } = answer
  const bytes = JSON.stringify(acknowledgement)
  switch (answer.spoilt) {
    case 'hang':
      break
    case 'reset':
      reset(response)
      break
    case 'plain-500':
      response.writeHead(500, { 'content-type': 'text/html; charset=utf-8' })
      response.end('<html><head><title>Error</title></head><body><h1>Sorry, something went wrong.</h1></body></html>')
      break
    case 'slow':
      writeSlowly(response, acknowledgement)
      break
    case 'no-id':
      writeAnswer(response, { http: 200, body: { ...acknowledgement, messages: [{}] } })
      break
    case 'garbage':
      response.writeHead(200, JSON_TYPE)
      response.end('\u0000\u0001<<< not an acknowledgement >>>{"messages":[{"id":')
      break
    case 'cut':
      response.writeHead(200, { ...JSON_TYPE, 'content-length': Buffer.byteLength(bytes) })
      response.write(bytes.slice(0, bytes.length / 2), () => reset(response))
      break
    case 'huge':
      response.writeHead(200, JSON_TYPE)
      writePadded(response, bytes)
      break
    case 'drip':
      response.writeHead(200, { ...JSON_TYPE, 'content-length': Buffer.byteLength(bytes) })
      writeByteByByte(response, Buffer.from(bytes))
      break
  }
}

/** Ends the connection with a TCP reset. */
function reset(response: ServerResponse): void {
  response.socket?.resetAndDestroy()
}

function writeSlowly(response: ServerResponse, body: unknown): void {
  const timer = setTimeout(() => writeAnswer(response, { http: 200, body }), SLOW_MS)
  response.once('close', () => clearTimeout(timer))
}

/** Valid JSON to the end: spaces may follow it. Waits for the reader, so that the padding never piles up here. */
function writePadded(response: ServerResponse, bytes: string): void {
  let left = HUGE_BYTES
  const writeMore = (): void => {
    while (left > 0) {
      left -= HUGE_PIECE.length
      if (!response.write(HUGE_PIECE)) {
        response.once('drain', writeMore)
        return
      }
    }
    response.end()
  }
  response.write(bytes)
  writeMore()
}

function writeByteByByte(response: ServerResponse, bytes: Buffer): void {
  let at = 0
  const timer = setInterval(() => {
    response.write(bytes.subarray(at, at + 1))
    at += 1
    if (at === bytes.length) response.end()
  }, DRIP_MS)
  response.once('close', () => clearInterval(timer))
}
