// Accounts: the owners of everything else, for operators; and for an account its limits.
import { z } from 'zod'
import { LIMIT_SETTINGS, type LimitSetting, limitFields, limitSchema } from '../../../model/accounts/limits.ts'
import { accountSettings } from '../../../model/accounts/settings.ts'
import { bare, named } from '../answers.ts'
import { routesOf } from '../define.ts'
import { changesOf, nameField, textIdField } from '../fields.ts'
import { resource } from '../resource.ts'

const settings = {
  contacts_shape: accountSettings.contacts_shape.unwrap(),
  template_check: accountSettings.template_check.unwrap(),
  'policy.transactional': accountSettings['policy.transactional'].unwrap(),
  'policy.campaign': accountSettings['policy.campaign'].unwrap(),
  'opt_out.stop_words': accountSettings['opt_out.stop_words'].unwrap(),
  'opt_out.start_words': accountSettings['opt_out.start_words'].unwrap(),
  'opt_out.transactional': accountSettings['opt_out.transactional'].unwrap(),
  outside_window: accountSettings.outside_window.unwrap(),
  keep_received_media: accountSettings.keep_received_media.unwrap(),
  unknown_fields: accountSettings.unknown_fields.unwrap(),
  ...limitFields(limitSchema),
}

/** Every setting, by its name on the command line: a limit of null is the installation's. */
const accountSchema = named('Account', { id: z.int(), name: z.string(), ...settings })

const account = resource({
  noun: 'account',
  at: '/admin/accounts',
  params: z.object({ id: textIdField }),
  shown: { id: '1' },
  look: { in: 'bearer', permission: 'operator', withoutAccount: true },
  document: accountSchema,
  given: z.strictObject({ name: nameField(100) }),
  changes: changesOf(settings, 'setting'),
})

export const accounts = {
  list: account.list('Lists all accounts with their settings.', {}),
  create: account.create('Creates an account with the default settings.', {
    examples: [{ body: { name: 'Corner shop' }, says: 'created' }],
  }),
  show: account.show('Shows an account with its settings.', {}),
  change: account.change('Changes settings of an account, all that are given or none.', {
    details: 'A limit (`limit.…`) of 0 means none, and null that of the installation.',
    act: 'account.set',
    examples: [{ body: { template_check: 'on' }, says: 'changed' }],
  }),
  remove: account.remove('Removes an account whose senders have nothing to do; takes about 2 s.', {
    details:
      'Its keys end at once; senders, contacts, gallery, templates, endpoints and settings go. Messages and opt-outs are ' +
      'kept until the last message has ended, and then go too.',
    errors: { 409: ['sender_busy'] },
    examples: [{ params: { id: '9' }, says: 'removed' }],
  }),
}

const limitNames = Object.keys(LIMIT_SETTINGS) as [LimitSetting, ...LimitSetting[]]

/** One of the limits of an account, and how much of it is used. */
const limitInForce = named('LimitInForce', {
  limit: z.enum(limitNames).describe('The name of the setting of the account.'),
  most: z
    .int()
    .positive()
    .nullable()
    .describe('Messages, campaigns, contacts, bytes or requests a second; null: no limit.'),
  own: z.boolean().describe('True for a limit of the account, false for that of the installation.'),
  used: z.int().nonnegative().nullable().describe('Null for a limit per second.'),
})
export type LimitInForce = z.infer<typeof limitInForce>

const own = routesOf({ access: { in: 'bearer', permission: 'admin' } })

export const limits = {
  list: own.get('/admin/limits', 'Lists the limits in force for the account and how much of each is used.', {
    mcp: 'read',
    query: z.strictObject({}),
    answers: { 200: bare(z.array(limitInForce)) },
  }),
}
