// The limits of an account, and what of them is used.
import { z } from 'zod'
import { LIMIT_SETTINGS, type LimitSetting } from '../../../accounts/limits.ts'
import { route } from '../../route.ts'

const names = Object.keys(LIMIT_SETTINGS) as [LimitSetting, ...LimitSetting[]]

const limitInForceSchema = z.strictObject({
  limit: z.enum(names).describe('By the name of the setting of the account.'),
  most: z
    .int()
    .positive()
    .nullable()
    .describe('Messages, campaigns, contacts, bytes or requests a second; null: no limit.'),
  own: z.boolean().describe('Whether it is the account’s own; else it is the installation’s.'),
  used: z.int().nonnegative().nullable().describe('Null where the limit is of each second.'),
})
limitInForceSchema.register(z.globalRegistry, { id: 'LimitInForce' })

export const limits = {
  list: route({
    method: 'get',
    path: '/admin/limits',
    summary: 'Tells the limits of the account that are in force, and how much of each is used.',
    access: { in: 'bearer', permission: 'admin' },
    query: z.strictObject({}),
    body: { as: 'ignored' },
    answers: { 200: z.strictObject({ status: z.literal(true), data: z.array(limitInForceSchema) }) },
    examples: [
      {
        status: 200,
        answer: { status: true, data: [{ limit: 'limit.waiting', most: 10_000_000, own: false, used: 1_240 }] },
      },
    ],
  }),
}
