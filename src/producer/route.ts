// What a route is. Routes are data: a table per family in routes/, from which app.ts builds the Express router, so
// that no route can exist without saying who may call it.
import type { Request, Response } from 'express'
import type { Credential, Permission } from '../store/credentials.ts'

/**
 * Where the credential travels and what it must permit. `open` routes check what they need themselves: health, the
 * public URL of a gallery file, a provider's signed webhook, the dashboard's login.
 */
export type Access =
  | { in: 'api_key'; permission: Permission; missing?: 400 }
  | { in: 'bearer'; permission: Permission }
  | { in: 'open'; why: string }

/**
 * How the body is taken. `json` needs an object of up to `limit` bytes (256 KB unless said), which a client may leave
 * out where it `mayBeAbsent`; `ignored` takes any or none; `stream` leaves reading to the handler, which sees the credential checked first.
 */
export type BodyRule =
  | { as: 'json'; limit?: number; mayBeAbsent?: true }
  | { as: 'raw'; limit: number }
  | { as: 'ignored' }
  | { as: 'stream' }

export interface Call {
  /** The parsed JSON object; `{}` when the route takes none. */
  body: Record<string, unknown>
  /** The unparsed bytes of a `raw` route. */
  raw: Buffer
  /** Path parameters as they came. */
  params: Record<string, string>
  query: Record<string, unknown>
  requestId: string
  /** Whose credential it is; the account 0 on `open` routes. */
  caller: Pick<Credential, 'account' | 'permissions'>
  request: Request
}

/** An answer: JSON of up to a few MB, or a function that writes it in pieces. */
export type Answer =
  | { status?: number; headers?: Record<string, string>; body: object }
  | { write: (response: Response) => Promise<void> }

export interface Route {
  method: 'get' | 'post' | 'put' | 'delete'
  /** Express path. */
  path: string
  access: Access
  body: BodyRule
  handle: (call: Call) => Promise<Answer>
}
