// Request bodies: JSON objects and raw bytes, bounded before anything else reads them. Small ones are read by Express's own
// parser, all others by overload/large-bodies.ts.
//
// JSON is bounded on its bytes, before it is parsed: its depth, its values, the members of one object, its different names.
// 256 KB of `{},` are 7 MB once parsed, and V8 needs 300 ms for 200,000 members that all have names of their own; within
// these bounds 4 MB are parsed in less than 40 ms.
import { isUtf8 } from 'node:buffer'
import { randomInt } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Request, RequestHandler, Response } from 'express'
import express from 'express'
import {
  JSON_LIMIT_BYTES,
  LARGE_VALUES_MAX,
  MAX_DEPTH,
  MEMBERS_MAX,
  NAMES_MAX,
  VALUES_MAX,
} from '../kernel/body-limits.ts'
import { withoutByteOrderMark } from '../kernel/byte-order-mark.ts'
import { hasBody } from './answer.ts'
import { ApiError, tooLarge } from './errors.ts'
import { BODY_SECONDS, inOwnIteration, readLargeBody, tooSlow } from './overload/large-bodies.ts'
import type { BodyRule } from './route.ts'

/** Bodies up to this size are neither counted nor queued: for all connections they take 32 MB. */
const SMALL_BYTES = 16 * 1_024

/** A body that was read: the object of a `json` route, the bytes of a `raw` one. `release` it once it is worked on. */
export interface Body {
  sent: Record<string, unknown>
  raw: Buffer
  release: () => void
}

const NOTHING = Buffer.alloc(0)
const NO_RELEASE = (): void => {}
const NO_BODY: Body = { sent: {}, raw: NOTHING, release: NO_RELEASE }

/** A rule by which the body is read before the handler runs. */
type ReadRule = Extract<BodyRule, { as: 'json' | 'raw' }>
const isRead = (rule: BodyRule): rule is ReadRule => rule.as === 'json' || rule.as === 'raw'

const limitOf = (rule: ReadRule): number => rule.limit ?? JSON_LIMIT_BYTES

/** Whether the rule takes JSON of no more than the usual size, which is little enough to read before the key is known. */
export const isUsualBody = (rule: BodyRule): boolean => rule.as === 'json' && limitOf(rule) <= JSON_LIMIT_BYTES

/**
 * Throws an ApiError if the headers alone show that the body has the wrong type or is too large. A handler that reads the body itself
 * also checks it itself.
 */
export function assertContent(request: IncomingMessage, rule: BodyRule): void {
  if (!isRead(rule) || !hasBody(request)) return
  const { headers } = request
  if (rule.as === 'json' && !isJson(headers['content-type'])) {
    throw new ApiError(415, 'unsupported_media_type', 'Send the body as Content-Type: application/json, in UTF-8.')
  }
  if ((headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new ApiError(415, 'unsupported_media_type', 'Send the body as it is, not compressed.')
  }
  if (announced(request) > limitOf(rule)) throw tooLarge()
}

/**
 * The body by the route's rule, or an ApiError that says what came instead. Undefined when the client has gone. Nothing is
 * read where the route takes no body or its handler reads it.
 */
export async function readBody(request: Request, response: Response, rule: BodyRule): Promise<Body | undefined> {
  if (!isRead(rule)) return NO_BODY
  if (!hasBody(request)) {
    return rule.as === 'raw' || rule.mayBeAbsent ? NO_BODY : { ...NO_BODY, sent: objectOf(undefined) }
  }
  const isSmall = request.headers['transfer-encoding'] === undefined && announced(request) <= SMALL_BYTES
  if (!isSmall) return readLarge(request, rule)
  const value = await readSmall(request, response, rule)
  if (rule.as === 'json') return { ...NO_BODY, sent: objectOf(value) }
  return { ...NO_BODY, raw: Buffer.isBuffer(value) ? value : NOTHING }
}

const announced = ({ headers }: IncomingMessage): number => Number(headers['content-length'])

/** Express's parsers, for bodies that `assertContent` has checked. */
const SMALL: Readonly<Record<ReadRule['as'], RequestHandler>> = {
  json: express.json({
    ...{ limit: SMALL_BYTES, strict: false, inflate: false, type: () => true },
    verify: (_request, _response, bytes) => assertReadable(bytes, VALUES_MAX),
  }),
  raw: express.raw({ limit: SMALL_BYTES, inflate: false, type: () => true }),
}

function readSmall(request: Request, response: Response, rule: ReadRule): Promise<unknown> {
  // The parser recognises UTF-8 by this name only.
  if (rule.as === 'json') request.headers['content-type'] = 'application/json'
  return new Promise((resolve, reject) => {
    let timer: NodeJS.Timeout | undefined
    // Nearly all have arrived with their headers, and need no timer.
    const wait = setImmediate(() => {
      timer = setTimeout(() => reject(tooSlow()), BODY_SECONDS * 1_000)
    })
    SMALL[rule.as](request, response, (error?: unknown) => {
      clearImmediate(wait)
      clearTimeout(timer)
      if (error === undefined) resolve(request.body)
      else reject(error instanceof SyntaxError ? invalidJson(error, textOf(error)) : error)
    })
  })
}

async function readLarge(request: Request, rule: ReadRule): Promise<Body | undefined> {
  const body = await readLargeBody(request, limitOf(rule))
  if (body === undefined) return undefined
  const { bytes, release } = body
  try {
    if (rule.as === 'raw') return { sent: {}, raw: bytes, release }
    const isUsual = limitOf(rule) <= JSON_LIMIT_BYTES
    return { sent: objectOf(await parse(bytes, isUsual ? VALUES_MAX : LARGE_VALUES_MAX)), raw: NOTHING, release }
  } catch (error) {
    release()
    throw error
  }
}

/** The JSON of a body that came as raw bytes, bounded as that of any other large one; an ApiError otherwise. */
export const parseRaw = (bytes: Buffer): Promise<unknown> => parse(bytes, LARGE_VALUES_MAX)

async function parse(bytes: Buffer, valuesMax: number): Promise<unknown> {
  if (bytes.length <= JSON_LIMIT_BYTES) {
    assertReadable(bytes, valuesMax)
    return parseJson(bytes)
  }
  await inOwnIteration(() => assertReadable(bytes, valuesMax))
  return inOwnIteration(() => parseJson(bytes))
}

/** Throws an ApiError unless the bytes are UTF-8 and JSON of them keeps the bounds. */
function assertReadable(bytes: Buffer, valuesMax: number): void {
  // Decoding would turn each wrong byte into a U+FFFD that is sent to somebody.
  if (!isUtf8(bytes)) throw new ApiError(400, 'invalid_json', 'The body is not valid UTF-8.')
  assertJsonBounds(bytes, valuesMax)
}

/** Bytes as JSON, or an ApiError. A byte order mark is skipped, as by Express. */
function parseJson(bytes: Buffer): unknown {
  const text = withoutByteOrderMark(bytes.toString('utf8'))
  try {
    return JSON.parse(text)
  } catch (cause) {
    throw invalidJson(cause, text)
  }
}

/** The text that Express could not parse, which its error contains. */
const textOf = (error: SyntaxError): string =>
  'body' in error && typeof error.body === 'string' ? withoutByteOrderMark(error.body) : ''

const invalidJson = (cause: unknown, text: string): ApiError =>
  new ApiError(400, 'invalid_json', `The body is not valid JSON${positionOf(cause, text)}.`, { cause })

/** `: line 3, column 12`, if Node's message has it. Nothing that Node quotes is repeated. */
function positionOf(cause: unknown, text: string): string {
  const message = cause instanceof Error ? cause.message : ''
  if (/end of JSON input/.test(message)) return text === '' ? '' : ': it ends too early'
  const [, position] = / at position (\d+)/.exec(message) ?? []
  if (position === undefined) return ''
  let line = 1
  let begin = 0
  for (let end = text.indexOf('\n'); end !== -1 && end < Number(position); end = text.indexOf('\n', begin)) {
    line += 1
    begin = end + 1
  }
  return `: line ${line}, column ${Number(position) - begin + 1}`
}

/** The body of a request must be an object. */
function objectOf(body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const came =
      body === undefined ? 'nothing' : Array.isArray(body) ? 'an array' : body === null ? 'null' : typeof body
    throw new ApiError(400, 'invalid_body', `The body must be a JSON object, got ${came}.`)
  }
  // An own copy of the top level: a key like __proto__ stays an own property of the parsed object and is not copied on.
  return Object.fromEntries(Object.entries(body))
}

/** JSON in UTF-8. In another charset (UTF-7 hides brackets) values would be counted on bytes that mean something else. */
function isJson(type = ''): boolean {
  const charsets = Array.from(type.matchAll(/\bcharset\b[\s*=]*"?([^";\s]*)/gi), ([, name]) => name)
  return /^application\/json *(;|$)/i.test(type) && charsets.every((name) => /^utf-?8$/i.test(name ?? ''))
}

/** Secret factor of the hash of names: otherwise 100,000 names could be made that count as one. Odd, so that no bit is lost. */
const FACTOR = randomInt(2 ** 31) | 1

/** Throws an ApiError when the text holds more than `valuesMax` values (commas and opening brackets) or breaks another bound. */
export function assertJsonBounds(bytes: Uint8Array, valuesMax: number): void {
  /** Members of the object that is open at each depth. */
  const members = new Uint16Array(MAX_DEPTH + 1)
  const names = new Set<number>()
  let depth = 0
  let values = 0
  let hash = 0

  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i]
    if (byte === 0x22) {
      hash = 0
      for (i += 1; i < bytes.length && bytes[i] !== 0x22; i += 1) {
        if (bytes[i] === 0x5c) i += 1
        hash = Math.imul(hash ^ (bytes[i] ?? 0), FACTOR)
      }
    } else if (byte === 0x2c) values += 1
    else if (byte === 0x7b || byte === 0x5b) {
      values += 1
      depth += 1
      if (depth > MAX_DEPTH) {
        throw new ApiError(400, 'too_deep', `The body is nested deeper than ${MAX_DEPTH} levels.`)
      }
      members[depth] = 0
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1
    else if (byte === 0x3a) {
      const now = (members[depth] ?? 0) + 1
      if (now > MEMBERS_MAX) throw tooMany(`more than ${MEMBERS_MAX} members in one object`)
      members[depth] = now
      names.add(hash)
      if (names.size > NAMES_MAX) throw tooMany(`more than ${NAMES_MAX} different names`)
    }
    if (values > valuesMax) throw tooMany(`more than ${valuesMax} values`)
  }
}

const tooMany = (what: string): ApiError => new ApiError(400, 'too_many_values', `The body has ${what}.`)
