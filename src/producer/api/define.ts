// Builders of routes: what a feature's routes share is given once, and what follows from method, path or answer is derived.
import { z } from 'zod'
import type { Access, BodyRule, Example, RouteSpec } from '../route.ts'
import { done } from './answers.ts'
import { idempotencyHeaders, noFields } from './fields.ts'

/** What all routes of a feature share; a route may override it. */
interface Shared {
  access: Access
  forSenders?: true
  /** Of routes whose path has parameters. */
  params?: z.ZodObject
  /** Values of those parameters in the examples. */
  shown?: Readonly<Record<string, string>>
}

/** An example in short: with `data`, the answer is put into the envelope of our own addresses. */
export interface ShortExample extends Partial<Example> {
  /** Without `says`, a page of a list. */
  data?: unknown
  next?: string
}

type Optional = 'access' | 'forSenders' | 'alsoAt' | 'details' | 'takesRoom' | 'act' | 'mcp' | 'errors'

/** What a route has besides its method, path and sentence. */
export interface Given extends Partial<Pick<RouteSpec, Optional | 'params' | 'query' | 'headers' | 'answers'>> {
  /** A schema is a JSON body. Without one, GET and DELETE take none and others an empty one that may be left out. */
  body?: BodyRule | z.ZodObject | z.ZodType<Record<string, unknown>>
  /** Takes the header Idempotency-Key. */
  idempotent?: true
  /** Without any, one request that brings the first answer. */
  examples?: readonly ShortExample[]
}

type Method = RouteSpec['method']
type HasParams<P extends string> = P extends `${string}:${string}` ? true : false

type BodyOf<M extends Method, G> = G extends { body: infer B }
  ? B extends z.ZodType
    ? { as: 'json'; schema: B }
    : B
  : M extends 'get' | 'delete'
    ? { as: 'ignored' }
    : { as: 'json'; schema: typeof noFields; mayBeAbsent: true }

type ParamsOf<P extends string, S, G> = G extends { params: z.ZodObject }
  ? { params: G['params'] }
  : HasParams<P> extends true
    ? S extends { params: z.ZodObject }
      ? { params: S['params'] }
      : object
    : object

type HeadersOf<G> = G extends { headers: z.ZodObject }
  ? { headers: G['headers'] }
  : G extends { idempotent: true }
    ? { headers: typeof idempotencyHeaders }
    : object

type Built<M extends Method, P extends string, S extends Shared, G> = {
  method: M
  path: P
  summary: string
  access: Access
  body: BodyOf<M, G>
  answers: G extends { answers: infer A } ? A : { 200: typeof done }
  examples: readonly Example[]
} & ParamsOf<P, S, G> &
  HeadersOf<G> &
  Pick<G, Extract<keyof G, Optional | 'query'>>

/** Builders of the routes of a feature, by method: `route.get(path, summary, what else)`. */
export function routesOf<const S extends Shared>({ params, shown, ...shared }: S) {
  const build =
    <const M extends Method>(method: M) =>
    <const P extends string, const G extends Given>(path: P, summary: string, given: G): Built<M, P, S, G> => {
      const { body, idempotent, examples = [{}], headers, errors, answers = { 200: done }, ...more }: Given = given
      const hasParams = path.includes(':')
      const [first] = Object.keys(answers)
      const spec: RouteSpec = {
        ...{ method, path, summary, ...shared },
        ...(hasParams && params && { params }),
        ...more,
        ...(idempotent ? { headers: headers ?? idempotencyHeaders } : headers && { headers }),
        ...(idempotent ? { errors: { ...errors, 422: [...(errors?.[422] ?? []), REUSED] } } : errors && { errors }),
        body: bodyOf(method, body),
        answers,
        examples: examples.map((each) => ({
          status: Number(first),
          ...(hasParams && shown && { params: shown }),
          ...whole(each),
        })),
      }
      // The type is computed from what was given, as the object is.
      return spec as unknown as Built<M, P, S, G>
    }
  return { get: build('get'), post: build('post'), put: build('put'), patch: build('patch'), delete: build('delete') }
}

const REUSED = 'idempotency_key_reused'

function bodyOf(method: Method, body: Given['body']): BodyRule {
  if (body instanceof z.ZodType) return { as: 'json', schema: body }
  if (body !== undefined) return body
  return method === 'get' || method === 'delete' ? { as: 'ignored' } : orNothing(noFields)
}

/** A JSON body that may be left out. */
export const orNothing = <S extends z.ZodObject>(schema: S) => ({ as: 'json', schema, mayBeAbsent: true }) as const

function whole({ data, next = null, ...example }: Omit<ShortExample, 'next'> & { next?: string | null }) {
  if (data === undefined) return example
  const { says: message } = example
  return { ...example, answer: message === undefined ? { status: true, data, next } : { status: true, message, data } }
}
