// A resource: a thing that an account has several of, such as portfolios. Its fields are declared once (`shapeOf`), and its usual routes follow
// from them: list, create, show, change, remove. From these follows all that is made of the table: checks, the description, acts of the
// audit log, verbs, forms and tables, calls of the clients, tools of agents. A route of it that is not usual is built by `ofOne`.
import { z } from 'zod'
import type { Access } from '../route.ts'
import { made, named, one, page } from './answers.ts'
import { type Given, routesOf } from './define.ts'
import { changesOf, idPageQuery, noFields } from './fields.ts'

/** Fields by their names. */
type Fields = Readonly<Record<string, z.ZodType>>
type Plain<S> = S extends z.ZodDefault<infer Inner extends z.ZodType> ? Inner : S
type PlainOf<F> = { -readonly [K in keyof F]: Plain<F[K]> }

/** The fields without their defaults: as they are shown, and as they are changed, where one that is not given stays. */
function plainOf<const F extends Fields>(fields: F): PlainOf<F> {
  const plain = Object.entries(fields).map(([name, field]) => [
    name,
    field instanceof z.ZodDefault ? field.unwrap() : field,
  ])
  // The type is computed from the fields, as the object is.
  return Object.fromEntries(plain) as PlainOf<F>
}

/**
 * The schemas of a resource whose fields are shown as they are given: `document`, its public form, by its name in the description; `given`,
 * what makes one; `changes`. `fixed` is known of it from the start and shown first, `facts` are what happens to it.
 */
export function shapeOf<const Fixed extends Fields, const F extends Fields, const Facts extends Fields>(
  name: string,
  { fixed, fields, facts }: { fixed: Fixed; fields: F; facts: Facts },
) {
  const plain = plainOf(fields)
  return {
    document: named(name, { ...fixed, ...plain, ...facts }),
    given: z.strictObject(fields),
    changes: changesOf(plain),
  }
}

/** What a usual route may have besides what follows from its resource, or instead of it. */
type More = Partial<Given>

/**
 * The builders of the usual routes of a resource. Each takes the sentence of its route, and what that has besides, or in its own way:
 * details, errors, examples.
 */
export function resource<
  const Id extends z.ZodRawShape,
  D extends z.ZodType,
  G extends z.ZodType<Record<string, unknown>> = typeof noFields,
  C extends z.ZodType<Record<string, unknown>> = typeof noFields,
  Q extends z.ZodObject = typeof idPageQuery,
>({
  noun,
  at,
  look,
  change = look,
  knowsItsAccount,
  mcp,
  params,
  shown,
  document,
  ...said
}: {
  /** `portfolio`: its acts are `portfolio.create` and the like. */
  noun: string
  /** The address of all; that of one is below it. */
  at: string
  /** How one is named in a path, and one for the examples. */
  params: z.ZodObject<Id>
  shown: Readonly<Record<string, string>>
  /** Who may look at it; who may change it, where that is another right. */
  look: Access
  change?: Access
  /** Each says whose it is: an operator need not name the account. */
  knowsItsAccount?: true
  /** Its schemas, mostly from `shapeOf`. */
  document: D
  given?: G
  changes?: C
  /** How its list is asked for, if not by pages of ids. */
  query?: Q
  /** Agents may look at it. */
  mcp?: 'read'
}) {
  const accessOfOne = (access: Access): Access =>
    knowsItsAccount && access.in === 'bearer' ? { ...access, withoutAccount: true } : access
  const ofOne = routesOf({ access: accessOfOne(change), shown, params })
  const lookAtOne = routesOf({ access: accessOfOne(look), shown, params })
  const path = `${at}/:${Object.keys(params.shape).at(-1)}`
  const marked = mcp === undefined ? {} : { mcp }
  // Where there is none of its own, these are the usual ones, and their types are.
  const query = (said.query ?? idPageQuery) as Q
  const given = (said.given ?? noFields) as G
  const changes = (said.changes ?? noFields) as C
  return {
    ofOne,
    list: <const M extends More>(summary: string, more: M) =>
      routesOf({ access: look }).get(at, summary, over({ query, answers: page(document), ...marked }, more)),
    create: <const M extends More>(summary: string, more: M) =>
      routesOf({ access: change }).post(
        at,
        summary,
        over({ act: `${noun}.create`, idempotent: true, body: given, answers: made(document) }, more),
      ),
    show: <const M extends More>(summary: string, more: M) =>
      lookAtOne.get(
        path,
        summary,
        over({ params, answers: one(document), examples: [{ says: noun }], ...marked }, more),
      ),
    change: <const M extends More>(summary: string, more: M) =>
      ofOne.patch(path, summary, over({ params, act: `${noun}.change`, body: changes, answers: one(document) }, more)),
    remove: <const M extends More>(summary: string, more: M) =>
      ofOne.delete(path, summary, over({ params, act: `${noun}.remove`, examples: [{ says: 'removed' }] }, more)),
  }
}

/** What is usual, and what the route has in its own way in place of it. */
function over<const U extends More, const M extends More>(usual: U, more: M): Omit<U, keyof M> & M {
  // The type is that of the object: what `more` has stands for what is usual.
  return { ...usual, ...more } as Omit<U, keyof M> & M
}
