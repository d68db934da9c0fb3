// How everything stands, and stood, for whoever looks. What is told is of the account of the key, or of the one that an
// operator names; nothing of another account is ever read for it.

import { listSenders } from '../../accounts/store/senders.ts'
import { laneOf } from '../../lanes/control.ts'
import type { Redis } from '../../redis/connect.ts'
import { createSeriesReader } from '../../telemetry/live/series.ts'
import { bind, type Route } from '../bind.ts'
import { ApiError, notFound } from '../errors.ts'
import type { Caller } from '../route.ts'
import { consoleLive } from '../routes/console.ts'
import type { SnapshotStreams } from '../snapshot-streams.ts'

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // A proxy must hand on each event as it comes.
  'X-Accel-Buffering': 'no',
}

/** The account to tell of; undefined for all. Throws a 404 for one that is not the key's. */
function scopeOf({ caller, query }: { caller: Caller; query: { account?: number | undefined } }): number | undefined {
  if (query.account !== undefined && query.account !== caller.account) throw notFound('The account')
  return caller.account === 0 ? undefined : caller.account
}

/** The routes of `consoleLive` in routes/console.ts. */
export function consoleLiveRoutes({ redis, streams }: { redis: Redis; streams: SnapshotStreams }): Route[] {
  const readSeries = createSeriesReader(redis)

  return bind(consoleLive)({
    snapshot: async (call) => ({ body: { status: true, data: await streams.once(scopeOf(call)) } }),
    async stream(call) {
      const account = scopeOf(call)
      if (streams.isFull()) throw tooManyStreams()
      const { mayStill, query } = call
      return { headers: STREAM_HEADERS, stream: await streams.open({ account, limit: query.limit, mayStill }) }
    },
    async history(call) {
      const account = scopeOf(call)
      const { sender, span } = call.query
      if (sender !== undefined) {
        if (!(await laneOf(redis, sender, account))) throw notFound('The sender')
        return { body: { status: true, data: await readSeries({ name: `lane ${sender}`, lanes: [sender] }, span) } }
      }
      const lanes = account === undefined ? 'all' : (await listSenders(redis, account)).map(({ id }) => id)
      const name = account === undefined ? 'all' : `account ${account}`
      return { body: { status: true, data: await readSeries({ name, lanes }, span) } }
    },
  })
}

const tooManyStreams = (): ApiError =>
  new ApiError(503, 'overloaded', 'Too many pages are open that follow this producer live.', {
    headers: { 'Retry-After': '10' },
  })
