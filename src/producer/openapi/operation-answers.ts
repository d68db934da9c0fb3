// The answers of a route as responses of the description: its own, and its errors with an example of each code.
import { STATUS_CODES } from 'node:http'
import { z } from 'zod'
import type { ZodOpenApiResponseObject, ZodOpenApiResponsesObject } from 'zod-openapi'
import { EDGE_ERRORS, type ErrorsByStatus } from '../error-codes.ts'
import { errorBodySchema } from '../errors.ts'
import type { BytesSchema, RouteSpec } from '../route.ts'
import { errorsOf } from '../route-errors.ts'
import { exampleName, pascal, type SchemaNames } from './names.ts'

type Headers = Record<string, { $ref: string }>

const header = (name: string): { $ref: string } => ({ $ref: `#/components/headers/${name}` })
const REQUEST_ID: Headers = { 'x-request-id': header('RequestId') }

const SAID: Readonly<Record<number, string>> = {
  200: 'Done.',
  201: 'Created.',
  202: 'Accepted: it is done later.',
  206: 'The range that was asked for.',
  304: 'The client has it as it is.',
  400: 'The request is not as it must be; `details` name every field that is wrong.',
  401: 'The credential is missing, unknown, expired or revoked.',
  403: 'The credential does not permit it.',
  404: 'It does not exist, or belongs to another account.',
  408: 'The request did not arrive in time.',
  409: 'It cannot be done as things stand.',
  412: 'It is not the one that the request names.',
  413: 'It is too large.',
  415: 'This content type is not accepted here.',
  416: 'There is no such range.',
  417: 'An `Expect` that is not known.',
  422: 'It is well formed and cannot be done.',
  429: 'Too many of these, or too often; `Retry-After` says when to try again.',
  431: 'Too many headers, or too large ones.',
  500: 'Our own fault; the log has the cause under the request id.',
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
  const own = errorsOf(spec)
  // Malformed HTTP, unknown addresses and other methods are not about this route.
  const { 404: _elsewhere, 405: _otherMethod, 400: _notHttp, 429: _whereCounted, ...others } = EDGE_ERRORS
  const edge: ErrorsByStatus = spec.params ? { ...others, 400: ['invalid_path'] } : others
  const all = new Map([...own].map(([status, codes]) => [status, new Set(codes)]))
  for (const [status, codes] of Object.entries(edge)) {
    const known = all.get(Number(status)) ?? new Set()
    for (const code of codes) known.add(code)
    all.set(Number(status), known)
  }
  return new Map([...all].sort(([one], [other]) => one - other))
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
  const description = SAID[status] ?? 'Done.'
  if (status === 304) return { description, headers }
  const shown = spec.examples.filter((each) => each.status === status && each.answer !== undefined)
  const examples = Object.fromEntries(
    shown.map((each, place) => [exampleName(each, place), { value: each.answer }] as const),
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
    description: `${SAID[status] ?? 'An error.'} ${counted(codes)} ${[...codes].map((code) => `\`${code}\``).join(', ')}.`,
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
