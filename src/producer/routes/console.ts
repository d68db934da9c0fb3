// What the pages of the console ask for besides what everybody may: sessions, how things stand, and how they stood. A
// key that may only read sees all of it.
import { z } from 'zod'
import { route } from '../route.ts'
import { done, doneWith } from './answers.ts'

/** Whoever sees messages sees how they are sent; a key for running an account or all of them sees it, too. */
export const toLook = { in: 'bearer', permission: 'messages:read', also: ['admin'] } as const

export const sessionSchema = z.strictObject({
  key_name: z.string(),
  account: z.strictObject({ id: z.int(), name: z.string() }).nullable().describe('Null for a key of no account.'),
  operator: z.boolean().describe('Whether it sees all accounts.'),
  permissions: z.array(z.string()),
  expires_at: z.iso.datetime().nullable(),
})
sessionSchema.register(z.globalRegistry, { id: 'ConsoleSession' })

const exampleSession = {
  key_name: 'Ada',
  account: { id: 1, name: 'shop' },
  operator: false,
  permissions: ['messages:read', 'admin'],
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
    headers: z.object({
      'X-Forwarded-Proto': z.string().optional().describe('`https`: the cookie is never sent unencrypted.'),
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
    body: { as: 'ignored' },
    answers: { 200: doneWith(sessionSchema) },
    examples: [{ status: 200, answer: { status: true, message: 'session', data: exampleSession } }],
  }),
  signOut: route({
    method: 'delete',
    path: '/console/session',
    summary: 'Ends the session that the request shows.',
    access: toLook,
    body: { as: 'ignored' },
    answers: { 200: done },
    examples: [{ status: 200, answer: { status: true, message: 'signed out' } }],
  }),
}
