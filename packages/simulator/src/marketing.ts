// The address for marketing (`/marketing_messages`), which takes approved marketing templates and nothing else, and the
// clicks that it reports. A template that the account does not list is taken for marketing.

import { z } from 'zod'
import type { Refusal } from './chat-errors.ts'
import type { ChatProduct } from './chat-product.ts'
import type { GraphAccount } from './graph-account.ts'
import { type CheckedMessage, templateName } from './message-schema.ts'
import type { Submission } from './submission.ts'
import { metadataOf } from './webhook-body.ts'

/**
 * What becomes of a message that came to this address. An account that is not onboarded
 * (`account.business.marketing_messages_onboarding_status`) has it sent the usual way, unless the policy is STRICT: which code
 * WhatsApp then answers with is not published.
 */
export function routeOf(
  graph: GraphAccount,
  message: CheckedMessage,
): Pick<Submission, 'productPolicy' | 'category'> | { refusal: Refusal } {
  if (message.type !== 'template') return { refusal: { code: 134100 } }
  const { name, language } = templateName(message.template)
  if ((graph.categoryOf(name, language) ?? 'MARKETING') !== 'MARKETING') return { refusal: { code: 134100 } }
  const productPolicy = ('product_policy' in message && message.product_policy) || 'CLOUD_API_FALLBACK'
  if (graph.takesMarketing()) return { productPolicy, category: 'marketing_lite' }
  return productPolicy === 'STRICT' ? { refusal: { code: 134102 } } : { productPolicy, category: 'marketing' }
}

/** Body of `POST /_click`. */
export const clickSchema = z.strictObject({
  sender: z.string().regex(/^\d{1,20}$/, 'must be a phone number id (digits)'),
  type: z.enum(['marketing_messages_link_click', 'landing_page_view']).default('marketing_messages_link_click'),
  component: z.enum(['cta', 'body']).default('cta'),
  /** How many people click. */
  people: z.int().min(1).max(1_000).default(1),
})

let clicks = 0

/** People tap marketing of a number. As with WhatsApp, the webhook names neither them nor the message. */
export async function click(
  { webhooks, displayNumberOf }: ChatProduct,
  { sender, type, component, people }: z.infer<typeof clickSchema>,
): Promise<{ delivered: boolean }> {
  const atMs = Date.now()
  const user_actions = Array.from({ length: people }, () => {
    clicks += 1
    const data = { click_id: `click-${clicks}`, tracking_token: `token-${clicks}` }
    const of = type === 'landing_page_view' ? data : { click_component: component, ...data }
    return { action_type: type, timestamp: String(Math.floor(atMs / 1000)), marketing_messages_link_click_data: of }
  })
  const value = { messaging_product: 'whatsapp', metadata: metadataOf(sender, displayNumberOf), user_actions }
  return { delivered: await webhooks.deliver([{ accountUpdate: { field: 'messages', value, atMs } }]) }
}
