// A message as its first record holds it, and how it follows from the job.

import { type SendPayload, textOfPayload } from '../../jobs/send.ts'
import type { Content, MessageClass } from '../../model/messages/content.ts'

/** The content of a new record. */
export interface NewMessage {
  to: string
  type: Content['type']
  text: string
  class: MessageClass
  validUntil: number
  sendAt?: number | undefined
  campaign: string | undefined
  reference?: string | undefined
  run: number | undefined
  /** Of a campaign's message: kept instead of the text, which is mostly the same for all recipients. */
  filled?: readonly string[] | undefined
  /** A person had it sent although an earlier one may have gone out: a possible duplicate. */
  again?: boolean
}

/** The message that a job is about. */
export const newMessageOf = (payload: SendPayload): NewMessage => ({
  to: payload.to,
  type: payload.content.type,
  text: textOfPayload(payload),
  class: payload.class,
  validUntil: payload.until,
  ...(payload.sendAt !== undefined && { sendAt: payload.sendAt }),
  campaign: payload.campaign,
  ...(payload.reference !== undefined && { reference: payload.reference }),
  run: payload.run,
  filled: payload.filled,
  ...(payload.again && { again: payload.again }),
})
