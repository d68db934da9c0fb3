// Request bodies: JSON objects only, bounded before anything else looks at them.
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { JSON_LIMIT_BYTES, LARGE_VALUES_MAX, VALUES_MAX } from '../messages/accept/body-limits.ts'
import { ApiError } from './errors.ts'
import { createJsonCount } from './json-count.ts'
import { type Body, NO_BODY, readBytes, tooLarge } from './read-bytes.ts'
import type { BodyRule } from './route.ts'
import type { Shares } from './shares.ts'
import { parseSliced } from './sliced-json.ts'

/**
 * Throws an ApiError for what the headers alone say: that the body is of a kind that is not taken, or too large. What a
 * handler reads itself, it checks itself.
 */
export function assertBody(request: IncomingMessage, rule: BodyRule): void {
  if ((rule.as !== 'json' && rule.as !== 'raw') || !hasBody(request)) return
  if (rule.as === 'json' && !isJson(request)) {
    throw new ApiError(415, 'unsupported_media_type', 'Send the body as Content-Type: application/json, in UTF-8.')
  }
  if ((request.headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity') {
    throw new ApiError(415, 'unsupported_media_type', 'Send the body as it is, not compressed.')
  }
  if (Number(request.headers['content-length']) > limitOf(rule)) throw tooLarge()
}

/** Whether the rule takes JSON of no more than the usual size, which is little enough to read before the key is known. */
export const isUsualBody = (rule: BodyRule): boolean => rule.as === 'json' && limitOf(rule) <= JSON_LIMIT_BYTES

/** The bytes of a body that `assertBody` let pass; none where there is none or the handler reads it. An ApiError otherwise. */
export async function bodyBytes(
  request: IncomingMessage,
  response: ServerResponse,
  rule: BodyRule,
  held: Shares,
): Promise<Body> {
  if ((rule.as !== 'json' && rule.as !== 'raw') || !hasBody(request)) return NO_BODY
  const limit = limitOf(rule)
  const count =
    rule.as === 'json' ? createJsonCount(limit > JSON_LIMIT_BYTES ? LARGE_VALUES_MAX : VALUES_MAX) : undefined
  return readBytes(request, response, { limit, count, held })
}

const limitOf = (rule: { limit?: number }): number => rule.limit ?? JSON_LIMIT_BYTES

/** The parsed body of a `json` route: an object, or an ApiError that says what came instead. Counted by `bodyBytes`. */
export async function jsonObject(
  request: IncomingMessage,
  rule: { mayBeAbsent?: true },
  bytes: Buffer,
): Promise<Record<string, unknown>> {
  if (!hasBody(request)) return rule.mayBeAbsent ? {} : objectOf(undefined)
  // Decoded all the same, each wrong byte would become a U+FFFD that is sent to somebody.
  if (!isUtf8(bytes)) throw new ApiError(400, 'invalid_json', 'The body is not valid UTF-8.')
  return objectOf(await parseCounted(bytes))
}

/** The JSON of a body that came as raw bytes, bounded as that of any other large one; an ApiError otherwise. */
export async function parseRaw(bytes: Buffer): Promise<unknown> {
  const fault = createJsonCount(LARGE_VALUES_MAX).add(bytes)
  if (fault) throw fault
  return parseCounted(bytes)
}

/** Bytes as JSON, or an ApiError. A byte order mark is let pass, as Express does. */
async function parseCounted(bytes: Buffer): Promise<unknown> {
  try {
    if (bytes.length > JSON_LIMIT_BYTES) return await parseSliced(bytes)
    const text = bytes.toString('utf8')
    return JSON.parse(text.startsWith('\uFEFF') ? text.slice(1) : text)
  } catch (cause) {
    throw new ApiError(400, 'invalid_json', 'The body is not valid JSON.', { cause })
  }
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

const hasBody = ({ headers }: IncomingMessage): boolean =>
  headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0

/** JSON in UTF-8. In another charset (UTF-7 hides brackets) values would be counted on bytes that mean something else. */
function isJson({ headers }: IncomingMessage): boolean {
  const type = String(headers['content-type'] ?? '')
  const charsets = Array.from(type.matchAll(/\bcharset\b[\s*=]*"?([^";\s]*)/gi), ([, name]) => name)
  return /^application\/json *(;|$)/i.test(type) && charsets.every((name) => /^utf-?8$/i.test(name ?? ''))
}
