// The requests of an opened flow, and the request to the account's own server.
import { z } from 'zod'
import { textUpTo } from '../kernel/bounded.ts'

/** The path of a flow: a name that its account gives it. */
export const FLOW_NAME = /^[A-Za-z0-9_-]{1,100}$/

const word = textUpTo(512).optional()

/** What was encrypted. WhatsApp may add fields; they go on as they are. */
export const flowRequestSchema = z.looseObject({
  version: word,
  /** `INIT`, `BACK`, `data_exchange`, or `ping` for the health check. */
  action: textUpTo(100),
  screen: word,
  flow_token: textUpTo(2_048).optional(),
  flow_token_signature: textUpTo(8_192).optional(),
  data: z.record(z.string(), z.unknown()).optional(),
})
export type FlowRequest = z.infer<typeof flowRequestSchema>

/** The answer to WhatsApp's health check. */
export const ALIVE = { data: { status: 'active' } }
/** The answer to its report that an answer before was wrong. */
export const ACKNOWLEDGED = { data: { acknowledged: true } }

/** Whether WhatsApp reports that it could not use an answer: `data.error` has the reason. */
export const isErrorReport = ({ data }: FlowRequest): boolean => data?.error !== undefined

/** The public form of the settings. */
export const flowSettingsSchema = z
  .strictObject({
    address: z.string().nullable().describe('The address of the account’s own server; null: none.'),
    secrets: z.int().describe('How many secrets sign the requests to it.'),
    keys: z
      .array(
        z.strictObject({
          id: z.string(),
          created_at: z.iso.datetime(),
          public_key: z.string().describe('PEM, to be uploaded to WhatsApp.'),
        }),
      )
      .describe('The newest first; requests under any of them are opened.'),
  })
  .meta({ id: 'FlowSettings' })
export type FlowSettings = z.infer<typeof flowSettingsSchema>
