// The Express application. Every request is checked in the order of this file: id, headers, the rate of its address (429);
// path (404) and method (405); then `serve`: kind and length of the body (415, 413), a key in the header of a large
// body, the body (400), the key (401), its permission (403), its rate (429), and the route's own: fields (400, 422),
// existence (404).
import type { IncomingMessage } from 'node:http'
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express'
import express from 'express'
import { cachedAccount } from '../accounts/accounts.ts'
import type { Log } from '../kernel/log.ts'
import { ACCOUNT_HEADER } from './acting-account.ts'
import { answerJson, refuse, requestIdOf } from './answer.ts'
import { authorise } from './authorise.ts'
import type { AppendAudit, Route } from './bind.ts'
import { assertContent, isUsualBody, readBody } from './body.ts'
import { ApiError } from './errors.ts'
import type { Gate } from './gate.ts'
import { HEADERS_MAX } from './http-server.ts'
import { createPerAccountSemaphores } from './overload/semaphore.ts'
import { setRateHeaders } from './rate-headers.ts'
import type { Answer, Caller, RequestContext } from './route.ts'
import { reportRefusal } from './security-log.ts'
import { sendFile, sendStream } from './send-bytes.ts'

/** What an application is built from. `pages` gets what no route takes; the dashboard does its own login. */
export interface AppDeps {
  gate: Gate
  log: Log
  routes: readonly Route[]
  dashboard?: { path: string; handler: RequestHandler }
  pages?: RequestHandler
}

/** The application, not yet listening. */
export function buildApp({ gate, log, routes, dashboard, pages }: AppDeps): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  app.set('strict routing', true)
  app.set('case sensitive routing', true)

  app.use((request, response, next) => {
    // The connection was cut because of a flood of requests.
    if (request.socket.destroyed) return
    response.locals.requestId = requestIdOf(request)
    assertHeaders(request)
    const counted = gate.rates.ofAddress(request, response)
    if (counted === undefined) return next()
    const { requestId } = response.locals
    return counted.then(next, (error: unknown) => {
      reportRefusal(gate, error, { request, requestId })
      next(error)
    })
  })
  const answer = serve(gate)
  for (const path of new Set(routes.flatMap(pathsOf))) {
    const here = routes.filter((route) => pathsOf(route).includes(path))
    const at = app.route(path)
    for (const route of here) at[route.method]((request, response) => answer(route, request, response))
    const allow = here.map((route) => route.method.toUpperCase()).join(', ')
    at.all(() => {
      throw new ApiError(405, 'method_not_allowed', `Method not allowed; use ${allow}.`, { headers: { Allow: allow } })
    })
  }
  if (dashboard) app.use(dashboard.path, setHeaders, dashboard.handler)
  if (pages) app.use(setHeaders, pages)
  app.use((request) => {
    throw new ApiError(
      404,
      'no_such_route',
      `No route for ${request.method} ${shown(request.path)}; /docs lists them all.`,
    )
  })
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    refuse(error, response, String(response.locals.requestId), log)
  })
  return app
}

/** `HEAD` costs as much as the `GET` whose head it asks for. */
const READING: ReadonlySet<string> = new Set(['GET', 'HEAD'])

/** Answers requests to a route, or rejects with the reason for a refusal. */
function serve(gate: Gate) {
  const perAccount = createPerAccountSemaphores()

  return async (route: Route, request: Request, response: Response): Promise<void> => {
    const { access, body: rule } = route
    const requestId = String(response.locals.requestId)
    const authorised = (sent: Record<string, unknown>, late?: () => void): Promise<Caller> =>
      authorise(gate, access, request, sent, requestId, late)

    route.admit?.(request.headers)
    assertContent(request, rule)
    // The key comes second if it is in the body, or if the body is small enough to be read without one.
    const isKeyFirst = access.in === 'open' || (access.in === 'bearer' && !isUsualBody(rule))
    const early = isKeyFirst ? await authorised({}) : undefined
    if (early !== undefined) await admitCaller(gate, route, early, { request, response, requestId })
    const body = await readBody(request, response, rule)
    if (body === undefined) return
    try {
      // A delayed refusal gives up the body's permit and bytes.
      const caller = early ?? (await authorised(body.sent, body.release))
      if (early === undefined) await admitCaller(gate, route, caller, { request, response, requestId })
      // Node marks only the response that is being written as destroyed, and not those that wait behind it.
      const isWanted = (): boolean => !response.destroyed && !request.socket.destroyed
      // Field by field: putting objects together by spreading costs 15 µs here, for every message.
      const context: RequestContext = {
        request,
        requestId,
        caller,
        params: undefined,
        query: undefined,
        headers: undefined,
        body: undefined,
        incoming: rule.as === 'stream' ? request : undefined,
        sent: body.sent,
        raw: body.raw,
        assertStillAllowed: () => authorised({}),
        origin: () => `${request.protocol}://${request.get('host') ?? ''}`,
        refusesUnknownFields: async () =>
          (await cachedAccount(gate.redis, caller.account))?.unknown_fields === 'refuse',
        assertRoom: () => gate.reserve.assertForLarge(),
        peer: () => gate.addressOf(request),
        inPieces: (source) => perAccount.inPieces(caller.account, source, isWanted),
        isGone: () => request.socket.destroyed,
        audit: () => {},
      }
      const appendAudit: AppendAudit = (act) =>
        gate.security.appendAudit({ actor: { key_id: caller.id, key_name: caller.name }, requestId, ...act })
      // A route without a query reads one thing, which is cheap.
      const isRead = route.query !== undefined && READING.has(request.method) && access.in !== 'open'
      const handle = (): Promise<Answer> => route.handle(context, appendAudit)
      const answer = await (isRead ? perAccount.read(caller.account, handle, isWanted) : handle()).catch((error) => {
        reportRefusal(gate, error, { request, requestId, caller })
        throw error
      })
      if (answer !== undefined) await reply(answer, response, requestId)
    } finally {
      body.release()
    }
  }
}

/** Refuses requests that come too often or need room that is not there, before anything is done for them. */
async function admitCaller(
  gate: Gate,
  { access, forSenders, takesRoom }: Route,
  caller: Caller,
  { request, response, requestId }: { request: Request; response: Response; requestId: string },
): Promise<void> {
  try {
    const counted = access.in === 'open' ? undefined : gate.rates.ofCaller(caller, response)
    if (counted !== undefined) await counted
    if (takesRoom === true) await gate.reserve.assertForLarge()
    if (caller.senders.length > 0 && !forSenders) throw notForSenders()
  } catch (error) {
    reportRefusal(gate, error, { request, requestId, caller })
    throw error
  }
}

const notForSenders = (): ApiError =>
  new ApiError(
    403,
    'forbidden',
    'This key is for some senders only: it may send from them, look up their messages and control their lanes.',
  )

async function reply(answer: Answer, response: Response, requestId: string): Promise<void> {
  if ('body' in answer) return answerJson(response, requestId, answer)
  setCommonHeaders(response)
  if ('stream' in answer) return sendStream(response, answer)
  if ('file' in answer) return sendFile(response, answer)
  response
    .status(answer.status ?? 200)
    .type('text/plain')
    .set(answer.headers ?? {})
    .send(answer.text)
}

/** Headers of answers that are not JSON; answerJson writes those of JSON. */
function setCommonHeaders(response: Response): void {
  response.setHeader('x-request-id', String(response.locals.requestId))
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('Referrer-Policy', 'no-referrer')
  setRateHeaders(response)
}

const setHeaders: RequestHandler = (_request, response, next) => {
  setCommonHeaders(response)
  next()
}

/** Headers that may come only once: Node keeps the first of two or joins them, and a proxy in front may have read the second. */
const ONCE: ReadonlySet<string> = new Set(['host', 'authorization', 'content-type', 'idempotency-key', ACCOUNT_HEADER])

/** Throws an ApiError for ambiguous headers; Node itself would answer some without our error body. */
function assertHeaders({ rawHeaders, headers, httpVersion }: IncomingMessage): void {
  // Names and values in turn.
  if (rawHeaders.length > 2 * HEADERS_MAX) {
    throw new ApiError(431, 'too_many_headers', `A request has at most ${HEADERS_MAX} headers.`)
  }
  const seen = new Set<string>()
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = String(rawHeaders[at]).toLowerCase()
    if (!ONCE.has(name)) continue
    if (seen.has(name)) {
      throw new ApiError(400, 'invalid_http', `A request has the header ${name} only once.`, {
        headers: { Connection: 'close' },
      })
    }
    seen.add(name)
  }
  // Node reads chunks whatever other encoding is named, and a proxy in front may read something else.
  if ((headers['transfer-encoding'] ?? 'chunked').toLowerCase() !== 'chunked') {
    throw new ApiError(400, 'invalid_http', 'The only transfer encoding is chunked.', {
      headers: { Connection: 'close' },
    })
  }
  if (headers.host === undefined && httpVersion === '1.1') {
    throw new ApiError(400, 'invalid_http', 'A request has a header Host.')
  }
}

/** Every path that a route is at. */
const pathsOf = ({ path, alsoAt }: Pick<Route, 'path' | 'alsoAt'>): string[] =>
  alsoAt === undefined ? [path] : [path, alsoAt]

const shown = (path: string): string => (path.length > 100 ? `${path.slice(0, 100)}…` : path)
