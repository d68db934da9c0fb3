// What a route is: data from which the Express application, the description of the interface and tests are made. The table
// of all is api/table.ts; what a route does is its handler, bound to it by bind.ts.

import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Readable } from 'node:stream'
import type { Request } from 'express'
import type { z } from 'zod'
import type { Credential } from '../accounts/credentials.ts'
import type { FileStore } from '../files/store.ts'
import type { Actor } from '../model/accounts/audit-log.ts'
import type { Permission } from '../model/accounts/permissions.ts'
import type { ErrorsByStatus } from './error-codes.ts'

/**
 * Where the credential travels and what it must permit. Pages of the console send the cookie of a session instead,
 * wherever a key is taken. `open` routes check what they need themselves: health, the
 * public URL of a gallery file, a provider's signed webhook.
 */
export type Access =
  | { in: 'api_key'; permission: Permission; missing?: 400 }
  | {
      in: 'bearer'
      permission: Permission
      /** Any of these will do as well. */
      also?: readonly Permission[]
      /** An operator may name no account, and then acts on all of the installation (acting-account.ts). */
      withoutAccount?: true
      /** An operator may name a removed account that something is kept of. */
      removedToo?: true
    }
  | { in: 'open'; why: string }

/** A JSON object of up to `limit` bytes (256 KB unless said). */
export interface JsonBody {
  as: 'json'
  /** What the object must be, without `api_key`. */
  schema: z.ZodObject | z.ZodType<Record<string, unknown>>
  /**
   * The schema only describes the body: the code that the handler calls reads it, because that reads the same from elsewhere
   * too (the intake queue, a batch) or judges it together with what the account has.
   */
  readBy?: 'handler'
  /**
   * Fields that the schema does not know are ignored and named in `x-laneway-ignored`, unless they are misspelt or the account
   * refuses them; of a body that a handler reads, it does so.
   */
  unknown?: 'named'
  limit?: number
  /** A request without a body is one with `{}`. */
  mayBeAbsent?: true
  /** Throws an ApiError for a body whose error is not that of a field, before the schema reads it. */
  refuse?: (body: Readonly<Record<string, unknown>>) => void
}

/**
 * How the body is taken. `ignored` takes any or none. `stream` leaves reading to the handler, which refuses other content
 * types; its `limit` is of bytes, unless the setting of that name gives another.
 */
export type BodyRule =
  | JsonBody
  | { as: 'raw'; schema: z.ZodType; limit: number }
  | { as: 'ignored' }
  | {
      as: 'stream'
      contentTypes: readonly string[]
      limit: number
      setting?: string
      /** For the description only. */
      schema?: z.ZodType
    }

/** An answer that is not one JSON object held in memory: bytes, or JSON that is written in pieces. */
export interface BytesSchema {
  /** Of the header Content-Type without parameters; `*` is any. */
  contentTypes: readonly string[]
  /** Of JSON in pieces. */
  schema?: z.ZodType
}

/** A request and its answer, for people and for tests. */
export interface Example {
  /** Parameters of the path and the query, where there are any. */
  params?: Readonly<Record<string, string>>
  query?: Readonly<Record<string, string>>
  headers?: Readonly<Record<string, string>>
  /** What distinguishes it from other examples of the route. */
  name?: string
  /** Without `api_key`. */
  body?: object
  /** The body of a `stream` route. */
  text?: string
  status: number
  /** The sentence of the answer. */
  says?: string
  /** If it cannot be made from the schema (openapi/sample.ts). */
  answer?: unknown
}

/** A route as data: all that is needed to serve, check and document it, except its handler. */
export interface RouteSpec {
  method: 'get' | 'post' | 'put' | 'patch' | 'delete'
  /** Express path. */
  path: string
  /** The same address with its parameter left out, whose answer is that it is missing. */
  alsoAt?: string
  /** One sentence. */
  summary: string
  /** More sentences for the description. */
  details?: string
  access: Access
  /**
   * Takes keys that are for some senders only; the handler checks the sender. All other routes refuse such keys.
   */
  forSenders?: true
  /** Refused while the reserve of disk or memory is touched, see reserve.ts; `handler`: its handler calls `assertRoom` where it applies. */
  takesRoom?: true | 'handler'
  /**
   * The name of the act in the audit log, such as `lane.pause`. Its target is the last parameter of the path, or the `id` in
   * the answer, unless the handler names another one.
   */
  act?: string
  /** Offered to agents (`laneway mcp`): to look, or to prepare what only a person starts. */
  mcp?: 'read' | 'draft'
  params?: z.ZodObject
  /** Without one, the query is ignored. */
  query?: z.ZodObject
  /** Names as people write them; other headers are ignored. */
  headers?: z.ZodObject
  body: BodyRule
  /** By status. Exact: an answer has no field that is not here. */
  answers: Readonly<Record<number, z.ZodType | BytesSchema>>
  /** Besides those that every route of its kind may answer; see `errorsOf` in openapi/operation-answers.ts. */
  errors?: ErrorsByStatus
  examples: readonly Example[]
}

/** Keeps the exact type of a route, from which the types of its handler follow. */
export const route = <const R extends RouteSpec>(spec: R): R => spec

/**
 * The key that a request came with, and as `account` the one that it acts for: NO_ACCOUNT on `open` routes, and for an
 * operator that names none.
 */
export interface Caller extends Credential {
  /** The session used in place of the key: its id, and when it ends (epoch ms). */
  session?: { id: string; expiresAtMs: number }
}

type Parsed<S> = S extends z.ZodType ? z.output<S> : Readonly<Record<string, never>>

type BodyOf<B extends BodyRule> = B extends { readBy: 'handler' }
  ? Record<string, unknown>
  : B extends { as: 'json'; schema: infer S }
    ? Parsed<S>
    : undefined

/** The body of a `stream` route: a request of HTTP, or in this process a file (in-process.ts). */
export interface StreamedBody extends Readable {
  readonly headers: IncomingHttpHeaders
  /** Whether it has come to its announced end. */
  readonly complete: boolean
  readonly socket: Socket
}

/** What came in the address and the head of a request, as Express has it. */
export type RequestFields = Pick<Request, 'params' | 'query' | 'headers'>

/**
 * All that is known of a request: filled in by app.ts, or by in-process.ts for one without HTTP. Its fields are read by the schemas
 * of its route (bind.ts) before a handler gets it.
 */
export interface RequestContext<
  Params = unknown,
  Query = unknown,
  Headers = unknown,
  Body = unknown,
  Incoming = unknown,
> {
  request: RequestFields
  requestId: string
  caller: Caller
  params: Params
  query: Query
  headers: Headers
  body: Body
  /** The JSON object as it came, to distinguish a repeat from another request; `{}` where the route takes none. */
  sent: Record<string, unknown>
  /** The unparsed bytes of a `raw` route. */
  raw: Buffer
  /** The body of a `stream` route, still to be read. */
  incoming: Incoming
  /** Rejects once the key is no longer good, or the session over: for answers that take long. Of a key in a header. */
  assertStillAllowed: () => Promise<unknown>
  /** The address that the client reached the service at, without a slash at its end. */
  origin: () => string
  /** Whether the account wants no unknown fields at the addresses of the older interface either. */
  refusesUnknownFields: () => Promise<boolean>
  /** Rejects while the reserve of disk or memory is touched, for routes with `takesRoom: 'handler'`. */
  assertRoom: () => Promise<void>
  /** The network address of the client, see gate.ts. */
  peer: () => string
  /** The same pieces, each made when the account has a free permit (overload/semaphore.ts): for long answers. */
  inPieces: <T>(source: AsyncIterable<T>) => AsyncGenerator<T>
  /** Whether the client has hung up. */
  isGone: () => boolean
  /** Of a route with an `act`: adds to the entry of the audit log, or drops it because nothing was done. */
  audit: (what: AuditEntry | 'nothing') => void
}

/** What only the handler knows of an act: ids, names, words and figures; never a phone number, a text or a secret. */
export interface AuditEntry {
  target?: string | undefined
  detail?: string | undefined
  /** The account, if it is not the caller's. */
  account?: number
  /** The name of the act, where the route has several. */
  action?: string
  /** Who did it, on a route that anybody may call. */
  actor?: Actor
}

export type ContextOf<R extends RouteSpec> = RequestContext<
  Parsed<R['params']>,
  Parsed<R['query']>,
  Parsed<R['headers']>,
  BodyOf<R['body']>,
  R['body'] extends { as: 'stream' } ? StreamedBody : undefined
>

/** An answer in JSON, of up to a few MB. */
export interface JsonAnswer {
  status?: number
  headers?: Readonly<Record<string, string>>
  body: object
}

/** Bytes as fast as the client reads them. The first should be at hand: after that, an error can only cut the answer off. */
export interface StreamAnswer {
  headers: Readonly<Record<string, string>>
  stream: Readable
  /** The name under which a browser is to save it, instead of showing it. */
  saveAs?: string
}

/** Text, answered with 200, or with 304 where it has an ETag that the client names. Plain, unless a header says otherwise. */
export interface TextAnswer {
  /** Another status than those. */
  status?: number
  headers?: Readonly<Record<string, string>>
  /** Bytes are shared, and not held once for each slow reader. */
  text: string | Buffer
}

/** A file that is kept, whole or the requested range. */
export interface FileAnswer {
  headers: Readonly<Record<string, string>>
  file: { files: FileStore; name: string; etag: string; saveAs: string | undefined }
}

export type Answer = JsonAnswer | StreamAnswer | TextAnswer | FileAnswer

type Headers = Readonly<Record<string, string>>

type AnswerWith<S, T> = T extends z.ZodType
  ? S extends 200
    ? { status?: 200; headers?: Headers; body: z.output<T> }
    : { status: S; headers?: Headers; body: z.output<T> }
  : StreamAnswer | TextAnswer | FileAnswer

/** What a handler may answer: a status of its route with the body of that status. */
export type AnswerOf<R extends RouteSpec> = {
  [S in keyof R['answers']]: AnswerWith<S, R['answers'][S]>
}[keyof R['answers']]

export type Handler<R extends RouteSpec> = (context: ContextOf<R>) => Promise<AnswerOf<R>>

/** A handler for each route of a family. */
export type Handlers<T extends Readonly<Record<string, RouteSpec>>> = { [K in keyof T]: Handler<T[K]> }
