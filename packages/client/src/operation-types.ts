// The types of operations, computed from the routes of the service. Types only: the package has none of its schemas.
import type { z } from 'zod'
import type { CALLED_BY_OTHERS, FAMILIES } from '../../../src/producer/api/table.ts'
import type { BodyRule, RouteSpec } from '../../../src/producer/route.ts'

type Family = (typeof FAMILIES)[number]

/** Families of routes by their names. */
export type Families = {
  [F in Exclude<Family, { id: (typeof CALLED_BY_OTHERS)[number] }> as F['id']]: F['routes']
}

/** Numbers may be given for fields that travel as text. */
type Typed<V> = string extends V ? V | number : V

/** The fields of a path or a query. One without any has an index that would forbid all others. */
type Fields<S> = S extends z.ZodType
  ? string extends keyof z.input<S>
    ? object
    : { [K in keyof z.input<S>]: Typed<z.input<S>[K]> }
  : object

type BodyOf<B extends BodyRule> = B extends { as: 'json'; schema: infer S extends z.ZodType }
  ? B extends { mayBeAbsent: true }
    ? { body?: z.input<S> }
    : { body: z.input<S> }
  : B extends { as: 'stream' }
    ? { body: Uint8Array | FormData; contentType?: string }
    : object

type KeyOf<H> =
  H extends z.ZodObject<infer Shape>
    ? 'Idempotency-Key' extends keyof Shape
      ? { idempotencyKey?: string }
      : object
    : object

/** The fields of its path and its query, its body, and the key that makes a repeat the same request. */
export type InputOf<R extends RouteSpec> = Fields<R['params']> &
  Fields<R['query']> &
  BodyOf<R['body']> &
  KeyOf<R['headers']> & { timeoutMs?: number }

type Answered<A> = {
  [S in keyof A]: A[S] extends z.ZodType
    ? z.output<A[S]>
    : A[S] extends { schema: infer J extends z.ZodType; contentTypes: readonly ['application/json'] }
      ? z.output<J>
      : Response
}[keyof A]

/** JSON as the description has it, or the response itself where it is bytes. */
export type AnswerOf<R extends RouteSpec> = Answered<R['answers']>

type Call<R extends RouteSpec> =
  object extends InputOf<R> ? (input?: InputOf<R>) => Promise<AnswerOf<R>> : (input: InputOf<R>) => Promise<AnswerOf<R>>

/** Of every operation the call. */
export type OperationsOfTable = {
  [F in keyof Families]: {
    [K in keyof Families[F]]: Families[F][K] extends RouteSpec ? Call<Families[F][K]> : never
  }
}
