// Builds the Express application from the routes. Order of checks: route (404), method (405), body readable (415, 413,
// 400), credential (401), permission (403); then the route's own: fields (400, 422), existence (404).
import { randomUUID } from 'node:crypto'
import type { Express, NextFunction, Request, RequestHandler, Response } from 'express'
import express from 'express'
import { Refusal } from '../accept/refusal.ts'
import type { Log } from '../log.ts'
import type { Redis } from '../store/redis.ts'
import { isRedisAway } from '../store/redis-errors.ts'
import { authorise } from './authorise.ts'
import { bodyError, bodyReader, jsonObject } from './body.ts'
import { ApiError, errorBody, internal, redisAway, refused } from './errors.ts'
import type { Answer, Route } from './route.ts'

const SANE_REQUEST_ID = /^[\w.:-]{1,128}$/

/** The application, not yet listening. `dashboard` is mounted at its own path and does its own login. */
export function buildApp(deps: {
  redis: Redis
  log: Log
  routes: readonly Route[]
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
    refuse(error, response, deps.log)
  })
  return app
}

/** Gives every request an id, the caller's own when it is sane, and answers with it. */
const nameRequest: RequestHandler = (request, response, next) => {
  const given = request.get('x-request-id')
  const id = given !== undefined && SANE_REQUEST_ID.test(given) ? given : randomUUID()
  response.locals.requestId = id
  response.setHeader('x-request-id', id)
  next()
}

function handlerOf(route: Route, redis: Redis): RequestHandler {
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
      request,
    })
    await reply(answer, response)
  }
}

async function reply(answer: Answer, response: Response): Promise<void> {
  if ('write' in answer) return answer.write(response)
  response
    .status(answer.status ?? 200)
    .set(answer.headers ?? {})
    .json(answer.body)
}

/** Turns whatever was thrown into an answer. Only what is our own fault is logged, here and nowhere else. */
function refuse(thrown: unknown, response: Response, log: Log): void {
  const requestId = String(response.locals.requestId)
  const error = toApiError(thrown)
  if (error.status >= 500) {
    const cause = error.cause instanceof Error ? error.cause : error
    log[error.status === 500 ? 'error' : 'warn'](
      { request_id: requestId, code: error.code, err: cause },
      'request.failed',
    )
  }
  if (response.headersSent) {
    // Half of a streamed answer is out: cutting the connection is the only way left to say that it is not whole.
    response.destroy()
    return
  }
  response.status(error.status).set(error.headers).json(errorBody(error, requestId))
}

function toApiError(thrown: unknown): ApiError {
  if (thrown instanceof ApiError) return thrown
  if (thrown instanceof Refusal) return refused(thrown)
  if (isRedisAway(thrown)) return redisAway(thrown)
  if (thrown instanceof URIError) return new ApiError(400, 'invalid_path', 'The path is not valid percent-encoding.')
  return bodyError(thrown) ?? internal(thrown)
}

const shown = (path: string): string => (path.length > 100 ? `${path.slice(0, 100)}…` : path)
