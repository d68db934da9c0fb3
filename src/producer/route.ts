// What a route is. Routes are data: a table per family in routes/, from which app.ts builds the Express router, so
// that no route can exist without saying who may call it.
import type { IncomingHttpHeaders } from 'node:http'
import type { Request, Response } from 'express'
import type { Credential, Permission } from '../accounts/store/credentials.ts'

/**
 * Where the credential travels and what it must permit. `open` routes check what they need themselves: health, the
 * public URL of a gallery file, a provider's signed webhook, the dashboard's login. Their `admit` looks at the headers
 * before the body is read, and throws an ApiError when they cannot be right.
 */
export type Access =
  | { in: 'api_key'; permission: Permission; missing?: 400 }
  | { in: 'bearer'; permission: Permission }
  | { in: 'open'; why: string; admit?: (headers: IncomingHttpHeaders) => void }

/**
 * How the body is taken. `json` needs an object of up to `limit` bytes (256 KB unless said), which a client may leave
 * out where it `mayBeAbsent`; `ignored` takes any or none; `stream` leaves reading to the handler, which sees the credential checked first.
 */
export type BodyRule =
  | { as: 'json'; limit?: number; mayBeAbsent?: true }
  | { as: 'raw'; limit: number }
  | { as: 'ignored' }
  | { as: 'stream' }

/** What a request brings to any handler. */
export interface PlainCall {
  /** The parsed JSON object; `{}` when the route takes none. */
  body: Record<string, unknown>
  /** The unparsed bytes of a `raw` route. */
  raw: Buffer
  requestId: string
  /** Whose credential it is; the account 0 on `open` routes. */
  caller: Pick<Credential, 'account' | 'permissions'>
  /** A header by its name in lower case. */
  header: (name: string) => string | undefined
}

export interface Call extends PlainCall {
  /** Path parameters as they came. */
  params: Record<string, string>
  query: Record<string, unknown>
  request: Request
}

/** An answer in JSON, of up to a few MB. */
export interface PlainAnswer {
  status?: number
  headers?: Record<string, string>
  body: object
}

/** An answer in JSON, or a function that writes it in pieces. */
export type Answer = PlainAnswer | { write: (response: Response) => Promise<void> }

export interface Route {
  method: 'get' | 'post' | 'put' | 'delete'
  /** Express path. */
  path: string
  access: Access
  body: BodyRule
  handle: (call: Call) => Promise<Answer>
}

/** A busy route, to a path without parameters, whose requests are answered without Express where they are in order. */
export interface DirectRoute {
  direct: true
  method: 'post'
  path: string
  access: Access
  body: Extract<BodyRule, { as: 'json' | 'raw' }>
  handle: (call: PlainCall) => Promise<PlainAnswer>
}
