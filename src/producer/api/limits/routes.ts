// The limits of an account, and how much of each is used.
import { z } from 'zod'
import { LIMIT_SETTINGS, type LimitSetting } from '../../../accounts/settings.ts'
import { bare, named } from '../answers.ts'
import { routesOf } from '../define.ts'

const route = routesOf({ access: { in: 'bearer', permission: 'admin' } })
const names = Object.keys(LIMIT_SETTINGS) as [LimitSetting, ...LimitSetting[]]

const limitInForce = named('LimitInForce', {
  limit: z.enum(names).describe('The name of the setting of the account.'),
  most: z
    .int()
    .positive()
    .nullable()
    .describe('Messages, campaigns, contacts, bytes or requests a second; null: no limit.'),
  own: z.boolean().describe('True for a limit of the account, false for that of the installation.'),
  used: z.int().nonnegative().nullable().describe('Null for a limit per second.'),
})

export const limits = {
  list: route.get('/admin/limits', 'Lists the limits in force for the account and how much of each is used.', {
    query: z.strictObject({}),
    answers: { 200: bare(z.array(limitInForce)) },
  }),
}
