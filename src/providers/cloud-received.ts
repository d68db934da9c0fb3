// Reads one received message of a webhook. It needs an id and a type; whatever else is odd about it, it is kept, because its
// sender believes that it has arrived.
import { z } from 'zod'
import { holdsMoreThan } from '../messages/bounded.ts'
import type { ReceivedParts } from '../messages/received.ts'
import { parseJson } from './answer-body.ts'
import { spare, webhookTime } from './webhook-fields.ts'

/** A message that a person sent to one of our numbers. */
export interface ReceivedMessage {
  phoneNumberId: string
  providerId: string
  /** Digits, or the person's user id where WhatsApp does not give the number. */
  from: string
  /** WhatsApp's own word; `unsupported` for one that is not known. */
  type: string
  text: string
  parts: ReceivedParts
  /** Epoch ms; undefined where WhatsApp says nothing that is a time. */
  atMs: number | undefined
}

/** Longest texts that are kept: WhatsApp's own are shorter. */
const TEXT_MAX = 8_192
const WORD_MAX = 1_024
/** Most items of an order, cards, phones of a card. */
const ITEMS_MAX = 100

const cut = (max: number) => z.string().transform((text) => text.slice(0, max))
const word = spare(cut(WORD_MAX))
const long = spare(cut(TEXT_MAX))
/** Some who forward webhooks have parsed the JSON in a text already. */
const jsonText = spare(
  z
    .union([z.string(), z.record(z.string(), z.unknown()).transform((value) => JSON.stringify(value))])
    .pipe(cut(TEXT_MAX)),
)
/** A word; formerly an object that says of each word whether it is meant. */
const systemType = spare(
  z
    .union([
      z.string(),
      z.record(z.string(), z.unknown()).transform((all) => Object.keys(all).find((each) => all[each] === true)),
    ])
    .pipe(cut(WORD_MAX)),
)
const flag = spare(z.boolean())
/** Some write figures as text. */
const degrees = z.union([z.number(), z.string().min(1).transform(Number).pipe(z.number())])
/** Items that can be read; of more than a hundred only the first. */
const some = <S extends z.ZodType>(item: S) =>
  z
    .array(z.unknown())
    .catch([])
    .transform((list) =>
      list.slice(0, ITEMS_MAX).flatMap((each) => {
        const parsed = item.safeParse(each)
        return parsed.success ? [parsed.data] : []
      }),
    )

/** What was chosen is known by its id: without a title, that is what it says. */
const choice = z
  .object({ id: cut(WORD_MAX), title: word, description: word })
  .transform(({ id, title = id, description }) => ({ id, title, description }))
const file = spare(
  z.object({
    id: cut(WORD_MAX),
    mime_type: word,
    sha256: word,
    filename: word,
    caption: long,
    voice: flag,
    animated: flag,
  }),
)
const shared = {
  text: spare(z.object({ body: cut(TEXT_MAX) })),
  image: file,
  video: file,
  audio: file,
  voice: file,
  document: file,
  sticker: file,
}

/** One item of `messages`. */
const messageItem = z.object({
  id: z.union([z.string().min(1).max(512), z.int().transform(String)]),
  from: z.union([z.string(), z.int().transform(String)]).catch(''),
  from_user_id: word,
  timestamp: z.unknown().optional(),
  /** Where there is none, what the message holds says it. */
  type: z.string().catch(''),
  group_id: word,
  ...shared,
  button: spare(z.object({ text: cut(TEXT_MAX), payload: word })),
  interactive: spare(
    z.object({
      button_reply: spare(choice),
      list_reply: spare(choice),
      nfm_reply: spare(z.object({ name: word, body: long, response_json: jsonText })),
      /** Whether they may be called: `accept` or `reject`. */
      call_permission_reply: spare(
        z.object({ response: cut(WORD_MAX) }).transform(({ response }) => ({ id: response, title: response })),
      ),
    }),
  ),
  location: spare(z.object({ latitude: degrees, longitude: degrees, name: word, address: word, url: word })),
  reaction: spare(z.object({ message_id: cut(WORD_MAX), emoji: cut(WORD_MAX).catch('') })),
  order: spare(
    z.object({
      catalog_id: word,
      text: long,
      product_items: some(
        z.object({
          product_retailer_id: word,
          quantity: spare(z.coerce.number()),
          item_price: spare(z.coerce.number()),
          currency: word,
        }),
      ),
    }),
  ),
  contacts: spare(
    some(
      z.object({
        name: spare(z.object({ formatted_name: cut(WORD_MAX) })),
        phones: some(z.object({ phone: word, wa_id: word, type: word })),
        emails: some(z.object({ email: word, type: word })),
      }),
    ),
  ),
  referral: spare(
    z.object({
      source_type: word,
      source_id: word,
      source_url: word,
      headline: word,
      body: word,
      media_type: word,
      ctwa_clid: word,
    }),
  ),
  context: spare(
    z.object({
      id: word,
      from: word,
      forwarded: flag,
      frequently_forwarded: flag,
      referred_product: spare(z.object({ catalog_id: word, product_retailer_id: word })),
    }),
  ),
  system: spare(
    z.object({ type: systemType, body: long, wa_id: word, new_wa_id: word, user_id: word, previous_user_id: word }),
  ),
  edit: spare(z.object({ original_message_id: cut(WORD_MAX), message: spare(z.object(shared)) })),
  revoke: spare(z.object({ original_message_id: cut(WORD_MAX) })),
  unsupported: spare(z.object({ type: word })),
  errors: spare(some(z.object({ code: z.number(), title: word }))),
})
type MessageItem = z.infer<typeof messageItem>

/** One item of `contacts`. */
export const personItem = z.object({
  wa_id: spare(z.string()),
  user_id: word,
  profile: spare(z.object({ name: word, username: word })),
})

/** The types that are read; any other is kept as `unsupported`. */
const KNOWN = new Set([
  ...['text', 'image', 'video', 'audio', 'voice', 'document', 'sticker', 'location', 'contacts', 'reaction'],
  ...['interactive', 'button', 'order', 'system', 'request_welcome', 'edit', 'revoke', 'unsupported'],
])

/** What a message without a type is recognised by. */
const NODES = [
  ...(['text', 'image', 'video', 'audio', 'voice', 'document', 'sticker', 'location', 'contacts', 'reaction'] as const),
  ...(['interactive', 'button', 'order', 'system', 'edit', 'revoke'] as const),
]

/** Whether it is one: it says its type, or holds something that a message can hold. */
const isMessage = (item: MessageItem): boolean => item.type !== '' || NODES.some((node) => item[node] !== undefined)

/** What the message is called, what it says, and its parts. */
function contentOf(
  item: MessageItem,
  people: readonly z.infer<typeof personItem>[],
): { from: string; type: string; text: string; parts: ReceivedParts } {
  const digits = item.from.replace(/\D/g, '')
  const person =
    people.find(({ wa_id, user_id }) =>
      digits === '' ? user_id !== undefined && user_id === item.from_user_id : wa_id?.replace(/\D/g, '') === digits,
    ) ?? (people.length === 1 ? people[0] : undefined)
  const userId = item.from_user_id ?? person?.user_id
  const { location, reaction, referral, interactive, button, order } = item
  const edited = item.edit?.message
  const media = fileIn(item) ?? (edited && fileIn(edited))
  const chosen = interactive?.button_reply ?? interactive?.list_reply ?? interactive?.call_permission_reply
  const named = item.type || NODES.find((node) => item[node] !== undefined) || ''
  const type = KNOWN.has(named) ? named : 'unsupported'
  const text =
    item.text?.body ??
    button?.text ??
    chosen?.title ??
    interactive?.nfm_reply?.body ??
    media?.caption ??
    edited?.text?.body ??
    (location && (location.name || location.address || `${location.latitude}, ${location.longitude}`)) ??
    item.contacts?.flatMap(({ name }) => name?.formatted_name ?? []).join(', ') ??
    reaction?.emoji ??
    order?.text ??
    item.system?.body ??
    ''
  const [error] = item.errors ?? []
  const nfm = interactive?.nfm_reply
  return {
    from: digits === '' ? (userId ?? '') : digits,
    type,
    text,
    parts: {
      from_user_id: userId,
      from_name: person?.profile?.name,
      from_username: person?.profile?.username,
      group_id: item.group_id,
      context: item.context && {
        message_id: item.context.id,
        from: item.context.from,
        forwarded: item.context.forwarded,
        frequently_forwarded: item.context.frequently_forwarded,
        product: item.context.referred_product,
      },
      reply: chosen ?? (button && { id: button.payload ?? button.text, title: button.text }),
      media: media && {
        id: media.id,
        mime_type: media.mime_type,
        sha256: media.sha256,
        filename: media.filename,
        voice: media.voice,
        animated: media.animated,
      },
      location,
      reaction,
      order: order && { catalog_id: order.catalog_id, items: order.product_items },
      contacts: item.contacts?.map(({ name, phones, emails }) => ({
        name: name?.formatted_name ?? '',
        phones,
        emails,
      })),
      referral,
      flow: nfm && { name: nfm.name, response_json: nfm.response_json, ...answersIn(nfm.response_json) },
      system: item.system && {
        type: item.system.type,
        wa_id: item.system.wa_id ?? item.system.new_wa_id,
        user_id: item.system.user_id,
        previous_user_id: item.system.previous_user_id,
      },
      edits: item.edit?.original_message_id,
      deletes: item.revoke?.original_message_id,
      unsupported:
        type === 'unsupported'
          ? { type: item.unsupported?.type ?? item.type, code: error?.code, title: error?.title }
          : undefined,
    },
  }
}

/** The answers to a flow are a text of JSON. */
const answersSchema = z.looseObject({ flow_token: word })
/** Most values of the answers that are taken apart. */
const ANSWERS_MAX = 500

function answersIn(json: string | undefined): { response?: Record<string, unknown>; token?: string | undefined } {
  const { data } = answersSchema.safeParse(json === undefined ? undefined : parseJson(json))
  if (data === undefined || holdsMoreThan(data, { values: ANSWERS_MAX })) return {}
  const { flow_token: token, ...response } = data
  return { response, token }
}

type Files = { [K in 'image' | 'video' | 'audio' | 'voice' | 'document' | 'sticker']?: z.infer<typeof file> }

const fileIn = ({ image, video, audio, voice, document, sticker }: Files) =>
  image ?? video ?? audio ?? voice ?? document ?? sticker

/** One item of `messages`, with the people that the change names; undefined for what is no message. */
export function readReceived(
  phoneNumberId: string,
  raw: unknown,
  people: readonly z.infer<typeof personItem>[],
): ReceivedMessage | undefined {
  const { data: item } = messageItem.safeParse(raw)
  if (item === undefined || !isMessage(item)) return undefined
  const atMs = webhookTime.safeParse(item.timestamp).data
  return { phoneNumberId, providerId: item.id, ...contentOf(item, people), atMs }
}
