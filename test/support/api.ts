// The client of the HTTP interface for tests. It knows where the producer listens and which key to show, and inspects every
// answer. By address it sends anything, wrong input too; by a route of the table, request and answer have the table's types.
import { expect } from 'vitest'
import { z } from 'zod'
import type { RouteSpec } from '../../src/producer/route.ts'
import { type Inspected, inspect } from './declared-routes.ts'

type Head = Readonly<Record<string, string>>

export interface Api {
  /** The same client with another key, or with none. */
  as: (key: string | undefined) => Api
  get: (path: string, headers?: Head) => Promise<Inspected>
  delete: (path: string, headers?: Head) => Promise<Inspected>
  /** Text, bytes, a form and a stream are sent as they are, anything else as JSON. */
  post: (path: string, body?: unknown, headers?: Head) => Promise<Inspected>
  put: (path: string, body?: unknown, headers?: Head) => Promise<Inspected>
  patch: (path: string, body?: unknown, headers?: Head) => Promise<Inspected>
  request: (method: string, path: string, body?: unknown, headers?: Head) => Promise<Inspected>
  /** The answer before its body is read: for streams, downloads and what is hung up on. */
  open: (path: string, init?: RequestInit) => Promise<Response>
  /** Calls a route of the table, which must not refuse, and returns the body of its answer. */
  call: <const R extends RouteSpec>(route: R, ...asked: Asked<R>) => Promise<BodyOf<R>>
}

type Fields<S extends z.ZodType> = Partial<Record<keyof z.input<S>, string | number>>

type AskedOf<R extends RouteSpec> = { headers?: Head } & (R extends { params: infer S extends z.ZodType }
  ? { params: Required<Fields<S>> }
  : object) &
  (R extends { query: infer S extends z.ZodType } ? { query?: Fields<S> } : object) &
  (R['body'] extends { as: 'json'; schema: infer S extends z.ZodType }
    ? R['body'] extends { mayBeAbsent: true }
      ? { body?: z.input<S> }
      : { body: z.input<S> }
    : object)

type Asked<R extends RouteSpec> = object extends AskedOf<R> ? [asked?: AskedOf<R>] : [asked: AskedOf<R>]

type BodyOf<R extends RouteSpec> = {
  [S in keyof R['answers']]: R['answers'][S] extends z.ZodType
    ? z.output<R['answers'][S]>
    : R['answers'][S] extends { schema: infer J extends z.ZodType }
      ? z.output<J>
      : never
}[keyof R['answers']]

/** A client of the producer at `url`, with this key or without one. */
export function apiClient(url: string, key?: string): Api {
  const withKey = (headers: RequestInit['headers'] = {}) => {
    const all = new Headers(headers)
    if (key !== undefined && !all.has('authorization')) all.set('authorization', `Bearer ${key}`)
    return all
  }

  function request(method: string, path: string, body?: unknown, headers: Head = {}): Promise<Inspected> {
    const head = withKey(headers)
    if (body === undefined) return inspect(url + path, { method, headers: head })
    if (isRaw(body)) return inspect(url + path, { method, headers: head, body, duplex: 'half' })
    if (!head.has('content-type')) head.set('content-type', 'application/json')
    return inspect(url + path, { method, headers: head, body: JSON.stringify(body) })
  }

  async function call(route: RouteSpec, asked: LooselyAsked = {}): Promise<unknown> {
    const { params = {}, query = {}, body, headers } = asked
    const search = new URLSearchParams(
      Object.entries(query).map(([name, value]): [string, string] => [name, String(value)]),
    )
    const path = route.path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name])))
    const answer = await request(route.method.toUpperCase(), `${path}?${search}`, body, headers)
    expect(answer.status, `${route.method} ${path}: ${answer.text}`).toBeLessThan(400)
    const described = route.answers[answer.status]
    const schema = described instanceof z.ZodType ? described : described?.schema
    if (schema === undefined) throw new Error(`${route.method} ${path} answers no JSON with ${answer.status}`)
    return schema.parse(answer.json)
  }

  return {
    as: (other) => apiClient(url, other),
    get: (path, headers) => request('GET', path, undefined, headers),
    delete: (path, headers) => request('DELETE', path, undefined, headers),
    post: (path, body, headers) => request('POST', path, body, headers),
    put: (path, body, headers) => request('PUT', path, body, headers),
    patch: (path, body, headers) => request('PATCH', path, body, headers),
    request,
    open: (path, init) => fetch(url + path, { ...init, headers: withKey(init?.headers) }),
    // The types of a call follow from its route, as its schemas do, which have read the answer.
    call: call as Api['call'],
  }
}

/** What the types say of a call, for any route. */
interface LooselyAsked {
  params?: Readonly<Record<string, string | number>>
  query?: Readonly<Record<string, string | number>>
  body?: unknown
  headers?: Head
}

const isRaw = (body: unknown): body is string | Uint8Array<ArrayBuffer> | FormData | ReadableStream =>
  typeof body === 'string' || body instanceof Uint8Array || body instanceof FormData || body instanceof ReadableStream
