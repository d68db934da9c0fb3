// `POST /_control`: makes the simulator misbehave, switches limits on and moves the webhooks, while it runs.

import { z } from 'zod'
import { BEHAVIOURS, behaviourNamed } from './behaviours.ts'
import { CHAT_ERRORS, isChatErrorCode } from './chat-errors.ts'
import type { ChatProduct } from './chat-product.ts'
import { accountControlSchema } from './graph-account.ts'
import { digitsOf } from './message-schema.ts'
import { plansSchema } from './physics/plan.ts'
import type { Uploads } from './uploads.ts'

const matchSchema = z.strictObject({
  to: z.string().transform(digitsOf).pipe(z.string().min(1, 'must be a phone number')).optional(),
  sender: z.string().min(1).optional(),
  wire: z.enum(['partner', 'cloud']).optional(),
  every: z.int().min(1).optional(),
  probability: z.number().min(0).max(1).optional(),
})

/** Body of `POST /_control`. */
export const controlSchema = z
  .strictObject({
    /** Removes all rules, before a new one is added. */
    clear: z.literal(true).optional(),
    match: matchSchema.optional(),
    behaviour: z
      .string()
      .refine((name) => behaviourNamed(name) !== undefined, 'no behaviour has this name; GET /_behaviours lists them')
      .optional(),
    count: z.int().min(1).optional(),
    seed: z.int().optional(),
    webhook_url: z
      .url({ protocol: /^https?$/, error: 'must be an absolute http or https address' })
      .nullable()
      .optional(),
    honours_idempotency: z.boolean().optional(),
    /** Milliseconds before a lookup of the partner wire is answered. */
    lookup_delay_ms: z.int().min(0).max(60_000).optional(),
    /** Milliseconds before the request of a message is answered, whatever the answer. */
    answer_delay_ms: z.int().min(0).max(60_000).optional(),
    pair_limit: z.boolean().optional(),
    window_24h: z.boolean().optional(),
    /** Messages per second and sender; null switches the limit off. */
    throughput: z.int().min(1).max(100_000).nullable().optional(),
    /** Hidden rules of portfolios; null switches all off. */
    physics: plansSchema.nullable().optional(),
    /** What the Graph API answers about templates, numbers, accounts and tokens. */
    account: accountControlSchema.optional(),
    /** Every link of a file is refused with 429 where WhatsApp fetches it. */
    links_refused: z.boolean().optional(),
    /** Milliseconds that the id of an upload is good for. */
    media_lasts_ms: z.int().min(0).optional(),
    /** All ids of uploads end now. */
    end_media: z.literal(true).optional(),
    /** A code that uploads are refused with; null: none is. */
    uploads_refused_with: z
      .int()
      .refine((code) => code in CHAT_ERRORS, 'no such code is known')
      .nullable()
      .optional(),
    /** Milliseconds before an upload is answered. */
    upload_delay_ms: z.int().min(0).max(600_000).optional(),
  })
  .refine(({ behaviour, match, count, seed }) => behaviour !== undefined || (match ?? count ?? seed) === undefined, {
    error: 'is required with match, count or seed',
    path: ['behaviour'],
  })

type Control = z.infer<typeof controlSchema>

/** Applies a control request and returns the settings then in force. */
export function control(product: ChatProduct, body: Control): Record<string, unknown> {
  if (body.clear === true) product.rules.clear()
  const behaviour = body.behaviour === undefined ? undefined : behaviourNamed(body.behaviour)
  if (behaviour !== undefined) {
    product.rules.add({ match: body.match ?? {}, behaviour, count: body.count, seed: body.seed })
  }
  if (body.webhook_url !== undefined) product.webhooks.url = body.webhook_url
  if (body.honours_idempotency !== undefined) product.honoursIdempotency = body.honours_idempotency
  if (body.lookup_delay_ms !== undefined) product.lookupDelayMs = body.lookup_delay_ms
  if (body.answer_delay_ms !== undefined) product.answerDelayMs = body.answer_delay_ms
  if (body.pair_limit !== undefined) product.limits.pairLimit = body.pair_limit
  if (body.window_24h !== undefined) product.limits.window24h = body.window_24h
  if (body.throughput !== undefined) product.limits.throughput = body.throughput
  if (body.physics !== undefined) product.switchPhysicsOn(body.physics ?? [])
  if (body.account !== undefined) product.graph.set(body.account)
  controlUploads(product.uploads, body)
  return {
    rules: product.rules.list(),
    webhook_url: product.webhooks.url,
    honours_idempotency: product.honoursIdempotency,
    lookup_delay_ms: product.lookupDelayMs,
    answer_delay_ms: product.answerDelayMs,
    pair_limit: product.limits.pairLimit,
    window_24h: product.limits.window24h,
    throughput: product.limits.throughput,
    physics: product.physics.plans(),
    account: product.graph.shown(),
    links_refused: product.uploads.linksRefused,
    media_lasts_ms: product.uploads.lastsMs,
    uploads_refused_with: product.uploads.refusedWith,
    upload_delay_ms: product.uploads.delayMs,
  }
}

function controlUploads(uploads: Uploads, body: Control): void {
  if (body.links_refused !== undefined) uploads.linksRefused = body.links_refused
  if (body.media_lasts_ms !== undefined) uploads.lastsMs = body.media_lasts_ms
  if (body.end_media === true) uploads.endAll()
  const code = body.uploads_refused_with
  if (code === null) uploads.refusedWith = null
  else if (code !== undefined && isChatErrorCode(code)) uploads.refusedWith = code
  if (body.upload_delay_ms !== undefined) uploads.delayMs = body.upload_delay_ms
}

/** The table for people and programs: name, number in the usual spelling, and what happens. */
export function behaviourTable(): { name: string; number: string; what: string }[] {
  return BEHAVIOURS.map(({ name, number, sentence }) => ({ name, number: `+${number}`, what: sentence }))
}
