// Builds the Express application from the routes. Order of checks: route (404), method (405), body readable (415, 413,
// 400), credential (401), permission (403); then the route's own: fields (400, 422), existence (404).
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express'
import express from 'express'
import type { Log } from '../log.ts'
import type { Redis } from '../store/redis.ts'
import { answerJson, refuse, requestIdOf } from './answer.ts'
import { authorise } from './authorise.ts'
import { bodyReader, jsonObject } from './body.ts'
import { ApiError } from './errors.ts'
import type { Answer, DirectRoute, Route } from './route.ts'

/** The application, not yet listening. `dashboard` is mounted at its own path and does its own login. */
export function buildApp(deps: {
  redis: Redis
  log: Log
  routes: readonly (Route | DirectRoute)[]
  dashboard?: { path: string; handler: RequestHandler }
}): Express {
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
    for (const route of routes) at[route.method](bodyReader(route.body), handlerOf(route, deps.redis))
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

function handlerOf(route: Route | DirectRoute, redis: Redis): RequestHandler {
  return async (request, response) => {
    const body = route.body.as === 'json' ? jsonObject(request, route.body) : {}
    const caller = await authorise(redis, route.access, request, body, Date.now())
    const answer = await route.handle({
      body,
      raw: Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0),
      params: Object.fromEntries(Object.entries(request.params).map(([name, value]) => [name, String(value)])),
      query: request.query,
      requestId: String(response.locals.requestId),
      caller,
      header: (name) => request.get(name),
      request,
    })
    await reply(answer, response)
  }
}

async function reply(answer: Answer, response: Response): Promise<void> {
  if ('write' in answer) return answer.write(response)
  answerJson(response, String(response.locals.requestId), answer)
}

const shown = (path: string): string => (path.length > 100 ? `${path.slice(0, 100)}…` : path)
