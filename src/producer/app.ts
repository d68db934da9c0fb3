// Builds the Express application from the routes. Order of checks: route (404), method (405), credential (401) and
// permission (403), body readable (415, 413, 400), where the credential is in the body the other way round; then the
// route's own: fields (400, 422), existence (404).
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express'
import express from 'express'
import type { Log } from '../log.ts'
import { answerJson, refuse, requestIdOf } from './answer.ts'
import { ApiError } from './errors.ts'
import { type Edge, exchange } from './exchange.ts'
import type { Answer, DirectRoute, Route } from './route.ts'

/** The application, not yet listening. `dashboard` is mounted at its own path and does its own login. */
export function buildApp(
  deps: {
    log: Log
    routes: readonly (Route | DirectRoute)[]
    dashboard?: { path: string; handler: RequestHandler }
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
  if (deps.dashboard) app.use(deps.dashboard.path, deps.dashboard.handler)
  for (const path of new Set(deps.routes.map((route) => route.path))) {
    const routes = deps.routes.filter((route) => route.path === path)
    const at = app.route(path)
    for (const route of routes) at[route.method](handlerOf(route, edge))
    const allow = routes.map((route) => route.method.toUpperCase()).join(', ')
    at.all(() => {
      throw new ApiError(405, 'method_not_allowed', `This address takes ${allow} only.`, { headers: { Allow: allow } })
    })
  }
  app.use((request) => {
    throw new ApiError(404, 'no_such_route', `There is nothing at ${request.method} ${shown(request.path)}.`)
  })
  app.use((error: unknown, _request: Request, response: Response, _next: NextFunction) => {
    refuse(error, response, String(response.locals.requestId), deps.log)
  })
  return app
}

/** Gives every request an id and answers with it. */
const nameRequest: RequestHandler = (request, response, next) => {
  const id = requestIdOf(request)
  response.locals.requestId = id
  response.setHeader('x-request-id', id)
  next()
}

function handlerOf(route: Route | DirectRoute, edge: Edge): RequestHandler {
  return async (request, response) => {
    const answer = await exchange<Answer>(edge, route, request, response, (taken) =>
      route.handle({
        ...taken,
        params: Object.fromEntries(Object.entries(request.params).map(([name, value]) => [name, String(value)])),
        query: request.query,
        requestId: String(response.locals.requestId),
        header: (name) => request.get(name),
        request,
      }),
    )
    if (answer !== undefined) await reply(answer, response)
  }
}

async function reply(answer: Answer, response: Response): Promise<void> {
  if ('write' in answer) return answer.write(response)
  answerJson(response, String(response.locals.requestId), answer)
}

const shown = (path: string): string => (path.length > 100 ? `${path.slice(0, 100)}…` : path)
