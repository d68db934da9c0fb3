// Keys of an account, and for operators those of the whole installation.
import { z } from 'zod'
import { textUpTo } from '../../../kernel/bounded.ts'
import { instantSchema } from '../../../kernel/instant.ts'
import { networkSchema } from '../../../kernel/networks.ts'
import { anyPermissionSchema, keyDocumentSchema, keyIdSchema } from '../../../model/accounts/permissions.ts'
import { made, named, one } from '../answers.ts'
import { orNothing } from '../define.ts'
import { idField, pageQuery, plainText } from '../fields.ts'
import { resource } from '../resource.ts'

/** Most senders or networks of one key. */
const SCOPE_MAX = 100
const OVERLAP_MAX_SECONDS = 90 * 86_400
const OVERLAP_SECONDS = 86_400

const newKeySchema = z.strictObject({
  name: plainText(100)
    .default('')
    .describe('What lists and the activity call it, such as the application that uses it.'),
  permissions: z.array(anyPermissionSchema).min(1).max(20),
  expires_at: instantSchema
    .refine((at) => at > Date.now(), 'must be in the future')
    .optional()
    .describe('When it ends; without it the key does not expire.'),
  senders: z
    .array(z.union([textUpTo(255).min(1), idField]).transform(String))
    .max(SCOPE_MAX)
    .default([])
    .describe('The only senders that the key is for, each by number in any spelling, name or id; none: all.'),
  addresses: z
    .array(textUpTo(50).pipe(networkSchema))
    .max(SCOPE_MAX)
    .default([])
    .describe('The only networks that the key may be used from, such as `10.0.0.0/8`; none: all.'),
})

/** The key itself, in the one answer that shows it. */
const secretField = z.string().nullable().describe('The key, shown only now; null in the answer to a repeat.')
const madeSchema = named('NewKey', { ...keyDocumentSchema.shape, key: secretField })

const overlapSchema = z.strictObject({
  overlap_seconds: z
    .int()
    .min(0)
    .max(OVERLAP_MAX_SECONDS)
    .default(OVERLAP_SECONDS)
    .describe('How long the old key stays good.'),
})

const key = resource({
  noun: 'key',
  at: '/admin/keys',
  params: z.object({ key: keyIdSchema }),
  shown: { key: 'key_0f1e2d3c4b5a' },
  look: { in: 'bearer', permission: 'admin', withoutAccount: true },
  document: keyDocumentSchema,
  given: newKeySchema,
  query: pageQuery(40),
})

export const keys = {
  list: key.list('Lists keys without their secrets, the oldest first.', {
    details: 'An operator that names no account gets the keys of the whole installation.',
  }),
  create: key.create('Makes a key and shows it, for the only time.', {
    details:
      'Permissions, senders, addresses and expiry are bounded by those of the key that makes it. An operator that names ' +
      'no account makes one with the permission `operator`, of no account.',
    answers: made(madeSchema),
    errors: { 409: ['too_many_keys'] },
    examples: [{ body: { name: 'order service', permissions: ['messages:send', 'messages:read'] }, says: 'created' }],
  }),
  show: key.show('Shows a key without its secret, and on which days it was used.', {}),
  revoke: key.remove('Revokes a key: it is refused everywhere within a second.', {
    details:
      'Only an operator can revoke the last key with `admin` of an account, and only the command line the last operator key.',
    act: 'key.revoke',
    answers: one(keyDocumentSchema),
    errors: { 409: ['last_admin_key'] },
    examples: [{ says: 'revoked' }],
  }),
  rotate: key.ofOne.post(
    '/admin/keys/:key/rotate',
    'Makes a key with the same rights; the old one stays good for the overlap.',
    {
      act: 'key.rotate',
      idempotent: true,
      body: orNothing(overlapSchema),
      answers: made(z.strictObject({ ...madeSchema.shape, replaces: keyDocumentSchema })),
      errors: { 409: ['wrong_state', 'too_many_keys'] },
      examples: [{ body: { overlap_seconds: 3600 }, says: 'rotated' }],
    },
  ),
}
