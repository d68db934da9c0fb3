// What the HTTP server calls for each request: the short way when it takes the request, else Express.
import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import { buildApp } from './app.ts'
import { createDirect } from './direct.ts'

/** The listener of the whole application. `router` is Express's, which lists every route there is. */
export function createListener(deps: Parameters<typeof buildApp>[0]): RequestListener & { router: unknown } {
  const app = buildApp(deps)
  const direct = createDirect(deps)
  const listen = (request: IncomingMessage, response: ServerResponse): void => {
    if (!direct(request, response)) app(request, response)
  }
  return Object.assign(listen, { router: app.router })
}
