// The queue dashboard under /dashboard: bull-board over all queues, for operators who are signed in to the console; an operator that names
// an account gets that account's lanes. Read-only: emptying or retrying a job by hand would bypass the records, and break the promise that
// every message is accounted for; pause, resume and requeue are commands of their own. Phone numbers and message text are masked. For
// queues that all accounts share it shows counts.
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { createBullBoard } from '@bull-board/api'
import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { ExpressAdapter } from '@bull-board/express'
import type { RequestHandler } from 'express'
import express from 'express'
import { listSenders, type Sender } from '../accounts/senders.ts'
import { MOVE_QUEUE, POLL_QUEUE } from '../jobs/background.ts'
import { CAMPAIGN_QUEUE, PREFLIGHT_QUEUE } from '../jobs/campaigns.ts'
import { INTAKE_QUEUE } from '../jobs/intake.ts'
import { countsBoard, laneBoards } from '../lanes/bullmq/boards.ts'
import { INTAKE_PREFIX } from '../lanes/bullmq/layout.ts'
import { REQUEUE_QUEUE } from '../messages/requeue/jobs.ts'
import { NO_ACCOUNT, OPERATOR } from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { sharedQueuePrefix } from '../redis/keys.ts'
import { DASHBOARD_PATH } from './api/table.ts'
import { ACCOUNT_HEADER, authorise, sessionIdOf } from './authorise.ts'
import { ApiError } from './errors.ts'
import type { Gate } from './gate.ts'

/** Holds bull-board's pages. */
const pagesFolder = dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json'))

/** A tab polls this often; the pages of a large installation are not free. */
const POLL_SECONDS = 5

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
  const { redis } = gate
  const adapter = new ExpressAdapter().setBasePath(DASHBOARD_PATH)
  const board = createBullBoard({
    queues: [],
    serverAdapter: adapter,
    options: {
      uiBasePath: pagesFolder,
      uiConfig: {
        boardTitle: 'Laneway',
        hideRedisDetails: true,
        showWorkers: false,
        hideDocsLink: true,
        pollingInterval: { forceInterval: POLL_SECONDS },
      },
    },
  })
  const shared = [
    ...[MOVE_QUEUE, POLL_QUEUE, CAMPAIGN_QUEUE, PREFLIGHT_QUEUE, REQUEUE_QUEUE].map((name) =>
      countsBoard(redis, name, sharedQueuePrefix(name)),
    ),
    countsBoard(redis, INTAKE_QUEUE, INTAKE_PREFIX),
  ]

  const shown = new Map<number, BullMQAdapter[]>()
  async function showAllLanes(): Promise<void> {
    for (const sender of await listSenders(redis)) {
      if (!shown.has(sender.id)) shown.set(sender.id, boardsOf(redis, sender))
    }
    board.setQueues([...[...shown.values()].flat(), ...shared])
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
    await showAllLanes()
    next()
  })
  router.use(withoutOtherHosts)
  router.use(adapter.getRouter())
  return router
}

/** Of the board's own host only. It sets styles on its elements, which is all that it may do inline. */
const POLICY = [
  ...["default-src 'none'", "script-src 'self'", "style-src 'self' 'unsafe-inline'", "img-src 'self' data:"],
  ...["font-src 'self' data:", "connect-src 'self'", "base-uri 'self'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ')
/** Its page names a host for fonts; without them it uses system fonts. */
const OF_OTHER_HOSTS = /<link\b[^>]*\bhref="https?:[^>]*>/g

/** The page must not contact another host: who views the queues is private. */
const withoutOtherHosts: RequestHandler = (_request, response, next) => {
  response.set({ 'Content-Security-Policy': POLICY, 'Referrer-Policy': 'same-origin' })
  const send = response.send.bind(response)
  response.send = (body: unknown) => send(typeof body === 'string' ? body.replace(OF_OTHER_HOSTS, '') : body)
  next()
}

function boardsOf(redis: Redis, { id, account, name, provider }: Sender): BullMQAdapter[] {
  const boards = laneBoards(redis, id, name, provider)
  for (const board of boards) {
    board.setVisibilityGuard(({ headers }) =>
      [String(account), String(NO_ACCOUNT)].includes(String(headers[ACCOUNT_HEADER])),
    )
    board.setFormatter('data', masked)
  }
  return boards
}

const OPEN = new Set(['v', 'class', 'until', 'campaign', 'run', 'from', 'count'])

/** The part of a job's data that helps to watch a queue, without content and phone numbers. */
function masked(data: unknown): object {
  if (typeof data !== 'object' || data === null) return {}
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, OPEN.has(key) ? value : '•••']))
}
