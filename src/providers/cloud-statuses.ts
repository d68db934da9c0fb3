// Reads the statuses of a webhook: the outcomes of messages that we sent.

import { z } from 'zod'
import { cutText } from '../kernel/cut-text.ts'
import type { Evidence } from '../model/messages/lifecycle.ts'
import type { Problem } from '../model/messages/outcome.ts'
import { packPricing } from '../model/messages/pricing.ts'
import { codeEntry } from '../model/messages/provider-codes.ts'
import { isProviderId } from './answer-body.ts'
import { spare, webhookTime } from './webhook-fields.ts'

/** A webhook's report on a message that we sent. */
export interface StatusUpdate {
  /** WhatsApp's id of the message. */
  providerId: string
  /** What our request carried, if anything; see cloud-api.ts. */
  opaque: string | undefined
  status: Evidence
  /** Epoch ms; undefined where WhatsApp gives no valid time. */
  atMs: number | undefined
  problem: Problem | undefined
  /** Its report of the price, as `packPricing` packs it. */
  pricing: string | undefined
}

/** What went wrong, in WhatsApp's words. */
export const reportedError = z.object({
  // Some who forward webhooks write figures as text.
  code: z.union([
    z.number(),
    z
      .string()
      .regex(/^\d{1,9}$/)
      .transform(Number),
  ]),
  title: spare(z.string()),
  error_data: spare(z.object({ details: z.string().optional() })),
})

const statusItem = z.object({
  id: z.string().refine(isProviderId),
  status: z.enum(['sent', 'delivered', 'read', 'failed', 'played']),
  // What became of a message is worth more than when: without a time it is taken for now.
  timestamp: spare(webhookTime),
  biz_opaque_callback_data: spare(z.string().max(512)),
  pricing: z.unknown().optional(),
  // Only the first is read: there is never another, and a list of 100,000 odd ones takes seconds to refuse.
  errors: spare(z.array(z.unknown()).transform(([first]) => reportedError.safeParse(first).data)),
})

/** One item of `statuses`; undefined for what cannot be read. */
export function readStatus(raw: unknown): StatusUpdate | undefined {
  const { data: item } = statusItem.safeParse(raw)
  if (item === undefined) return undefined
  return {
    providerId: item.id,
    opaque: item.biz_opaque_callback_data,
    // A voice message that was played was read.
    status: item.status === 'played' ? 'read' : item.status,
    atMs: item.timestamp,
    problem: item.status !== 'failed' ? undefined : item.errors ? problemOf(item.errors) : NO_REASON,
    pricing: packPricing(item.pricing),
  }
}

const NO_REASON: Problem = { code: 'failed', sentence: 'WhatsApp reports that it failed and gives no reason.' }

/** The contents of an error that WhatsApp reports. */
export function problemOf(error: z.infer<typeof reportedError>): Problem {
  const details = error.error_data?.details ?? error.title
  const sentence = `WhatsApp reports: ${codeEntry(error.code).means} (code ${error.code})`
  return { code: String(error.code), sentence: details ? `${sentence}: ${cutText(details, 200)}` : sentence }
}
