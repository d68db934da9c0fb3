// Reading request bodies: JSON objects only, bounded in size and in depth, before anything else looks at them.

import type { NextFunction, Request, Response } from 'express'
import express from 'express'
import { JSON_LIMIT_BYTES, MAX_DEPTH } from '../accept/body-limits.ts'
import { ApiError } from './errors.ts'
import type { BodyRule } from './route.ts'

/** Express middleware that reads the body as the rule says. */
export function bodyReader(rule: BodyRule): (request: Request, response: Response, next: NextFunction) => void {
  if (rule.as === 'json') {
    return express.json({
      limit: rule.limit ?? JSON_LIMIT_BYTES,
      inflate: false,
      strict: false,
      type: isJson,
      verify: (_request, _response, bytes) => {
        if (nestsTooDeep(bytes)) throw new Error('too deep')
      },
    })
  }
  if (rule.as === 'raw') return express.raw({ limit: rule.limit, inflate: false, type: () => true })
  return (_request, _response, next) => next()
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

/** The ApiError for what Express's body reader throws, or undefined when the error is not one of its own. */
export function bodyError(error: unknown): ApiError | undefined {
  if (!(error instanceof Error) || !('type' in error)) return undefined
  switch (error.type) {
    case 'entity.too.large':
      return new ApiError(413, 'too_large', 'The body is too large.', { cause: error })
    case 'entity.parse.failed':
      return invalidJson(error)
    case 'encoding.unsupported':
    case 'charset.unsupported':
      return new ApiError(415, 'unsupported_media_type', 'Send the body as plain UTF-8 JSON, not compressed.', {
        cause: error,
      })
    case 'entity.verify.failed':
      return tooDeep(error)
    case 'request.aborted':
    case 'request.size.invalid':
      return new ApiError(400, 'invalid_body', 'The body ended before its announced length.', { cause: error })
    default:
      return undefined
  }
}

const invalidJson = (cause: unknown): ApiError =>
  new ApiError(400, 'invalid_json', 'The body is not valid JSON.', { cause })

const tooDeep = (cause?: unknown): ApiError =>
  new ApiError(400, 'too_deep', `The body is nested deeper than ${MAX_DEPTH} levels.`, { cause })

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
