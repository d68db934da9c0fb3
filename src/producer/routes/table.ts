// The table of all routes, in the order in which they are looked through. Only data: whoever reads it loads no Redis, no
// Express and no queue. main.ts binds each family to its handlers. The dashboard is not here: it is an application of its
// own, mounted under /dashboard.
import type { RouteSpec } from '../route.ts'
import { accounts } from './accounts.ts'
import { activity } from './activity.ts'
import { admin } from './admin.ts'
import { campaigns } from './campaigns.ts'
import { consoleLive, consoleSession } from './console.ts'
import { consoleDemo } from './console-demo.ts'
import { contactBook } from './contact-book.ts'
import { contacts } from './contacts.ts'
import { conversations } from './conversations.ts'
import { description } from './description.ts'
import { events } from './events.ts'
import { galleryFiles } from './gallery-files.ts'
import { galleryFolders } from './gallery-folders.ts'
import { health } from './health.ts'
import { keys } from './keys.ts'
import { limits } from './limits.ts'
import { lookups } from './lookups.ts'
import { messages } from './messages.ts'
import { metrics } from './metrics.ts'
import { optOuts } from './opt-outs.ts'
import { people } from './people.ts'
import { senders } from './senders.ts'
import { sending } from './sending.ts'
import { templates } from './templates.ts'
import { webhookSecrets } from './webhook-secrets.ts'
import { webhooks } from './webhooks.ts'

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
