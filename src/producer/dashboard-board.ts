// The pages of the queue dashboard: bull-board over all queues, each lane for its account alone and for an operator that names no
// account. Phone numbers and message text are masked. For queues that all accounts share it shows counts. It asks nobody who they
// are: dashboard.ts does.
import { createRequire } from 'node:module'
import { dirname } from 'node:path'
import { createBullBoard } from '@bull-board/api'
import type { BullMQAdapter } from '@bull-board/api/bullMQAdapter'
import { ExpressAdapter } from '@bull-board/express'
import type { RequestHandler } from 'express'
import express from 'express'
import { listReadableSenders, type Sender } from '../accounts/senders.ts'
import { MOVE_QUEUE, POLL_QUEUE } from '../jobs/background.ts'
import { CAMPAIGN_QUEUE, PREFLIGHT_QUEUE } from '../jobs/campaigns.ts'
import { INTAKE_QUEUE } from '../jobs/intake.ts'
import { countsBoard, laneBoard } from '../lanes/bullmq/boards.ts'
import { INTAKE_PREFIX } from '../lanes/bullmq/layout.ts'
import { REQUEUE_QUEUE } from '../messages/requeue/jobs.ts'
import { NO_ACCOUNT } from '../model/accounts/permissions.ts'
import type { Redis } from '../redis/connect.ts'
import { sharedQueuePrefix } from '../redis/keys.ts'
import { ACCOUNT_HEADER } from './acting-account.ts'
import { DASHBOARD_PATH } from './api/table.ts'

/** Holds bull-board's pages. */
const pagesFolder = dirname(createRequire(import.meta.url).resolve('@bull-board/ui/package.json'))

/** A tab polls this often; the pages of a large installation are not free. */
const POLL_SECONDS = 5

/** The handler of a request that may see the board, with ACCOUNT_HEADER set to the account whose lanes it may see. */
export function createBoard(redis: Redis): RequestHandler {
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

  const shown = new Map<number, BullMQAdapter>()
  async function showAllLanes(): Promise<void> {
    for (const sender of await listReadableSenders(redis)) {
      if (!shown.has(sender.id)) shown.set(sender.id, boardOf(redis, sender))
    }
    board.setQueues([...shown.values(), ...shared])
  }

  const router = express.Router()
  router.use(async (_request, _response, next) => {
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

function boardOf(redis: Redis, { id, account, name, provider }: Sender): BullMQAdapter {
  const board = laneBoard(redis, id, name, provider)
  board.setVisibilityGuard(({ headers }) =>
    [String(account), String(NO_ACCOUNT)].includes(String(headers[ACCOUNT_HEADER])),
  )
  board.setFormatter('data', masked)
  return board
}

const OPEN = new Set(['v', 'class', 'until', 'campaign', 'run'])

/** The part of a job's data that helps to watch a queue, without content and phone numbers. */
function masked(data: unknown): object {
  if (typeof data !== 'object' || data === null) return {}
  return Object.fromEntries(Object.entries(data).map(([key, value]) => [key, OPEN.has(key) ? value : '•••']))
}
