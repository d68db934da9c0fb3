// Builds the Express application from the routes. Order of checks: route (404), method (405), body readable (415, 413,
// 400), credential (401), permission (403); then the route's own: fields (400, 422), existence (404). Of bodies that may
// be larger than usual only the headers are looked at before the credential.
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express'
import express from 'express'
import type { Log } from '../log.ts'
import { answerJson, refuse, requestIdOf } from './answer.ts'
import type { Route } from './bind.ts'
import { ApiError } from './errors.ts'
import { type Edge, exchange } from './exchange.ts'
import { setRateHeaders } from './rate-headers.ts'
import type { Answer } from './route.ts'
import { sendFile, sendStream } from './send-bytes.ts'

/**
 * The application, not yet listening. `dashboard` is mounted at its own path and does its own login; `pages` gets what no
 * route takes.
 */
export function buildApp(
  deps: {
    log: Log
    routes: readonly Route[]
    dashboard?: { path: string; handler: RequestHandler }
    pages?: RequestHandler
  },
  edge: Edge,
): Express {
  const app = express()
  app.disable('x-powered-by')
  app.disable('etag')
  app.set('query parser', 'simple')
  app.set('strict routing', true)
  app.set('case sensitive routing', true)
  app.use(nameRequest)
  if (deps.dashboard) app.use(deps.dashboard.path, tellRates, deps.dashboard.handler)
  for (const path of new Set(deps.routes.flatMap(pathsOf))) {
    const routes = deps.routes.filter((route) => pathsOf(route).includes(path))
    const at = app.route(path)
    for (const route of routes) at[route.method](handlerOf(route, edge))
    const allow = routes.map((route) => route.method.toUpperCase()).join(', ')
    at.all(() => {
      throw new ApiError(405, 'method_not_allowed', `Method not allowed; use ${allow}.`, { headers: { Allow: allow } })
    })
  }
  if (deps.pages) app.use(tellRates, deps.pages)
  app.use((request) => {
    throw new ApiError(404, 'no_such_route', `No route for ${request.method} ${shown(request.path)}.`)
  })
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    refuse(error, response, String(response.locals.requestId), deps.log)
  })
  return app
}

/** Gives every request an id and answers with it, and with what keeps a browser from making more of an answer than it is. */
const nameRequest: RequestHandler = (request, response, next) => {
  const id = requestIdOf(request)
  response.locals.requestId = id
  response.setHeader('x-request-id', id)
  response.setHeader('X-Content-Type-Options', 'nosniff')
  response.setHeader('Referrer-Policy', 'no-referrer')
  next()
}

/** For what writes its answer without answerJson. */
const tellRates: RequestHandler = (_request, response, next) => {
  setRateHeaders(response)
  next()
}

/** Every path that a route is at. */
const pathsOf = ({ path, alsoAt }: Pick<Route, 'path' | 'alsoAt'>): string[] =>
  alsoAt === undefined ? [path] : [path, alsoAt]

function handlerOf(route: Route, edge: Edge): RequestHandler {
  return async (request, response) => {
    const requestId = String(response.locals.requestId)
    const answer = await exchange(edge, route, request, response, requestId, (taken) =>
      route.handle({
        params: request.params,
        query: request.query,
        requestId,
        origin: () => `${request.protocol}://${request.get('host') ?? ''}`,
        request,
        ...taken,
      }),
    )
    if (answer !== undefined) await reply(answer, response)
  }
}

async function reply(answer: Answer, response: Response): Promise<void> {
  if ('body' in answer) return answerJson(response, String(response.locals.requestId), answer)
  setRateHeaders(response)
  if ('stream' in answer) return sendStream(response, answer)
  if ('file' in answer) return sendFile(response, answer)
  response
    .type('text/plain')
    .set(answer.headers ?? {})
    .send(answer.text)
}

const shown = (path: string): string => (path.length > 100 ? `${path.slice(0, 100)}…` : path)
