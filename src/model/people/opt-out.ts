// The public form of an opt-out: a person wants no advertising of an account.

import { z } from 'zod'

/**
 * `word`: they wrote one of the account's stop words. `provider`: WhatsApp said so when a message was sent to
 * them. `http`, `cli`: somebody of the account wrote it down.
 */
export const OPT_OUT_SOURCES = ['word', 'provider', 'http', 'cli'] as const
export type OptOutSource = (typeof OPT_OUT_SOURCES)[number]

export const optOutSchema = z.strictObject({
  person: z.string().describe('Digits, or the id of a person without a number.'),
  source: z
    .enum(OPT_OUT_SOURCES)
    .describe('`word`: they wrote a stop word. `provider`: WhatsApp said so. Else who wrote it down.'),
  since: z.iso.datetime(),
})
optOutSchema.register(z.globalRegistry, { id: 'OptOut' })
export type OptOut = z.infer<typeof optOutSchema>
