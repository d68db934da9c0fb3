// Keys of an account, and for operators those of the whole installation.
import { z } from 'zod'
import { keyDocumentSchema } from '../../../accounts/key-document.ts'
import { networkSchema } from '../../../accounts/networks.ts'
import { anyPermissionSchema } from '../../../accounts/permissions.ts'
import { textUpTo } from '../../../messages/bounded.ts'
import { instantSchema } from '../../../messages/instant.ts'
import { route } from '../../route.ts'
import { doneWith, listOf } from '../answers.ts'
import { idempotencyHeaders, idField, pageFields } from '../fields.ts'

const access = { in: 'bearer', permission: 'admin', withoutAccount: true } as const
const params = z.object({
  key: z.string().regex(/^key_[0-9a-f]{12}$/, 'expected the id of a key such as key_0f1e2d3c4b5a'),
})
const errors = { 404: ['not_found'] } as const

/** Most senders or networks of one key. */
const SCOPE_MAX = 100
const OVERLAP_MAX_SECONDS = 90 * 86_400
const OVERLAP_SECONDS = 86_400

const newKeySchema = z.strictObject({
  name: textUpTo(100)
    .trim()
    .regex(/^\P{Cc}*$/u, 'must have no control characters')
    .default(''),
  permissions: z.array(anyPermissionSchema).min(1).max(20),
  expires_at: instantSchema.refine((at) => at > Date.now(), 'must be in the future').optional(),
  senders: z
    .array(z.union([textUpTo(255).min(1), idField]).transform(String))
    .max(SCOPE_MAX)
    .default([])
    .describe('The only senders that it is for, each by its number in any spelling, its name or its id; none: all.'),
  addresses: z
    .array(textUpTo(50).pipe(networkSchema))
    .max(SCOPE_MAX)
    .default([])
    .describe('The only networks that it may be used from, such as `10.0.0.0/8`; none: all.'),
})

/** The key itself, in the one answer that shows it. */
const secretField = z.string().nullable().describe('The key, shown only now; null where a repeat of the request asks.')
const madeSchema = z.strictObject({ ...keyDocumentSchema.shape, key: secretField })
madeSchema.register(z.globalRegistry, { id: 'NewKey' })

const overlapSchema = z.strictObject({
  overlap_seconds: z
    .int()
    .min(0)
    .max(OVERLAP_MAX_SECONDS)
    .default(OVERLAP_SECONDS)
    .describe(`How long the old key is still good; a day unless given.`),
})

const key = {
  id: 'key_0f1e2d3c4b5a',
  name: 'order service',
  account: 1,
  permissions: ['messages:send', 'messages:read'],
  senders: null,
  addresses: null,
  state: 'active',
  expires_at: null,
  created_at: '2026-11-22T10:00:00.000Z',
  last_used_at: null,
}
const secret = 'lw_00000000000000000000000000000000000000'

export const keys = {
  list: route({
    method: 'get',
    path: '/admin/keys',
    summary: 'Lists keys without the keys themselves, the oldest first.',
    details: 'An operator that names no account gets the keys of the whole installation.',
    access,
    query: z.strictObject({ limit: pageFields.limit, cursor: textUpTo(40).optional() }),
    body: { as: 'ignored' },
    answers: { 200: listOf(keyDocumentSchema) },
    examples: [{ status: 200, answer: { status: true, data: [key], next: null } }],
  }),
  create: route({
    method: 'post',
    path: '/admin/keys',
    summary: 'Makes a key, shown only in this answer; it has never more than the key that makes it.',
    details:
      'Permissions, senders, addresses and expiry are bounded by those of the key that makes it. An operator that names ' +
      'no account makes one with the permission `operator`, of no account.',
    access,
    act: 'key.create',
    headers: idempotencyHeaders,
    body: { as: 'json', schema: newKeySchema },
    answers: { 201: doneWith(madeSchema) },
    errors: { 409: ['too_many_keys'], 422: ['idempotency_key_reused'] },
    examples: [
      {
        body: { name: 'order service', permissions: ['messages:send', 'messages:read'] },
        status: 201,
        answer: { status: true, message: 'created', data: { ...key, key: secret } },
      },
    ],
  }),
  revoke: route({
    method: 'delete',
    path: '/admin/keys/:key',
    summary: 'Revokes a key: it is refused everywhere within a second.',
    details:
      'Only an operator revokes the last key with `admin` of an account, and only the command line the last operator key.',
    access,
    act: 'key.revoke',
    params,
    body: { as: 'ignored' },
    answers: { 200: doneWith(keyDocumentSchema) },
    errors: { ...errors, 409: ['last_admin_key'] },
    examples: [
      {
        params: { key: key.id },
        status: 200,
        answer: { status: true, message: 'revoked', data: { ...key, state: 'revoked' } },
      },
    ],
  }),
  rotate: route({
    method: 'post',
    path: '/admin/keys/:key/rotate',
    summary: 'Makes a key that may do the same; the old one is good until the overlap is over.',
    access,
    act: 'key.rotate',
    params,
    headers: idempotencyHeaders,
    body: { as: 'json', schema: overlapSchema, mayBeAbsent: true },
    answers: { 201: doneWith(z.strictObject({ ...madeSchema.shape, replaces: keyDocumentSchema })) },
    errors: { ...errors, 409: ['wrong_state', 'too_many_keys'], 422: ['idempotency_key_reused'] },
    examples: [
      {
        params: { key: key.id },
        body: { overlap_seconds: 3600 },
        status: 201,
        answer: {
          status: true,
          message: 'rotated',
          data: {
            ...{ ...key, id: 'key_1b2c3d4e5f60', key: secret },
            replaces: { ...key, expires_at: '2026-11-22T11:00:00.000Z' },
          },
        },
      },
    ],
  }),
}
