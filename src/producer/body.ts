// Reading request bodies: JSON objects only, bounded in size, time and depth, before anything else looks at them.
import type { IncomingMessage } from 'node:http'
import type { NextFunction, Request, Response } from 'express'
import { JSON_LIMIT_BYTES, MAX_DEPTH } from '../accept/body-limits.ts'
import { ApiError } from './errors.ts'
import type { BodyRule } from './route.ts'

/** A body must be there by then: what has come of it is held in memory, and 10,000 slow clients could hold 2.5 GB. */
const BODY_SECONDS = 30

/**
 * Reads the whole body. Calls `done` with it, or `refuse` as soon as more than `limit` bytes are announced or come, or
 * when they take too long: Express's own reader answers only after the last byte, of a body without end never. Calls
 * neither when the client goes away, for nobody waits for an answer then. What comes after a refusal is dropped.
 */
export function readBytes(
  request: IncomingMessage,
  limit: number,
  done: (bytes: Buffer) => void,
  refuse: (error: ApiError) => void,
): void {
  if (Number(request.headers['content-length']) > limit) {
    refuse(tooLarge())
    return
  }
  const chunks: Buffer[] = []
  let size = 0
  const stop = (): void => {
    clearTimeout(timer)
    request.off('data', take).off('end', finish).off('close', stop)
  }
  const giveUp = (error: ApiError): void => {
    stop()
    request.resume()
    refuse(error)
  }
  const timer = setTimeout(() => giveUp(tooSlow()), BODY_SECONDS * 1_000)
  const take = (chunk: Buffer): void => {
    size += chunk.length
    if (size > limit) giveUp(tooLarge())
    else chunks.push(chunk)
  }
  const finish = (): void => {
    stop()
    done(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
  }
  request.on('data', take).on('end', finish).on('close', stop)
}

/** Express middleware that reads the body as the rule says. */
export function bodyReader(rule: BodyRule): (request: Request, response: Response, next: NextFunction) => void {
  if (rule.as !== 'json' && rule.as !== 'raw') return (_request, _response, next) => next()
  return (request, _response, next) => {
    // JSON of another type is refused below, unread.
    if (!hasBody(request) || (rule.as === 'json' && !isJson(request))) return next()
    if ((request.get('content-encoding') ?? 'identity').toLowerCase() !== 'identity') return next(compressed())
    const take = (bytes: Buffer): void => {
      try {
        request.body = rule.as === 'json' ? parseBody(bytes) : bytes
        next()
      } catch (error) {
        next(error)
      }
    }
    readBytes(request, rule.limit ?? JSON_LIMIT_BYTES, take, next)
  }
}

/** The parsed body of a `json` route: an object, or an ApiError that says what came instead. */
export function jsonObject(request: Request, rule: { mayBeAbsent?: true }): Record<string, unknown> {
  if (rule.mayBeAbsent && !hasBody(request)) return {}
  if (hasBody(request) && !isJson(request)) {
    throw new ApiError(415, 'unsupported_media_type', 'Send the body as Content-Type: application/json, in UTF-8.')
  }
  return objectOf(request.body)
}

/** Bytes as JSON, not too deep; or an ApiError. A byte order mark is let pass, as Express does. */
export function parseBody(bytes: Buffer): unknown {
  if (nestsTooDeep(bytes)) throw tooDeep()
  const text = bytes.toString('utf8')
  try {
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text)
  } catch (cause) {
    throw invalidJson(cause)
  }
}

/** The body of a request must be an object. */
export function objectOf(body: unknown): Record<string, unknown> {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    const came =
      body === undefined ? 'nothing' : Array.isArray(body) ? 'an array' : body === null ? 'null' : typeof body
    throw new ApiError(400, 'invalid_body', `The body must be a JSON object, got ${came}.`)
  }
  // An own copy of the top level: a key like __proto__ stays an own property of the parsed object and is not copied on.
  return Object.fromEntries(Object.entries(body))
}

const tooLarge = (): ApiError => new ApiError(413, 'too_large', 'The body is too large.')

const tooSlow = (): ApiError =>
  new ApiError(408, 'too_slow', `The body must be there within ${BODY_SECONDS} seconds of the request.`)

const compressed = (): ApiError =>
  new ApiError(415, 'unsupported_media_type', 'Send the body as it is, not compressed.')

const invalidJson = (cause: unknown): ApiError =>
  new ApiError(400, 'invalid_json', 'The body is not valid JSON.', { cause })

const tooDeep = (): ApiError => new ApiError(400, 'too_deep', `The body is nested deeper than ${MAX_DEPTH} levels.`)

const hasBody = (request: Request): boolean =>
  request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0

/** JSON in UTF-8. In another charset (UTF-7 hides brackets) the depth would be counted on bytes that mean something else. */
function isJson(request: { headers: Record<string, unknown> }): boolean {
  const type = String(request.headers['content-type'] ?? '')
  const charsets = Array.from(type.matchAll(/\bcharset\b[\s*=]*"?([^";\s]*)/gi), ([, name]) => name)
  return /^application\/json *(;|$)/i.test(type) && charsets.every((name) => /^utf-?8$/i.test(name ?? ''))
}

/** Whether brackets outside strings nest too deep. Works on bytes, before parsing: 100,000 levels cost 0.2 ms. */
function nestsTooDeep(bytes: Buffer): boolean {
  let depth = 0
  let inString = false
  for (let i = 0; i < bytes.length; i += 1) {
    const byte = bytes[i]
    if (inString) {
      if (byte === 0x5c) i += 1
      else if (byte === 0x22) inString = false
    } else if (byte === 0x22) inString = true
    else if (byte === 0x7b || byte === 0x5b) {
      depth += 1
      if (depth > MAX_DEPTH) return true
    } else if (byte === 0x7d || byte === 0x5d) depth -= 1
  }
  return false
}
