// The shape of a send request on each wire, as zod schemas: fields, limits and what the wires disagree on. Limits are
// WhatsApp's published ones. The components of a template are checked in template-check.ts, because there the
// error codes depend on more than the shape.

import { z } from 'zod'
import { context, plainKinds } from './kinds-schema.ts'
import { fault, link, oneSource, source, text, type Wire } from './schema-parts.ts'

/** Plus, spaces, dashes, dots and brackets are tolerated by WhatsApp. */
const recipient = z.string().refine((to) => /^\+?[\d\s().-]{7,40}$/.test(to) && /^\d{7,15}$/.test(digitsOf(to)), {
  error: 'must be a phone number with country code',
})

const filename = z.string().min(1)

const textHeader = z.strictObject({ type: z.literal('text'), text: text(60) })

function header(wire: Wire) {
  const medium = z.strictObject(source).refine(...oneSource(wire))
  const file = z.strictObject({ ...source, filename: wire === 'cloud' ? filename.optional() : filename })
  return z.discriminatedUnion('type', [
    textHeader,
    z.strictObject({ type: z.literal('image'), image: medium }),
    z.strictObject({ type: z.literal('video'), video: medium }),
    z.strictObject({ type: z.literal('document'), document: file.refine(...oneSource(wire)) }),
  ])
}

const body = z.strictObject({ text: text(1024) })
const footer = z.strictObject({ text: text(60) }).optional()

const section = z.strictObject({
  title: text(24).optional(),
  rows: z.array(z.strictObject({ id: text(200), title: text(24), description: z.string().max(72).optional() })).min(1),
})

const sections = z
  .array(section)
  .min(1)
  .max(10)
  .refine(
    (all) => all.reduce((sum, one) => sum + one.rows.length, 0) <= 10,
    fault(131009, 'total row count exceeds max allowed count: 10'),
  )
  .refine(
    (all) => all.length === 1 || all.every((one) => one.title !== undefined),
    fault(131009, 'every section needs a title when there is more than one'),
  )
  .refine((all) => allDiffer(all.flatMap((one) => one.rows.map((row) => row.id))), fault(131009, 'duplicated row id'))

const buttons = z
  .array(
    z.strictObject({
      type: z.literal('reply'),
      reply: z.strictObject({
        id: text(256).refine((id) => id.trim() === id, fault(131009, 'has a leading or trailing space')),
        title: text(20),
      }),
    }),
  )
  .min(1)
  .max(3)
  .refine((all) => allDiffer(all.map((one) => one.reply.id)), fault(131009, 'duplicated button id'))
  .refine((all) => allDiffer(all.map((one) => one.reply.title)), fault(131009, 'duplicated button title'))

const productId = text(100)

/** Forms and products, which the partner wire does not have. */
const cloudOnly = [
  z.strictObject({
    type: z.literal('flow'),
    header: header('cloud').optional(),
    body,
    footer,
    action: z.strictObject({
      name: z.literal('flow'),
      parameters: z
        .strictObject({
          flow_message_version: z.literal('3'),
          flow_id: z.string().min(1).optional(),
          flow_name: z.string().min(1).optional(),
          flow_token: z.string().optional(),
          flow_cta: text(30),
          flow_action: z.enum(['navigate', 'data_exchange']).optional(),
          flow_action_payload: z
            .strictObject({ screen: z.string().optional(), data: z.record(z.string(), z.unknown()).optional() })
            .optional(),
          mode: z.enum(['draft', 'published']).optional(),
        })
        .refine(
          ({ flow_id, flow_name }) => (flow_id === undefined) !== (flow_name === undefined),
          fault(131009, 'needs exactly one of flow_id and flow_name'),
        ),
    }),
  }),
  z.strictObject({
    type: z.literal('product'),
    body: body.optional(),
    footer,
    action: z.strictObject({ catalog_id: z.string().min(1), product_retailer_id: productId }),
  }),
  z.strictObject({
    type: z.literal('product_list'),
    header: textHeader,
    body,
    footer,
    action: z.strictObject({
      catalog_id: z.string().min(1),
      sections: z
        .array(
          z.strictObject({
            title: text(24).optional(),
            product_items: z.array(z.strictObject({ product_retailer_id: productId })).min(1),
          }),
        )
        .min(1)
        .max(10)
        .refine(
          (all) => all.reduce((sum, one) => sum + one.product_items.length, 0) <= 30,
          fault(131009, 'total product count exceeds max allowed count: 30'),
        )
        .refine(
          (all) => all.length === 1 || all.every((one) => one.title !== undefined),
          fault(131009, 'every section needs a title when there is more than one'),
        ),
    }),
  }),
  z.strictObject({
    type: z.literal('catalog_message'),
    body,
    footer,
    action: z.strictObject({
      name: z.literal('catalog_message'),
      parameters: z.strictObject({ thumbnail_product_retailer_id: productId.optional() }).optional(),
    }),
  }),
] as const

/** Lists take only text headers on the cloud wire; buttons must have a header on the partner wire. */
function interactive(wire: Wire) {
  return z.discriminatedUnion('type', [
    z.strictObject({
      type: z.literal('list'),
      header: wire === 'partner' ? header(wire).optional() : textHeader.optional(),
      body,
      footer,
      action: z.strictObject({ button: text(20), sections }),
    }),
    z.strictObject({
      type: z.literal('button'),
      header: wire === 'partner' ? header(wire) : header(wire).optional(),
      body,
      footer,
      action: z.strictObject({ buttons }),
    }),
    z.strictObject({
      type: z.literal('cta_url'),
      header: header(wire).optional(),
      body,
      footer,
      action: z.strictObject({
        name: z.literal('cta_url'),
        parameters: z.strictObject({ display_text: text(20), url: link }),
      }),
    }),
    z.strictObject({
      type: z.literal('location_request_message'),
      body,
      action: z.strictObject({ name: z.literal('send_location') }),
    }),
    ...(wire === 'cloud' ? cloudOnly : []),
  ])
}

const template = z.strictObject({
  name: z.string().min(1).max(512),
  language: z.strictObject({ code: z.string().min(1), policy: z.literal('deterministic').optional() }),
  components: z.array(z.looseObject({ type: z.string() })).optional(),
})

export type Template = z.infer<typeof template>

/** What identifies a template. */
export const templateName = ({ name, language }: Template) => ({ name, language: language.code })
export type Component = NonNullable<Template['components']>[number]

const cloudEnvelope = {
  messaging_product: z.literal('whatsapp'),
  recipient_type: z.literal('individual').default('individual'),
  to: recipient.optional(),
  /** A business-scoped user id; where both are given, `to` wins. */
  recipient: z
    .string()
    .regex(/^[A-Z]{2}\.(ENT\.)?[0-9A-Za-z]{1,128}$/)
    .optional(),
  biz_opaque_callback_data: z.string().max(512).optional(),
}

/** `POST /v{n}.{m}/{phone-number-id}/messages`. */
export const cloudMessage = z.discriminatedUnion('type', [
  ...plainKinds('cloud', cloudEnvelope),
  z.strictObject({ ...cloudEnvelope, type: z.literal('interactive'), interactive: interactive('cloud'), context }),
  z.strictObject({ ...cloudEnvelope, type: z.literal('template'), template }),
])

/** `POST /v{n}.{m}/{phone-number-id}/marketing_messages`. */
export const marketingMessage = z.strictObject({
  ...cloudEnvelope,
  type: z.literal('template'),
  template,
  product_policy: z.enum(['CLOUD_API_FALLBACK', 'STRICT']).optional(),
  message_activity_sharing: z.boolean().optional(),
})

const partnerEnvelope = {
  to: recipient,
  recipient_type: z.literal('individual'),
  messaging_product: z.literal('chatapp'),
  api_key: z.string(),
}

/** `POST /sendservicemessages/sendmessages`. */
export const partnerServiceMessage = z.discriminatedUnion('type', [
  ...plainKinds('partner', partnerEnvelope),
  z.strictObject({ ...partnerEnvelope, type: z.literal('interactive'), interactive: interactive('partner'), context }),
])

/** `POST /chatappbusiness/send-templated-message`. */
export const partnerTemplateMessage = z.strictObject({
  ...partnerEnvelope,
  sender: z.string().min(1),
  campaign_id: z.string().max(255).optional(),
  type: z.literal('template'),
  template,
})

export type PartnerMessage = z.infer<typeof partnerServiceMessage> | z.infer<typeof partnerTemplateMessage>
export type CheckedMessage = z.infer<typeof cloudMessage> | z.infer<typeof marketingMessage> | PartnerMessage

/** A phone number as WhatsApp writes it: digits only. */
export function digitsOf(phone: string): string {
  return phone.replace(/\D/g, '')
}

function allDiffer(values: readonly string[]): boolean {
  return new Set(values).size === values.length
}
