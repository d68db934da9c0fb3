// The table of all routes, in the order in which they are looked through. Only data: whoever reads it loads no Redis, no
// Express and no queue. main.ts binds each family to its handlers. The dashboard is not here: it is an application of its
// own, mounted under /dashboard.
import type { RouteSpec } from '../route.ts'
import { accounts } from './accounts/routes.ts'
import { activity } from './activity/routes.ts'
import { campaigns } from './campaigns/routes.ts'
import { consoleDemo } from './console/demo-routes.ts'
import { consoleLive, consoleSession } from './console/routes.ts'
import { contactBook } from './contacts/routes.ts'
import { contacts } from './contacts/tag-routes.ts'
import { conversations } from './conversations/routes.ts'
import { events } from './events/routes.ts'
import { galleryFiles } from './gallery/file-routes.ts'
import { galleryFolders } from './gallery/folder-routes.ts'
import { health } from './health/routes.ts'
import { keys } from './keys/routes.ts'
import { admin } from './lanes/routes.ts'
import { limits } from './limits/routes.ts'
import { lookups } from './lookups/routes.ts'
import { messages } from './messages/routes.ts'
import { metrics } from './metrics/routes.ts'
import { description } from './openapi/routes.ts'
import { optOuts } from './opt-outs/routes.ts'
import { people } from './people/routes.ts'
import { senders } from './senders/routes.ts'
import { sending } from './sending/routes.ts'
import { templates } from './templates/routes.ts'
import { webhooks } from './webhooks/routes.ts'
import { webhookSecrets } from './webhooks/secret-routes.ts'

/** By name: with the name of a route in it, that is the name of an operation, which generators make functions of. */
export const FAMILIES = {
  health,
  description,
  sending,
  lookups,
  messages,
  conversations,
  galleryFolders,
  galleryFiles,
  contacts,
  contactBook,
  optOuts,
  campaigns,
  events,
  admin,
  accounts,
  limits,
  keys,
  senders,
  templates,
  activity,
  people,
  consoleSession,
  consoleLive,
  consoleDemo,
  metrics,
  webhookSecrets,
  webhooks,
} satisfies Readonly<Record<string, Readonly<Record<string, RouteSpec>>>>

export const ROUTES: readonly RouteSpec[] = Object.values(FAMILIES).flatMap((family): RouteSpec[] =>
  Object.values(family),
)
