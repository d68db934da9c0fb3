// Answers requests to routes in this process, without HTTP, for the command line: the caller is an operator. What guards a port
// against strangers (rates, sizes, wrong keys) has no place here; what guards the data holds here too.
import { randomUUID } from 'node:crypto'
import { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { cachedAccount } from '../accounts/accounts.ts'
import { appendToAuditLog } from '../accounts/audit-log.ts'
import type { Config } from '../kernel/config.ts'
import type { Actor } from '../model/accounts/audit-log.ts'
import { NO_ACCOUNT, OPERATOR } from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { actingFor } from './acting-account.ts'
import type { Route } from './bind.ts'
import { createReserve } from './reserve.ts'
import type { Answer, Caller, RequestContext, StreamedBody } from './route.ts'

/** A request as it would travel over HTTP. */
export interface LocalRequest {
  /** The account that the operator acts for. */
  account?: string | undefined
  params: Readonly<Record<string, string>>
  query: Readonly<Record<string, string>>
  headers: Readonly<Record<string, string>>
  body: Record<string, unknown>
  /** The body of a route that takes a stream. */
  upload?: Upload | undefined
}

/** A body that is read as it comes, such as a file. */
export interface Upload {
  contentType: string
  pieces: AsyncIterable<Uint8Array>
}

/** Of no key, see `isHere`. */
const OPERATOR_HERE: Caller = {
  ...{ id: '', name: '', account: NO_ACCOUNT, expires_at: 0, created_at: 0, revoked: false },
  ...{ permissions: [OPERATOR], senders: [], addresses: [] },
}

/** Where the service is reached, where nothing says it. */
const USUAL_ADDRESS = 'http://localhost:3000'

/**
 * Opens the door for somebody whom the activity names as `actor`. The function that it returns answers a request, or rejects with the
 * handler's refusal.
 */
export function openHere({
  redis,
  config,
  actor,
  name,
}: {
  redis: Redis
  config: Pick<Config, 'reserve' | 'dataDir' | 'publicUrl'>
  actor: Actor
  /** What lists call who acts here. */
  name: string
}): (route: Route, request: LocalRequest) => Promise<Answer> {
  const reserve = createReserve(redis, config)
  const here = { ...OPERATOR_HERE, name }
  return async (route, { account, params, query, headers, body, upload }) => {
    const { access, takesRoom } = route
    const caller = access.in === 'open' ? here : await actingFor(redis, here, access, account)
    if (takesRoom === true) await reserve.assertForLarge()
    const requestId = randomUUID()
    const context: RequestContext = {
      request: { params: { ...params }, query: { ...query }, headers: lowerCased(headers) },
      requestId,
      caller,
      params: undefined,
      query: undefined,
      headers: undefined,
      body: undefined,
      incoming: upload && streamedBody(upload),
      sent: body,
      raw: Buffer.alloc(0),
      assertStillAllowed: async () => undefined,
      origin: () => config.publicUrl ?? USUAL_ADDRESS,
      refusesUnknownFields: async () => (await cachedAccount(redis, caller.account))?.unknown_fields === 'refuse',
      assertRoom: () => reserve.assertForLarge(),
      peer: () => '',
      inPieces: (source) => all(source),
      isGone: () => false,
      audit: () => {},
    }
    return route.handle(context, (act) => appendToAuditLog(redis, { actor, requestId, ...act }, Date.now()))
  }
}

/** Nobody waits for a slow line here, so that it counts as complete from its beginning. */
const streamedBody = ({ contentType, pieces }: Upload): StreamedBody =>
  Object.assign(Readable.from(pieces, { objectMode: false }), {
    headers: { 'content-type': contentType },
    complete: true,
    socket: new Socket(),
  })

async function* all<T>(source: AsyncIterable<T>): AsyncGenerator<T> {
  yield* source
}

const lowerCased = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))
