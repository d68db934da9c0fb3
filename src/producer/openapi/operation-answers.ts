// The answers of a route as responses of the description: its own, and its errors with an example of each code.
import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import { EDGE_ERRORS, type ErrorsByStatus } from '../error-codes.ts'
import { errorBodySchema } from '../errors.ts'
import { isCounted } from '../rate-limits.ts'
import type { BodyRule, BytesSchema, RouteSpec } from '../route.ts'
import { shownAnswer } from './sample.ts'
import { exampleName, pascal, type SchemaNames } from './shared-parts.ts'

type Headers = Record<string, { $ref: string }>

const header = (name: string): { $ref: string } => ({ $ref: `#/components/headers/${name}` })
const REQUEST_ID: Headers = { 'x-request-id': header('RequestId') }

const DESCRIPTIONS: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted: it is done later.',
  206: 'The requested range.',
  304: 'The client’s copy is current.',
  400: 'The request is not valid; `details` name every wrong field.',
  401: 'The credential is missing, unknown, expired or revoked.',
  403: 'The credential does not permit it.',
  404: 'It does not exist, or belongs to another account.',
  408: 'The request did not arrive in time.',
  409: 'It conflicts with the present state.',
  412: 'It is not the one that the request names.',
  413: 'It is too large.',
  415: 'This content type is not accepted here.',
  416: 'There is no such range.',
  417: 'This `Expect` is not supported.',
  422: 'It is well formed but cannot be done.',
  429: 'Too many of these, or too often; `Retry-After` says when to try again.',
  431: 'Too many headers, or too large ones.',
  500: 'Our own fault; the log has the cause under the request id.',
  501: 'What it needs is not installed; the message says how to install it.',
  503: 'It cannot be done right now; `Retry-After` says when to try again.',
  507: 'There is no room for it: what is left of the disk is kept for sending.',
}

/** Headers that come with the errors of a status. */
const WITH_STATUS: Readonly<Record<number, Headers>> = {
  401: { 'WWW-Authenticate': header('WwwAuthenticate') },
  429: {
    'Retry-After': header('RetryAfter'),
    'RateLimit-Policy': header('RateLimitPolicy'),
    RateLimit: header('RateLimit'),
  },
  503: { 'Retry-After': header('RetryAfter') },
}

/** Answers of a route by status. */
export function answersOf(spec: RouteSpec, id: string, names: SchemaNames): ZodOpenApiResponsesObject {
  const answers = Object.entries(spec.answers).map(([status, answer]) => [
    status,
    answerOf(spec, Number(status), answer, () => `${pascal(id)}${status === '200' ? '' : status}Answer`, names),
  ])
  const errors = [...documentedErrors(spec)].map(([status, codes]) => [String(status), errorAnswer(status, codes)])
  return Object.fromEntries([...answers, ...errors])
}

/** Every error of a route, including those before it is found, but not those of another address. */
export function documentedErrors(spec: RouteSpec): Map<number, ReadonlySet<string>> {
  // Malformed HTTP, unknown addresses and other methods are not about this route.
  const { 404: _elsewhere, 405: _otherMethod, 400: _notHttp, 429: _whereCounted, ...others } = EDGE_ERRORS
  const edge: ErrorsByStatus = spec.params ? { ...others, 400: ['invalid_path'] } : others
  return new Map([...byStatus([...ownErrors(spec), edge])].sort(([one], [other]) => one - other))
}

function answerOf(
  spec: RouteSpec,
  status: number,
  answer: z.ZodType | BytesSchema,
  name: () => string,
  names: SchemaNames,
): ZodOpenApiResponseObject {
  const isNaming = spec.body.as === 'json' && spec.body.unknown === 'named'
  const headers = { ...REQUEST_ID, ...(isNaming && { 'x-laneway-ignored': header('Ignored') }) }
  const description = DESCRIPTIONS[status] ?? 'Done.'
  if (status === 304) return { description, headers }
  const shown = spec.examples.filter((each) => each.status === status && shownAnswer(spec, each) !== undefined)
  const examples = Object.fromEntries(
    shown.map((each, index) => [exampleName(each, index), { value: shownAnswer(spec, each) }] as const),
  )
  const inJson = (schema: z.ZodType) => ({
    schema: names.of(schema, name()),
    ...(shown.length > 0 && { examples }),
  })
  if (answer instanceof z.ZodType) return { description, headers, content: { 'application/json': inJson(answer) } }
  const content = answer.contentTypes.map((type) => [
    type === '*' ? '*/*' : type,
    answer.schema ? inJson(answer.schema) : bytesOf(type),
  ])
  return { description, headers, content: Object.fromEntries(content) }
}

/** The schema of an answer that declares none. */
const bytesOf = (type: string): { schema?: { type: 'object' | 'string' } } =>
  type === '*' ? {} : { schema: { type: type === 'application/json' ? 'object' : 'string' } }

/** Errors of one status with the same codes are one shared answer. */
const errorAnswers = new Map<string, ZodOpenApiResponseObject>()

/** The answer for errors of a status with these codes. */
export function errorAnswer(status: number, codes: ReadonlySet<string>): ZodOpenApiResponseObject {
  const key = `${status} ${[...codes].sort().join(' ')}`
  const known = errorAnswers.get(key)
  if (known) return known
  const word = (STATUS_CODES[status] ?? 'Error').replaceAll(/\W/g, '')
  const alike = [...errorAnswers.keys()].filter((each) => each.startsWith(`${status} `)).length
  const answer: ZodOpenApiResponseObject = {
    id: alike === 0 ? word : `${word}${alike + 1}`,
    description: `${DESCRIPTIONS[status] ?? 'An error.'} ${counted(codes)} ${[...codes].map((code) => `\`${code}\``).join(', ')}.`,
    headers: { ...REQUEST_ID, ...WITH_STATUS[status] },
    content: {
      'application/json': {
        schema: errorBodySchema,
        examples: Object.fromEntries([...codes].map((code) => [code, { $ref: `#/components/examples/${code}` }])),
      },
    },
    'x-laneway-codes': [...codes],
  }
  errorAnswers.set(key, answer)
  return answer
}

const counted = ({ size }: ReadonlySet<string>): string => (size === 1 ? 'Code' : 'Codes')

/** Of the key and its account, see authorise.ts. */
const KEY_ERRORS: ErrorsByStatus = {
  ...{ 400: ['account_required'], 401: ['unauthorized'], 403: ['forbidden'], 404: ['not_found'] },
}
/** See reserve.ts. */
const ROOM_ERRORS: ErrorsByStatus = { 503: ['memory_reserve'], 507: ['disk_reserve'] }

const READ_ERRORS: ErrorsByStatus = {
  400: ['invalid_json', 'invalid_body', 'too_deep', 'too_many_values'],
  408: ['too_slow'],
  413: ['too_large'],
  415: ['unsupported_media_type'],
  503: ['overloaded'],
}
const BODY_ERRORS: Readonly<Record<BodyRule['as'], ErrorsByStatus>> = {
  ignored: {},
  json: READ_ERRORS,
  raw: READ_ERRORS,
  stream: { 400: ['invalid_body'], 408: ['too_slow'], 413: ['too_large'], 415: ['unsupported_media_type'] },
}

/** Every error that a route may answer once it is found: its own, and those of its key, its body and its fields. */
export const errorsOf = (spec: RouteSpec): Map<number, ReadonlySet<string>> => byStatus(ownErrors(spec))

const ownErrors = (spec: RouteSpec): ErrorsByStatus[] => [
  { 500: ['internal'], 503: ['unavailable'] },
  isCounted(spec) ? { 429: ['rate_limited'] } : {},
  spec.takesRoom ? ROOM_ERRORS : {},
  spec.access.in === 'open' ? {} : KEY_ERRORS,
  BODY_ERRORS[spec.body.as],
  hasFields(spec) ? { 400: ['invalid_request'] } : {},
  spec.errors ?? {},
]

function byStatus(all: readonly ErrorsByStatus[]): Map<number, ReadonlySet<string>> {
  const found = new Map<number, Set<string>>()
  for (const [status, codes] of all.flatMap((each) => Object.entries(each))) {
    found.set(Number(status), new Set([...(found.get(Number(status)) ?? []), ...codes]))
  }
  return found
}

/** Whether the route takes a field that may be wrong: an id that is any text is found or not. */
function hasFields({ params, query, headers, body }: RouteSpec): boolean {
  if (body.as === 'json') return true
  // A field that a strict query does not have is a fault, too.
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
