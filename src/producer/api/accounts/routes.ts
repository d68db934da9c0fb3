// Accounts: the owners of everything else. For operators.
import { z } from 'zod'
import { LIMIT_SETTINGS, limitSchema } from '../../../accounts/limits.ts'
import { accountSettings } from '../../../accounts/settings.ts'
import { route } from '../../route.ts'
import { done, doneWith, listOf } from '../answers.ts'
import { changesOf, idempotencyHeaders, nameField, pageFields, textIdField } from '../fields.ts'

const access = { in: 'bearer', permission: 'operator', withoutAccount: true } as const
const params = z.object({ id: textIdField })
const errors = { 404: ['not_found'] } as const

const settings = {
  contacts_shape: accountSettings.contacts_shape.unwrap(),
  template_check: accountSettings.template_check.unwrap(),
  'policy.transactional': accountSettings['policy.transactional'].unwrap(),
  'policy.campaign': accountSettings['policy.campaign'].unwrap(),
  'opt_out.stop_words': accountSettings['opt_out.stop_words'].unwrap(),
  'opt_out.start_words': accountSettings['opt_out.start_words'].unwrap(),
  'opt_out.transactional': accountSettings['opt_out.transactional'].unwrap(),
  outside_window: accountSettings.outside_window.unwrap(),
  'limit.key_rate': limitSchema,
  'limit.account_rate': limitSchema,
  'limit.waiting': limitSchema,
  'limit.drafts': limitSchema,
  'limit.rows_bytes': limitSchema,
  'limit.gallery_bytes': limitSchema,
  'limit.contacts': limitSchema,
}

/** Every setting, by the names of the command line: a limit that is null is the installation's. */
const accountSchema = z.strictObject({
  id: z.int(),
  name: z.string(),
  ...settings,
})
accountSchema.register(z.globalRegistry, { id: 'Account' })

/** A page of accounts: the ids of accounts that follow `cursor`. */
const query = z.strictObject({ limit: pageFields.limit, cursor: textIdField.optional() })

const changes = changesOf(settings, 'setting')

const example = {
  id: 1,
  name: 'Corner shop',
  contacts_shape: 'records',
  template_check: 'on',
  'policy.transactional': 'at_least_once',
  'policy.campaign': 'at_most_once',
  'opt_out.stop_words': 'stop,unsubscribe',
  'opt_out.start_words': 'start',
  'opt_out.transactional': 'send',
  outside_window: 'warn',
  ...Object.fromEntries(Object.keys(LIMIT_SETTINGS).map((name) => [name, null])),
}

export const accounts = {
  list: route({
    method: 'get',
    path: '/admin/accounts',
    summary: 'Lists all accounts with their settings.',
    access,
    query,
    body: { as: 'ignored' },
    answers: { 200: listOf(accountSchema) },
    examples: [{ status: 200, answer: { status: true, data: [example], next: null } }],
  }),
  create: route({
    method: 'post',
    path: '/admin/accounts',
    summary: 'Creates an account with the default settings.',
    access,
    act: 'account.create',
    headers: idempotencyHeaders,
    body: { as: 'json', schema: z.strictObject({ name: nameField(100) }) },
    answers: { 201: doneWith(accountSchema) },
    errors: { 422: ['idempotency_key_reused'] },
    examples: [
      {
        body: { name: 'Corner shop' },
        status: 201,
        answer: { status: true, message: 'created', data: example },
      },
    ],
  }),
  show: route({
    method: 'get',
    path: '/admin/accounts/:id',
    summary: 'Shows an account with its settings.',
    access,
    params,
    body: { as: 'ignored' },
    answers: { 200: doneWith(accountSchema) },
    errors,
    examples: [{ params: { id: '1' }, status: 200, answer: { status: true, message: 'account', data: example } }],
  }),
  change: route({
    method: 'patch',
    path: '/admin/accounts/:id',
    summary: 'Changes settings of an account, all that are given or none.',
    details: 'A limit (`limit.…`) of 0 is none, and of null the one of the installation.',
    access,
    act: 'account.set',
    params,
    body: { as: 'json', schema: changes },
    answers: { 200: doneWith(accountSchema) },
    errors,
    examples: [
      {
        params: { id: '1' },
        body: { template_check: 'on' },
        status: 200,
        answer: { status: true, message: 'changed', data: example },
      },
    ],
  }),
  remove: route({
    method: 'delete',
    path: '/admin/accounts/:id',
    summary: 'Removes an account whose senders have nothing to do; takes about 2 s.',
    details:
      'Its keys end at once; senders, contacts, gallery, templates, endpoints and settings go. Messages and opt-outs are kept until the last message has ended, and then go too.',
    access,
    act: 'account.remove',
    params,
    body: { as: 'ignored' },
    answers: { 200: done },
    errors: { ...errors, 409: ['sender_busy'] },
    examples: [{ params: { id: '9' }, status: 200, answer: { status: true, message: 'removed' } }],
  }),
}
