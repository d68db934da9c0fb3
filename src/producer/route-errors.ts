// Which errors a route may answer: its own, and those that follow from its key, its body and its fields.
import type { ErrorsByStatus } from './error-codes.ts'
import type { BodyRule, RouteSpec } from './route.ts'

const KEY_ERRORS: ErrorsByStatus = { 401: ['unauthorized'], 403: ['forbidden'] }

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
  const takesFields = spec.params ?? spec.query ?? spec.headers ?? (spec.body.as === 'json' || undefined)
  const all = [
    { 500: ['internal'], 503: ['unavailable'] },
    spec.access.in === 'open' ? {} : KEY_ERRORS,
    BODY_ERRORS[spec.body.as],
    takesFields === undefined ? {} : { 400: ['invalid_request'] },
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
