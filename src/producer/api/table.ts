// The table of all routes, by feature, in the order in which they are matched and described. Only data: loading it loads no
// Redis, no Express and no queue. routes.ts binds each feature to its handlers.
import type { RouteSpec } from '../route.ts'
import { accounts, limits } from './accounts/routes.ts'
import { activity, notices } from './activity/routes.ts'
import { campaigns } from './campaigns/routes.ts'
import { consoleDemo, consoleLive, consoleSession } from './console/routes.ts'
import { contacts, tags } from './contacts/routes.ts'
import { conversations } from './conversations/routes.ts'
import { events } from './events/routes.ts'
import { flowSettings, flows } from './flows/routes.ts'
import { galleryFiles, galleryFolders } from './gallery/routes.ts'
import { health, metrics } from './health/routes.ts'
import { keys } from './keys/routes.ts'
import { lanes } from './lanes/routes.ts'
import { lookups, messages } from './messages/routes.ts'
import { optOuts } from './opt-outs/routes.ts'
import { people } from './people/routes.ts'
import { portfolios } from './portfolios/routes.ts'
import { reference } from './reference/routes.ts'
import { senders } from './senders/routes.ts'
import { sending } from './sending/routes.ts'
import { templates } from './templates/routes.ts'
import { webhookSecrets, webhooks } from './webhooks/routes.ts'

/** Routes of one feature, with its name and a sentence or two for the description. */
export interface Family<Id extends string = string> {
  /** With the name of a route this is the name of an operation, which generated clients have functions of. */
  id: Id
  name: string
  about: string
  routes: Readonly<Record<string, RouteSpec>>
}

const family = <const Id extends string, const R extends Family['routes']>(
  id: Id,
  routes: R,
  name: string,
  about: string,
) => ({
  id,
  name,
  about,
  routes,
})

export const FAMILIES = [
  family(
    'sending',
    sending,
    'Sending',
    'Answered as soon as the message is on disk in Redis; the request does not wait for the provider. ' +
      'Send an `Idempotency-Key` with each: without one, a repeat is a second message.',
  ),
  family('lookups', lookups, 'Lookups', 'The older interface to a message. It is found until its record is removed.'),
  family('messages', messages, 'Messages', 'Where a message is, why it waits, and sending it again.'),
  family(
    'campaigns',
    campaigns,
    'Campaigns',
    'One template to many people: create, check with a preflight, start, watch, export.',
  ),
  family('contacts', tags, 'Contact lists', 'Contacts by the lists (tags) that they are in.'),
  family('contactBook', contacts, 'Contacts', 'Contacts one by one: searched, created, imported, changed and deleted.'),
  family(
    'optOuts',
    optOuts,
    'Opt-outs',
    'People who want no advertising: campaigns and MARKETING templates skip them.',
  ),
  family(
    'conversations',
    conversations,
    'Conversations',
    'Whether a person may be sent more than templates, and their messages in and out.',
  ),
  family('galleryFolders', galleryFolders, 'Gallery folders', 'Folders of the gallery.'),
  family(
    'galleryFiles',
    galleryFiles,
    'Gallery files',
    'Uploads, moves, the trash, and the public address of each file.',
  ),
  family(
    'events',
    events,
    'Events',
    'What has happened, pulled as a feed or pushed to endpoints; deliveries are described under `webhooks`. The `seq` of ' +
      'a message distinguishes a repeat from a new event.',
  ),
  family(
    'webhooks',
    webhooks,
    'Provider webhooks',
    'Where the WhatsApp Cloud API reports. What it sends is described under `webhooks`.',
  ),
  family(
    'flows',
    flows,
    'Flows',
    'WhatsApp’s forms, answered by the account’s own server: decrypted here, passed on as signed JSON, encrypted again.',
  ),
  family('admin', lanes, 'Administration', 'Lanes, one per sender. An operator names the account, or sees all.'),
  family('accounts', accounts, 'Accounts', 'The owners of everything else, for operators.'),
  family('limits', limits, 'Limits', 'What an account may use, and how much of it is used.'),
  family('keys', keys, 'Keys', 'Credentials of applications and people. A key is shown once, when it is made.'),
  family(
    'senders',
    senders,
    'Senders',
    'The numbers that messages are sent from, each with its provider and its lane.',
  ),
  family(
    'portfolios',
    portfolios,
    'Portfolios',
    'Business portfolios: the senders of one share its daily limit of people at WhatsApp.',
  ),
  family('templates', templates, 'Templates', 'The approved templates that messages are checked against.'),
  family('webhookSecrets', webhookSecrets, 'Webhook secrets', 'Secrets of the account’s own provider webhooks.'),
  family('flowSettings', flowSettings, 'Flow settings', 'Where flows of the account are answered, and their keys.'),
  family('activity', activity, 'Activity', 'The audit log: who did what and when, by key or at the command line.'),
  family('notices', notices, 'Notices of WhatsApp', 'Notices of WhatsApp about accounts, numbers and templates.'),
  family('people', people, 'People', 'All that is kept of a person, and erasing it.'),
  family(
    'consoleSession',
    consoleSession,
    'Sessions of the console',
    'A browser sends the cookie of a session in place of a key, from pages of this service only.',
  ),
  family(
    'consoleLive',
    consoleLive,
    'Live figures',
    'Lanes, campaigns and workers now and in the last week, as the console shows them.',
  ),
  family('consoleDemo', consoleDemo, 'Demo', 'Made-up traffic, where `npm start` has made demo data.'),
  family('metrics', metrics, 'Metrics', 'Metrics of the account’s lanes, for Prometheus.'),
  family('health', health, 'Health', 'Whether the process lives, and whether the service works.'),
  family('description', reference, 'Description', 'This description, for programs and for people.'),
] as const satisfies readonly Family[]

/** Called by WhatsApp, browsers, Prometheus and generators, and by no client of ours. */
export const CALLED_BY_OTHERS = [
  'webhooks',
  'flows',
  'consoleSession',
  'metrics',
  'description',
] as const satisfies readonly FamilyId[]

export type FamilyId = (typeof FAMILIES)[number]['id']

export const ROUTES: readonly RouteSpec[] = FAMILIES.flatMap(({ routes }) => Object.values<RouteSpec>(routes))

/** The pages of the console, which are no routes. Every path below that is neither a file nor a route is the one page. */
export const CONSOLE_PATH = '/console'

/** The dashboard of the raw queues, an application of its own. */
export const DASHBOARD_PATH = '/dashboard'
