// The shape of a send request on each wire, as zod schemas: fields, limits and what the wires disagree on. Limits are
// the chat product's published ones. The components of a template are looked at in template-check.ts, because there the
// error codes depend on more than the shape.

import { z } from 'zod'

type Wire = 'partner' | 'cloud'

const text = (max: number) => z.string().min(1).max(max)
const link = z
  .string()
  .max(2048)
  .regex(/^https?:\/\/[^\s/]/i)
/** Plus, spaces, dashes, dots and brackets are tolerated by the chat product. */
const recipient = z.string().refine((to) => /^\+?[\d\s().-]{7,40}$/.test(to) && /^\d{7,15}$/.test(digitsOf(to)), {
  error: 'must be a phone number with country code',
})

/** A problem that the shape cannot express, with the chat product's code for it. */
function fault(code: number, message: string) {
  return { error: message, params: { code } }
}

/** Where the bytes of a medium come from: a link or, on the cloud wire only, the id of an upload. */
const source = { id: z.string().min(1).optional(), link: link.optional() }

/** Arguments of `refine` for every object that names a medium. */
function oneSource(wire: Wire) {
  const check = (media: { id?: string | undefined; link?: string | undefined }) =>
    wire === 'cloud'
      ? (media.id === undefined) !== (media.link === undefined)
      : media.id === undefined && media.link !== undefined
  return [check, fault(100, wire === 'cloud' ? 'needs exactly one of id and link' : 'needs a link')] as const
}

const caption = z.string().max(1024).optional()
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
  ])
}

const template = z.strictObject({
  name: z.string().min(1).max(512),
  language: z.strictObject({ code: z.string().min(1), policy: z.literal('deterministic').optional() }),
  components: z.array(z.looseObject({ type: z.string() })).optional(),
})

export type Template = z.infer<typeof template>
export type Component = NonNullable<Template['components']>[number]

const captioned = (wire: Wire) => z.strictObject({ ...source, caption }).refine(...oneSource(wire))

const cloudEnvelope = {
  messaging_product: z.literal('whatsapp'),
  recipient_type: z.literal('individual').default('individual'),
  to: recipient,
  biz_opaque_callback_data: z.string().max(512).optional(),
}

/** `POST /v{n}.{m}/{phone-number-id}/messages`. Of the chat product's kinds, those that the product sends, and text. */
export const cloudMessage = z.discriminatedUnion('type', [
  z.strictObject({
    ...cloudEnvelope,
    type: z.literal('text'),
    text: z.strictObject({ body: text(4096), preview_url: z.boolean().optional() }),
  }),
  z.strictObject({ ...cloudEnvelope, type: z.literal('interactive'), interactive: interactive('cloud') }),
  z.strictObject({ ...cloudEnvelope, type: z.literal('image'), image: captioned('cloud') }),
  z.strictObject({ ...cloudEnvelope, type: z.literal('video'), video: captioned('cloud') }),
  z.strictObject({
    ...cloudEnvelope,
    type: z.literal('audio'),
    audio: z.strictObject({ ...source, voice: z.boolean().optional() }).refine(...oneSource('cloud')),
  }),
  z.strictObject({
    ...cloudEnvelope,
    type: z.literal('document'),
    document: z.strictObject({ ...source, caption, filename: filename.optional() }).refine(...oneSource('cloud')),
  }),
  z.strictObject({ ...cloudEnvelope, type: z.literal('template'), template }),
])

const partnerEnvelope = {
  to: recipient,
  recipient_type: z.literal('individual'),
  messaging_product: z.literal('chatapp'),
  api_key: z.string(),
}

/** `POST /sendservicemessages/sendmessages`. */
export const partnerServiceMessage = z.discriminatedUnion('type', [
  z.strictObject({ ...partnerEnvelope, type: z.literal('interactive'), interactive: interactive('partner') }),
  z.strictObject({ ...partnerEnvelope, type: z.literal('image'), image: captioned('partner') }),
  z.strictObject({
    ...partnerEnvelope,
    type: z.literal('audio'),
    audio: z.strictObject(source).refine(...oneSource('partner')),
  }),
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
export type CheckedMessage = z.infer<typeof cloudMessage> | PartnerMessage

/** A phone number as the chat product writes it: digits only. */
export function digitsOf(phone: string): string {
  return phone.replace(/\D/g, '')
}

function allDiffer(values: readonly string[]): boolean {
  return new Set(values).size === values.length
}
