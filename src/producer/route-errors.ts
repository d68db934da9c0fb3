// Which errors a route may answer: its own, and those that follow from its key, its body and its fields.
import { z } from 'zod'
import type { ErrorsByStatus } from './error-codes.ts'
import { isCounted } from './rate-limits.ts'
import type { BodyRule, RouteSpec } from './route.ts'

const KEY_ERRORS: ErrorsByStatus = { 401: ['unauthorized'], 403: ['forbidden'] }
/** Whose account it is, see authorise.ts. */
const ACCOUNT_ERRORS: ErrorsByStatus = { 400: ['account_required'], 404: ['not_found'] }

/** How often somebody may ask, see rate-limits.ts. */
const RATE_ERRORS: ErrorsByStatus = { 429: ['rate_limited'] }
/** What is kept for sending, see reserve.ts. */
const ROOM_ERRORS: ErrorsByStatus = { 503: ['memory_reserve'], 507: ['disk_reserve'] }

const BODY_ERRORS: Readonly<Record<BodyRule['as'], ErrorsByStatus>> = {
  ignored: {},
  json: {
    400: ['invalid_json', 'invalid_body', 'too_deep', 'too_many_values'],
    408: ['too_slow'],
    413: ['too_large'],
    415: ['unsupported_media_type'],
    503: ['overloaded'],
  },
  raw: {
    400: ['invalid_json', 'invalid_body', 'too_deep', 'too_many_values'],
    408: ['too_slow'],
    413: ['too_large'],
    415: ['unsupported_media_type'],
    503: ['overloaded'],
  },
  stream: { 400: ['invalid_body'], 408: ['too_slow'], 413: ['too_large'], 415: ['unsupported_media_type'] },
}

/** Every error that a route may answer once it is found: its own, and those of its key, its body and its fields. */
export function errorsOf(spec: RouteSpec): Map<number, ReadonlySet<string>> {
  const all = [
    { 500: ['internal'], 503: ['unavailable'] },
    isCounted(spec) ? RATE_ERRORS : {},
    spec.takesRoom ? ROOM_ERRORS : {},
    spec.access.in === 'open' ? {} : KEY_ERRORS,
    spec.access.in === 'open' ? {} : ACCOUNT_ERRORS,
    BODY_ERRORS[spec.body.as],
    hasFields(spec) ? { 400: ['invalid_request'] } : {},
    spec.errors ?? {},
  ]
  const byStatus = new Map<number, Set<string>>()
  for (const [status, codes] of all.flatMap((each) => Object.entries(each))) {
    const known = byStatus.get(Number(status)) ?? new Set()
    for (const code of codes) known.add(code)
    byStatus.set(Number(status), known)
  }
  return byStatus
}

/** Whether the route takes a field that may be wrong: an id that is any text is found or not. */
function hasFields({ params, query, headers, body }: RouteSpec): boolean {
  if (body.as === 'json') return true
  // What a strict query does not know is wrong, too.
  if (query?.def.catchall instanceof z.ZodNever) return true
  const fields = [params, query, headers].flatMap((each) => Object.values<z.ZodType>(each?.shape ?? {}))
  return !fields.every(isAnyText)
}

function isAnyText(schema: z.ZodType): boolean {
  if (schema instanceof z.ZodOptional) {
    const inside = schema.unwrap()
    return inside instanceof z.ZodType && isAnyText(inside)
  }
  return schema instanceof z.ZodUnknown || (schema instanceof z.ZodString && (schema.def.checks ?? []).length === 0)
}
