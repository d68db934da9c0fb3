// Messages in lists and by their id, and sending again.
import { bind, type Route } from '../bind.ts'
import { messages } from '../routes/messages.ts'
import { messageHandlers } from './message-by-id.ts'
import { listHandlers } from './message-list.ts'
import { messageMediaHandlers } from './message-media.ts'
import { requeueHandlers } from './requeue.ts'

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
