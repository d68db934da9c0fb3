// What happens, told: the feed, and the endpoints.
import { readPlaces, writePlaces } from '../../../events/pull-cursor.ts'
import { notePull } from '../../../events/store/listening.ts'
import { pullEvents } from '../../../events/store/pull.ts'
import { bind, type Route } from '../../bind.ts'
import { invalid } from '../../errors.ts'
import { type EndpointDeps, endpointHandlers } from './endpoint-handlers.ts'
import { events } from './routes.ts'

/** The routes of routes/events.ts. */
export function eventRoutes(deps: EndpointDeps): Route[] {
  const { redis } = deps
  return bind(events)({
    async pull({ query, caller }) {
      const { account } = caller
      const after = query.after === undefined ? new Map() : readPlaces(query.after)
      if (after === undefined)
        throw invalid([{ path: 'after', message: 'expected what an earlier answer had as next' }])
      await notePull(redis, account)
      const { types, limit, include_content: includeContent } = query
      const page = await pullEvents(redis, { account, after, types: types && new Set(types), limit, includeContent })
      return { body: { status: true, data: page.events, next: writePlaces(page.next) } }
    },
    ...endpointHandlers(deps),
  })
}
