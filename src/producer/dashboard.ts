// The way to the queue dashboard under /dashboard, for operators who are signed in to the console; an operator that names an account
// gets that account's lanes. Read-only: emptying or retrying a job by hand would bypass the records, and break the promise that
// every message is accounted for; pause, resume and requeue are commands of their own.
import type { RequestHandler } from 'express'
import express from 'express'
import { MissingPackageError, withPackages } from '../kernel/optional-packages.ts'
import { OPERATOR } from '../model/accounts/permissions.ts'
import { ACCOUNT_HEADER } from './acting-account.ts'
import { authorise } from './authorise.ts'
import { ApiError } from './errors.ts'
import type { Gate } from './gate.ts'
import { sessionIdOf } from './session-cookie.ts'

const ACCESS = { in: 'bearer', permission: OPERATOR, withoutAccount: true } as const
const SIGN_IN = 'Sign in to /console with a key that has the permission operator, then open this page again.'

/** The served paths of the board: its pages, and their requests. A path of a later version is not served until it is added here. */
const SHOWN = new RegExp(
  [
    '^/$',
    '^/queue/[^/]+(/[^/]+)?$',
    '^/static/',
    '^/job-schedulers$',
    '^/api/(job-schedulers|queues)$',
    // Of a queue, and of a job; the other words in the place of a job's id are addresses of the queue.
    '^/api/queues/[^/]+/(?!(workers|default-job-options|job-data-schema)$)[^/]+(/(logs|flow))?$',
  ].join('|'),
)

/**
 * The handler to mount at DASHBOARD_PATH. Requires an operator's session (else 401, 403) and refuses all but GET and HEAD (405).
 */
export function createDashboard(gate: Gate): RequestHandler {
  // Loaded for the first who may see it: it adds to every start, and most producers never show it.
  let board: Promise<RequestHandler> | undefined
  const load = async (): Promise<RequestHandler> => {
    const { createBoard } = await withPackages('The raw queues', '@bull-board/', () => import('./dashboard-board.ts'))
    return createBoard(gate.redis)
  }

  const router = express.Router()
  router.use((request, _response, next) => {
    // The board's own refusal is per queue: it answers 200 to pausing all of them, and pauses none.
    if (request.method === 'GET' || request.method === 'HEAD') return next()
    throw new ApiError(405, 'method_not_allowed', 'The dashboard is read-only.', { headers: { Allow: 'GET' } })
  })
  router.use((request, _response, next) => {
    if (!SHOWN.test(request.path)) throw new ApiError(404, 'no_such_route', 'The dashboard does not show this.')
    // The board would read and parse a body that none of its pages needs.
    delete request.headers['content-type']
    next()
  })
  router.use(async (request, response, next) => {
    // Keys are for programs; the dashboard is for people who are signed in to the console.
    delete request.headers.authorization
    if (sessionIdOf(request.headers) === undefined) throw new ApiError(401, 'unauthorized', SIGN_IN)
    const caller = await authorise(gate, ACCESS, request, {}, String(response.locals.requestId))
    // The visibility guard reads it: an operator that names no account gets all lanes.
    request.headers[ACCOUNT_HEADER] = String(caller.account)
    board ??= load()
    const handler = await board.catch((error: unknown) => {
      throw error instanceof MissingPackageError ? new ApiError(501, 'not_installed', error.message) : error
    })
    return handler(request, response, next)
  })
  return router
}
