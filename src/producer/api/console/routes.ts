// Routes of the console alone: sessions, live figures and the demo. A key that may only read gets all of it.
import { z } from 'zod'
import { SPANS, seriesSchema, snapshotSchema } from '../../../telemetry/snapshot.ts'
import { bare, named, one } from '../answers.ts'
import { routesOf } from '../define.ts'
import { flagField, textIdField } from '../fields.ts'

/** A key that sees messages sees how they are sent; so does a key for running an account or all of them. */
export const toLook = { in: 'bearer', permission: 'messages:read', also: ['admin'], withoutAccount: true } as const
const look = routesOf({ access: toLook, forSenders: true })

const sessionSchema = named('ConsoleSession', {
  key_name: z.string(),
  account: z.strictObject({ id: z.int(), name: z.string() }).nullable().describe('Null for a key of no account.'),
  operator: z.boolean().describe('Whether it sees all accounts.'),
  permissions: z.array(z.string()).describe('All that the key permits, including what `admin` stands for.'),
  senders: z.array(z.int()).nullable().describe('The only senders that its key is for; null: all.'),
  default_sender: z.boolean().describe('Whether the default sender of the account, if there is one, is among these.'),
  expires_at: z.iso.datetime().nullable(),
})

export const consoleSession = {
  signIn: routesOf({ access: { in: 'open', why: 'checks the key in its body itself' } }).post(
    '/console/session',
    'Gives a browser a session in place of a key: a cookie that no script can read.',
    {
      details: 'The session ends after 12 hours, or with its key. Every address that takes a key accepts it instead.',
      act: 'console.sign_in',
      headers: z.object({
        'X-Forwarded-Proto': z.string().optional().describe('`https`: the cookie is never sent unencrypted.'),
        Origin: z.string().optional().describe('The same, where it begins with `https://`.'),
      }),
      body: { as: 'json', schema: z.strictObject({ key: z.string() }), limit: 4_096 },
      answers: one(sessionSchema),
      errors: { 401: ['unauthorized'], 403: ['forbidden'], 429: ['too_many_sign_ins'] },
      examples: [{ body: { key: 'lw_00000000000000000000000000000000000000' }, says: 'signed in' }],
    },
  ),
  session: look.get('/console/session', 'Shows the session: its key, its rights, and when it ends.', {
    answers: one(sessionSchema),
    examples: [{ says: 'session' }],
  }),
  signOut: look.delete('/console/session', 'Ends the session of the request.', {
    act: 'console.sign_out',
    examples: [{ says: 'signed out' }],
  }),
}

export const consoleLive = {
  snapshot: look.get('/console/snapshot', 'Shows the present state of lanes, campaigns, workers and Redis.', {
    mcp: 'read',
    details:
      'Taken at most once a second for each account, however many ask. A key for some senders sees their lanes only.',
    query: z.strictObject({}),
    answers: { 200: bare(snapshotSchema) },
  }),
  stream: look.get('/console/stream', 'Sends the snapshot of every second as a server-sent event named `snapshot`.', {
    details:
      'A line without an event is a comment. A client that reads too slowly is disconnected; `retry` is the wait before ' +
      'reconnecting. With `changes` only the first is whole; events named `change` after it hold what differs from the one before.',
    query: z.strictObject({
      limit: textIdField.optional().describe('Ends after so many snapshots; without it, it does not end.'),
      changes: flagField,
    }),
    answers: { 200: { contentTypes: ['text/event-stream'] } },
    errors: { 503: ['overloaded'] },
    examples: [{ query: { limit: '1' } }],
  }),
  history: look.get('/console/history', 'Shows counts per 10 s of the last hour, or per 5 min of the last week.', {
    mcp: 'read',
    query: z.strictObject({
      sender: textIdField.optional().describe('The lane of one sender.'),
      span: z.enum(SPANS).default('hour'),
    }),
    answers: { 200: bare(seriesSchema) },
    examples: [{ query: { span: 'hour' } }],
  }),
}

const demoState = bare(
  z.strictObject({
    available: z.boolean().describe('Only where `npm start` has made demo data, and never in production.'),
    running: z.boolean().describe('It ends by itself after five minutes.'),
  }),
)

export const consoleDemo = {
  show: look.get('/console/demo', 'Shows whether demo traffic is available and running.', {
    answers: { 200: demoState },
  }),
  run: routesOf({ access: { in: 'bearer', permission: 'admin', withoutAccount: true } }).post(
    '/console/demo',
    'Starts or stops demo traffic: messages that fail or are throttled, and a campaign.',
    {
      act: 'demo.start',
      body: z.strictObject({ running: z.boolean() }),
      answers: { 200: demoState },
      examples: [{ body: { running: true } }],
    },
  ),
}
