// How everything stands, and stood, for whoever looks. What is told is of the account of the key, or of the one that an
// operator names; nothing of another account is ever read for it.

import { listSenders } from '../../../accounts/store/senders.ts'
import { laneOf } from '../../../lanes/control.ts'
import { assertForSender } from '../../../messages/accept/check-key.ts'
import type { Redis } from '../../../redis/connect.ts'
import { createSeriesReader } from '../../../telemetry/live/series.ts'
import { isShown, keyOf, type Whose } from '../../../telemetry/live/whose.ts'
import { accountOf } from '../../acting-for.ts'
import { bind, type Route } from '../../bind.ts'
import { ApiError, notFound } from '../../errors.ts'
import type { Caller } from '../../route.ts'
import { consoleLive } from './routes.ts'
import type { SnapshotStreams } from './snapshot-streams.ts'

const STREAM_HEADERS = {
  'Content-Type': 'text/event-stream; charset=utf-8',
  'Cache-Control': 'no-store',
  // A proxy must hand on each event as it comes.
  'X-Accel-Buffering': 'no',
}

/** The routes of `consoleLive` in routes/console.ts. */
export function consoleLiveRoutes({ redis, streams }: { redis: Redis; streams: SnapshotStreams }): Route[] {
  const readSeries = createSeriesReader(redis)

  return bind(consoleLive)({
    snapshot: async (call) => ({ body: { status: true, data: await streams.once(whoseOf(call.caller)) } }),
    async stream(call) {
      const { mayStill, query } = call
      const whose = whoseOf(call.caller)
      if (!streams.hasRoomFor(whose)) throw tooManyStreams()
      const reader = { whose, limit: query.limit, inChanges: query.changes === 'true', mayStill }
      return { headers: STREAM_HEADERS, stream: await streams.open(reader) }
    },
    async history(call) {
      const whose = whoseOf(call.caller)
      const { account } = whose
      const { sender, span } = call.query
      if (sender !== undefined) {
        if (!(await laneOf(redis, sender, account))) throw notFound('The sender')
        assertForSender(call.caller, sender)
        const lanes = async () => [sender]
        return { body: { status: true, data: await readSeries({ name: `lane ${sender}`, lanes }, span) } }
      }
      const lanes = async () =>
        account === undefined
          ? ('all' as const)
          : (await listSenders(redis, account)).map(({ id }) => id).filter((id) => isShown(whose, id))
      return { body: { status: true, data: await readSeries({ name: `of ${keyOf(whose)}`, lanes }, span) } }
    },
  })
}

const whoseOf = (caller: Caller): Whose => ({ account: accountOf(caller), senders: caller.senders })

const tooManyStreams = (): ApiError =>
  new ApiError(503, 'overloaded', 'Too many pages are open that follow this producer live.', {
    headers: { 'Retry-After': '10' },
  })
