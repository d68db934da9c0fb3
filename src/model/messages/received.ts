// The content of a received message besides its text: a choice, a file, the message that it answers. One shape for what is
// stored and what lookups show; a field is present only when the message has it.
import { z } from 'zod'

const text = z.string()
const words = z.string().optional()

/** A file that came with a message; `GET /messages/{id}/media` fetches it. */
const mediaSchema = z.strictObject({
  id: text.describe('WhatsApp’s id of the file, good for some days.'),
  mime_type: words,
  sha256: words,
  filename: words,
  voice: z.boolean().optional(),
  animated: z.boolean().optional(),
  gallery: words.describe('The file of the gallery that it was fetched into, where the account keeps received media.'),
})

/** The parts of a received message, as they are stored and shown. */
export const receivedPartsSchema = z.strictObject({
  from_user_id: words.describe('The person’s user id, which is there also when there is no number.'),
  from_name: words.describe('The name of the person’s profile.'),
  from_username: words.describe('The name that the person goes by where no number is shown.'),
  group_id: words,
  context: z
    .strictObject({
      message_id: words.describe('The message that it answers, by WhatsApp’s id.'),
      from: words,
      forwarded: z.boolean().optional(),
      frequently_forwarded: z.boolean().optional(),
      product: z.strictObject({ catalog_id: words, product_retailer_id: words }).optional(),
    })
    .optional(),
  reply: z
    .strictObject({ id: text, title: text, description: words })
    .describe('The button or row that was chosen; of a template’s quick reply the payload and the text.')
    .optional(),
  media: mediaSchema.optional(),
  location: z
    .strictObject({
      latitude: z.number().optional(),
      longitude: z.number().optional(),
      name: words,
      address: words,
      url: words,
    })
    .optional(),
  reaction: z.strictObject({ message_id: words, emoji: text.describe('Empty when it was taken back.') }).optional(),
  order: z
    .strictObject({
      catalog_id: words,
      items: z.array(
        z.strictObject({
          product_retailer_id: words,
          quantity: z.number().optional(),
          item_price: z.number().optional(),
          currency: words,
        }),
      ),
    })
    .optional(),
  contacts: z
    .array(
      z.strictObject({
        name: text.describe(
          'Where the card has no name, what else is on it: company, email address, address on the web.',
        ),
        phones: z.array(z.strictObject({ phone: words, wa_id: words, type: words })),
        emails: z.array(z.strictObject({ email: words, type: words })),
        org: z.strictObject({ company: words, department: words, title: words }).optional(),
        urls: z.array(z.strictObject({ url: words, type: words })).optional(),
        addresses: z
          .array(
            z.strictObject({
              street: words,
              city: words,
              state: words,
              zip: words,
              country: words,
              country_code: words,
              type: words,
            }),
          )
          .optional(),
        birthday: words,
      }),
    )
    .optional(),
  referral: z
    .strictObject({
      source_type: words,
      source_id: words,
      source_url: words,
      headline: words,
      body: words,
      media_type: words,
      image_url: words,
      video_url: words,
      thumbnail_url: words,
      ctwa_clid: words,
      welcome_message: words,
    })
    .describe('The advertisement that led the person here.')
    .optional(),
  flow: z
    .strictObject({
      name: words,
      response_json: words.describe('The answers as WhatsApp wrote them.'),
      response: z.record(z.string(), z.unknown()).optional().describe('The answers; left out where they are too many.'),
      token: words.describe('The `flow_token` that the flow was sent with.'),
    })
    .describe('The answers to a flow.')
    .optional(),
  system: z
    .strictObject({ type: words, wa_id: words, user_id: words, previous_user_id: words })
    .describe('The person has changed number or user id.')
    .optional(),
  edits: words.describe('The message that this one replaces.'),
  deletes: words.describe('The message that the person deleted.'),
  cut: z
    .array(text)
    .optional()
    .describe('What was longer than is kept, such as `text`, `flow.response_json` or `contacts`: its end is missing.'),
  unsupported: z
    .strictObject({ type: words, code: z.number().optional(), title: words })
    .describe('Why a message is `unsupported`.')
    .optional(),
})
receivedPartsSchema.register(z.globalRegistry, { id: 'ReceivedParts' })
export type ReceivedParts = z.infer<typeof receivedPartsSchema>
