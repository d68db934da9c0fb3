// Messages in lists and by their id, and sending again.
import { bind, type Route } from '../../bind.ts'
import { messageHandlers } from './by-id-handlers.ts'
import { listHandlers } from './list-handlers.ts'
import { messageMediaHandlers } from './media-handlers.ts'
import { requeueHandlers } from './requeue-handlers.ts'
import { messages } from './routes.ts'

/** The routes of routes/messages.ts. */
export const messageRoutes = (
  deps: Parameters<typeof messageHandlers>[0] &
    Parameters<typeof requeueHandlers>[0] &
    Parameters<typeof messageMediaHandlers>[0],
): Route[] =>
  bind(messages)({
    ...listHandlers(deps),
    ...requeueHandlers(deps),
    ...messageHandlers(deps),
    ...messageMediaHandlers(deps),
  })
