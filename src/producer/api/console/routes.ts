// What the pages of the console ask for besides what everybody may: sessions, how things stand, and how they stood. A
// key that may only read sees all of it.
import { z } from 'zod'
import { SPANS, seriesSchema } from '../../../telemetry/series.ts'
import { type Snapshot, snapshotSchema } from '../../../telemetry/snapshot.ts'
import { route } from '../../route.ts'
import { done, doneWith } from '../answers.ts'
import { textIdField } from '../fields.ts'

/** Whoever sees messages sees how they are sent; a key for running an account or all of them sees it, too. */
export const toLook = { in: 'bearer', permission: 'messages:read', also: ['admin'], withoutAccount: true } as const

export const sessionSchema = z.strictObject({
  key_name: z.string(),
  account: z.strictObject({ id: z.int(), name: z.string() }).nullable().describe('Null for a key of no account.'),
  operator: z.boolean().describe('Whether it sees all accounts.'),
  permissions: z.array(z.string()).describe('All that the key permits, what `admin` stands for included.'),
  senders: z.array(z.int()).nullable().describe('The only senders that its key is for; null: all.'),
  default_sender: z.boolean().describe('Whether the default sender of the account, if there is one, is among these.'),
  expires_at: z.iso.datetime().nullable(),
})
sessionSchema.register(z.globalRegistry, { id: 'ConsoleSession' })

const exampleSession = {
  key_name: 'Ada',
  account: { id: 1, name: 'shop' },
  operator: false,
  permissions: ['messages:send', 'messages:read'],
  senders: null,
  default_sender: true,
  expires_at: '2026-11-22T21:00:00.000Z',
} satisfies z.input<typeof sessionSchema>

export const consoleSession = {
  signIn: route({
    method: 'post',
    path: '/console/session',
    summary: 'Gives a browser a session in place of a key: a cookie that no script can read.',
    details:
      'The session ends after 12 hours, or with its key. Pages of the console show it in place of a key wherever one is taken.',
    access: { in: 'open', why: 'checks the key in its body itself' },
    act: 'console.sign_in',
    headers: z.object({
      'X-Forwarded-Proto': z.string().optional().describe('`https`: the cookie is never sent unencrypted.'),
      Origin: z.string().optional().describe('The same, where it begins with `https://`.'),
    }),
    body: { as: 'json', schema: z.strictObject({ key: z.string() }), limit: 4_096 },
    answers: { 200: doneWith(sessionSchema) },
    errors: { 401: ['unauthorized'], 403: ['forbidden'], 429: ['too_many_sign_ins'] },
    examples: [
      {
        body: { key: 'lw_00000000000000000000000000000000000000' },
        status: 200,
        answer: { status: true, message: 'signed in', data: exampleSession },
      },
    ],
  }),
  session: route({
    method: 'get',
    path: '/console/session',
    summary: 'Tells whose session it is, and until when.',
    access: toLook,
    forSenders: true,
    body: { as: 'ignored' },
    answers: { 200: doneWith(sessionSchema) },
    examples: [{ status: 200, answer: { status: true, message: 'session', data: exampleSession } }],
  }),
  signOut: route({
    method: 'delete',
    path: '/console/session',
    summary: 'Ends the session that the request shows.',
    access: toLook,
    forSenders: true,
    act: 'console.sign_out',
    body: { as: 'ignored' },
    answers: { 200: done },
    examples: [{ status: 200, answer: { status: true, message: 'signed out' } }],
  }),
}

const exampleSnapshot = {
  at: '2026-11-22T09:00:00.000Z',
  totals: {
    ...{ accepted_per_s: 120, sent_per_s: 79.6, delivered_per_s: 75.2, failed_per_s: 0.4 },
    ...{ waiting: 1_240, oldest_waiting_s: 15.5, unconfirmed: 2 },
  },
  lanes: [
    {
      ...{ sender: 1, name: 'shop', account: 1, state: 'waiting_for_pace', by: null, until: null, drain_s: 16 },
      reason: 'All of its pace is used: 80 messages a second.',
      waiting: { transactional: 40, campaign: 1_200 },
      ...{ oldest_s: 15.5, rate_per_s: 80, sent_per_s: 79.6, dead_letters: 0, in_flight: 25 },
      ...{ answer_p50_s: 0.3, answer_p99_s: 0.49, bound: 'pace' },
      spark: Array.from({ length: 30 }, (_, i) => (i < 20 ? 0 : 79.6)),
    },
  ],
  lanes_total: 1,
  campaigns: [
    {
      ...{ id: 'cmp_1_7', name: 'Winter', account: 1, state: 'running', total: 10_000, queued: 8_000, sending: 9 },
      ...{ sent: 150, delivered: 1_700, read: 120, failed: 19, expired: 0, cancelled: 0, unconfirmed: 2, unknown: 0 },
      ...{ refused: 31, rate_per_s: 70.5, eta_s: 114, paused_for: null, throttle: null },
    },
  ],
  failures: [{ code: '131026', meaning: 'the message cannot be delivered to this recipient', count: 19 }],
  workers: [
    {
      ...{ id: 'host-1-0a1b2c3d', host: 'host', pid: 1, started_at: '2026-11-21T10:00:00.000Z' },
      ...{ version: '0.1.0', lanes: 2, in_flight: 25, max_in_flight: 6_000, seen_s: 1.2 },
    },
  ],
  lost_workers: [],
  redis: {
    ...{ used_bytes: 52_428_800, max_bytes: null },
    safety: [{ name: 'appendonly', ok: true, sentence: 'Redis has appendonly yes.' }],
  },
} satisfies Snapshot

export const consoleLive = {
  snapshot: route({
    method: 'get',
    path: '/console/snapshot',
    summary: 'Tells how lanes, campaigns, workers and Redis stand at this moment.',
    details:
      'Taken at most once a second for each account, however many ask. A key for some senders is told of their lanes only.',
    access: toLook,
    forSenders: true,
    query: z.strictObject({}),
    body: { as: 'ignored' },
    answers: { 200: z.strictObject({ status: z.literal(true), data: snapshotSchema }) },
    errors: { 404: ['not_found'] },
    examples: [{ status: 200, answer: { status: true, data: exampleSnapshot } }],
  }),
  stream: route({
    method: 'get',
    path: '/console/stream',
    summary: 'Sends the snapshot of every second as a server-sent event named `snapshot`.',
    details:
      'A line without an event is a comment. Whoever reads too slowly is cut off; `retry` says when to come again. With ' +
      '`changes` only the first is whole, and after it events named `change` have what is other than in the one before.',
    access: toLook,
    forSenders: true,
    query: z.strictObject({
      limit: textIdField.optional().describe('Ends after so many snapshots; without it, it does not end.'),
      changes: z.enum(['true', 'false']).default('false'),
    }),
    body: { as: 'ignored' },
    answers: { 200: { contentTypes: ['text/event-stream'] } },
    errors: { 404: ['not_found'], 503: ['overloaded'] },
    examples: [{ query: { limit: '1' }, status: 200 }],
  }),
  history: route({
    method: 'get',
    path: '/console/history',
    summary: 'Tells what was counted per 10 s of the last hour, or per 5 min of the last week.',
    access: toLook,
    forSenders: true,
    query: z.strictObject({
      sender: textIdField.optional().describe('The lane of one sender.'),
      span: z.enum(SPANS).default('hour'),
    }),
    body: { as: 'ignored' },
    answers: { 200: z.strictObject({ status: z.literal(true), data: seriesSchema }) },
    errors: { 404: ['not_found'] },
    examples: [
      {
        query: { span: 'hour' },
        status: 200,
        answer: {
          status: true,
          data: {
            step_s: 10,
            points: [
              {
                at: '2026-11-22T09:00:00.000Z',
                ...{ accepted: 1_200, sent: 796, delivered: 752, read: 40, failed: 4, unknown: 0 },
                ...{ waiting: 1_240, oldest_s: 15 },
              },
            ],
          },
        },
      },
    ],
  }),
}
