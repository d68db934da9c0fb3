// The families of routes as the description groups them: a name and a sentence or two.
import type { FAMILIES } from '../api/table.ts'

/** In the order in which a reader wants them, which is not that of the table. */
export const FAMILY_NOTES: Readonly<Record<keyof typeof FAMILIES, { name: string; description: string }>> = {
  sending: {
    name: 'Sending',
    description:
      'Answered as soon as the message is on disk in Redis; the provider is not asked in the request. ' +
      'Send an `Idempotency-Key` with each: without one, a repeat is a second message.',
  },
  lookups: {
    name: 'Lookups',
    description: 'What became of a message, by the older interface. A message is found until its record is removed.',
  },
  messages: {
    name: 'Messages',
    description: 'Where a message is, why it waits, and sending it again.',
  },
  campaigns: {
    name: 'Campaigns',
    description: 'One template to many people: create, check with a preflight, start, watch, export.',
  },
  contacts: {
    name: 'Contact lists',
    description: 'Contacts by the lists (tags) that they are in.',
  },
  contactBook: {
    name: 'Contacts',
    description: 'Contacts one by one: looked for, created, imported, changed and deleted.',
  },
  optOuts: {
    name: 'Opt-outs',
    description: 'Who wants no advertising: campaigns and MARKETING templates pass them over.',
  },
  conversations: {
    name: 'Conversations',
    description: 'Whether a person may be sent more than templates.',
  },
  galleryFolders: {
    name: 'Gallery folders',
    description: 'Folders of the gallery.',
  },
  galleryFiles: {
    name: 'Gallery files',
    description: 'Files of the gallery: uploads, moves, the trash, and the public address of each.',
  },
  events: {
    name: 'Events',
    description:
      'What has happened, pulled as a feed or pushed to endpoints; what they get is under `webhooks`. The `seq` of a message ' +
      'tells a repetition from news.',
  },
  webhooks: {
    name: 'Provider webhooks',
    description: 'Where the WhatsApp Cloud API reports. What it sends is under `webhooks`.',
  },
  admin: {
    name: 'Administration',
    description: 'Lanes, one per sender. An operator names the account, or sees all.',
  },
  accounts: {
    name: 'Accounts',
    description: 'The owners of everything else, for operators.',
  },
  limits: {
    name: 'Limits',
    description: 'What an account may use up, and how much of it is used.',
  },
  keys: {
    name: 'Keys',
    description: 'What applications and people authenticate with. A key is shown once, when it is made.',
  },
  senders: {
    name: 'Senders',
    description: 'The numbers that messages are sent from, each with its provider and its lane.',
  },
  templates: {
    name: 'Templates',
    description: 'The approved templates that messages are held against.',
  },
  webhookSecrets: {
    name: 'Webhook secrets',
    description: 'What webhooks of WhatsApp are verified by, for each account.',
  },
  activity: {
    name: 'Activity',
    description: 'Who did what and when: keys and people at the command line.',
  },
  people: {
    name: 'People',
    description: 'All that is kept of a person, and forgetting it.',
  },
  consoleSession: {
    name: 'Sessions of the console',
    description: 'A browser shows the cookie of a session in place of a key, from pages of this service only.',
  },
  consoleLive: {
    name: 'Live figures',
    description: 'How lanes, campaigns and workers stand and stood, as the console shows them.',
  },
  consoleDemo: {
    name: 'Demo',
    description: 'Made-up traffic, where `npm start` has made demo data.',
  },
  metrics: {
    name: 'Metrics',
    description: 'How the lanes of the account of the key stand, for Prometheus.',
  },
  health: {
    name: 'Health',
    description: 'Whether the process lives, and whether the service works.',
  },
  description: {
    name: 'Description',
    description: 'This description, for programs and for people.',
  },
}
