// Reads one received message of a webhook. It needs an id and a type; whatever else is odd about it, it is kept, because its
// sender believes that it has arrived.

import { z } from 'zod'
import { cutText } from '../kernel/cut-text.ts'
import { holdsMoreThan } from '../kernel/json-size.ts'
import { providerName } from '../kernel/recipient.ts'
import type { ReceivedParts } from '../model/messages/received.ts'
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
  /** Epoch ms; undefined where WhatsApp gives no valid time. */
  atMs: number | undefined
}

/** Longest texts that are kept, in UTF-16 code units. */
const TEXT_MAX = 8_192
const WORD_MAX = 1_024
/** Most items of an order, cards, phones of a card. */
const ITEMS_MAX = 100

/** What was cut of the message that is being read, by the names of what is shown. A message is read in one go. */
let cut = new Set<string>()

function within(text: string, max: number, name: string): string {
  if (text.length > max) cut.add(name)
  return cutText(text, max)
}

/** Some write figures where others write text. */
const written = z.union([z.string(), z.number().transform(String)])
/** A part of the message that is kept under this name, and cut there. */
const kept = (name: string, max = WORD_MAX) => written.transform((text) => within(text, max, name))
const word = (name: string) => spare(kept(name))
/** A text that may become the text of the message, and is cut there. */
const long = spare(written)
/** Some who forward webhooks have parsed the JSON in a text already. */
const jsonText = spare(
  z
    .union([z.string(), z.record(z.string(), z.unknown()).transform((value) => JSON.stringify(value))])
    .transform((text) => within(text, TEXT_MAX, 'flow.response_json')),
)
/** A word; formerly an object with each word and whether it is meant. */
const systemType = spare(
  z
    .union([
      z.string(),
      z.record(z.string(), z.unknown()).transform((all) => Object.keys(all).find((each) => all[each] === true)),
    ])
    .transform((text) => text && within(text, WORD_MAX, 'system.type')),
)
const flag = spare(z.boolean())
/** Some write figures as text. */
const degrees = z.union([z.number(), z.string().min(1).transform(Number).pipe(z.number())])
/** Items that can be read; of more than a hundred only the first. */
const some = <S extends z.ZodType>(item: S, name: string) =>
  z
    .array(z.unknown())
    .catch([])
    .transform((list) => {
      if (list.length > ITEMS_MAX) cut.add(name)
      return list.slice(0, ITEMS_MAX).flatMap((each) => {
        const parsed = item.safeParse(each)
        return parsed.success ? [parsed.data] : []
      })
    })

/** What has nothing in it is not there. */
const filled = <F extends object>(fields: F): F | undefined =>
  Object.values(fields).some((value) => value !== undefined) ? fields : undefined

/** A choice has an id and a title: if one of them is missing, the other replaces it. */
const chosenAs = <F extends { id?: string | undefined; title?: string | undefined }>({ id, title, ...others }: F) => {
  const either = id || title
  return either === undefined ? undefined : { id: either, title: title || either, ...others }
}
const choice = z
  .object({ id: word('reply.id'), title: word('reply.title'), description: word('reply.description') })
  .transform(chosenAs)
const file = spare(
  z
    .object({
      /** Without it the file cannot be fetched. */
      id: word('media.id'),
      mime_type: word('media.mime_type'),
      sha256: word('media.sha256'),
      filename: word('media.filename'),
      caption: long,
      voice: flag,
      animated: flag,
    })
    .transform(filled),
)
const shared = {
  text: spare(z.object({ body: z.string() })),
  image: file,
  video: file,
  audio: file,
  voice: file,
  document: file,
  sticker: file,
}

/** A contact card: whatever is on it. */
const card = z.object({
  name: spare(
    z.object({
      formatted_name: word('contacts'),
      prefix: word('contacts'),
      first_name: word('contacts'),
      middle_name: word('contacts'),
      last_name: word('contacts'),
      suffix: word('contacts'),
    }),
  ),
  birthday: word('contacts'),
  org: spare(
    z.object({ company: word('contacts'), department: word('contacts'), title: word('contacts') }).transform(filled),
  ),
  phones: some(z.object({ phone: word('contacts'), wa_id: word('contacts'), type: word('contacts') }), 'contacts'),
  emails: some(z.object({ email: word('contacts'), type: word('contacts') }), 'contacts'),
  urls: some(z.object({ url: word('contacts'), type: word('contacts') }), 'contacts'),
  addresses: some(
    z.object({
      street: word('contacts'),
      city: word('contacts'),
      state: word('contacts'),
      zip: word('contacts'),
      country: word('contacts'),
      country_code: word('contacts'),
      type: word('contacts'),
    }),
    'contacts',
  ),
})

/** Why a message cannot be shown. */
const errorItem = z.object({ code: z.number(), title: word('unsupported.title') })

/** One item of `messages`. */
const messageItem = z.object({
  id: z.union([z.string().min(1).max(512), z.int().transform(String)]),
  from: z.union([z.string(), z.int().transform(String)]).catch(''),
  from_user_id: spare(written),
  timestamp: z.unknown().optional(),
  /** If there is none, the contents of the message show it. */
  type: z.string().catch(''),
  group_id: word('group_id'),
  ...shared,
  button: spare(
    z.object({ text: long, payload: long }).transform(({ text, payload }) => chosenAs({ id: payload, title: text })),
  ),
  interactive: spare(
    z.object({
      button_reply: spare(choice),
      list_reply: spare(choice),
      nfm_reply: spare(z.object({ name: word('flow.name'), body: long, response_json: jsonText })),
      /** Whether they may be called: `accept` or `reject`. */
      call_permission_reply: spare(
        z.object({ response: kept('reply.id') }).transform(({ response }) => ({ id: response, title: response })),
      ),
    }),
  ),
  location: spare(
    z
      .object({
        latitude: spare(degrees),
        longitude: spare(degrees),
        name: word('location.name'),
        address: word('location.address'),
        url: word('location.url'),
      })
      .transform(filled),
  ),
  reaction: spare(
    z
      .object({ message_id: word('reaction.message_id'), emoji: word('reaction.emoji') })
      .transform(filled)
      .transform((fields) => fields && { ...fields, emoji: fields.emoji ?? '' }),
  ),
  order: spare(
    z.object({
      catalog_id: word('order.catalog_id'),
      text: long,
      product_items: some(
        z.object({
          product_retailer_id: word('order.items'),
          quantity: spare(z.coerce.number()),
          item_price: spare(z.coerce.number()),
          currency: word('order.items'),
        }),
        'order.items',
      ),
    }),
  ),
  contacts: spare(some(card, 'contacts')),
  referral: spare(
    z
      .object({
        source_type: word('referral.source_type'),
        source_id: word('referral.source_id'),
        source_url: word('referral.source_url'),
        headline: word('referral.headline'),
        body: word('referral.body'),
        media_type: word('referral.media_type'),
        image_url: word('referral.image_url'),
        video_url: word('referral.video_url'),
        thumbnail_url: word('referral.thumbnail_url'),
        ctwa_clid: word('referral.ctwa_clid'),
        welcome_message: spare(z.object({ text: word('referral.welcome_message') })),
      })
      .transform(filled),
  ),
  context: spare(
    z.object({
      id: word('context.message_id'),
      from: word('context.from'),
      forwarded: flag,
      frequently_forwarded: flag,
      referred_product: spare(
        z.object({ catalog_id: word('context.product'), product_retailer_id: word('context.product') }),
      ),
    }),
  ),
  system: spare(
    z.object({
      type: systemType,
      body: long,
      wa_id: word('system.wa_id'),
      new_wa_id: word('system.wa_id'),
      user_id: word('system.user_id'),
      previous_user_id: word('system.previous_user_id'),
    }),
  ),
  edit: spare(z.object({ original_message_id: word('edits'), message: spare(z.object(shared)) }).transform(filled)),
  revoke: spare(z.object({ original_message_id: word('deletes') }).transform(filled)),
  unsupported: spare(z.object({ type: word('unsupported.type') })),
  errors: spare(
    z
      .array(z.unknown())
      .catch([])
      .transform((all) => all.slice(0, 1).flatMap((each) => errorItem.safeParse(each).data ?? [])),
  ),
})
type MessageItem = z.infer<typeof messageItem>

/** One item of `contacts`. */
export const personItem = z.object({
  wa_id: spare(written),
  user_id: spare(written),
  profile: spare(z.object({ name: long, username: long })),
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

/** Whether it is one: it has a type, or holds something that a message can hold. */
const isMessage = (item: MessageItem): boolean => item.type !== '' || NODES.some((node) => item[node] !== undefined)

/** The type of the message, its text, and its parts. */
function contentOf(
  item: MessageItem,
  people: readonly z.infer<typeof personItem>[],
): { from: string; type: string; text: string; parts: ReceivedParts } {
  const from = providerName(item.from)
  const number = from !== undefined && !/\D/.test(from) ? from : undefined
  const named = (item.from_user_id && providerName(item.from_user_id)) ?? (number === undefined ? from : undefined)
  const person =
    people.find(({ wa_id, user_id }) =>
      number === undefined
        ? named !== undefined && (user_id === named || wa_id === named)
        : wa_id !== undefined && providerName(wa_id) === number,
    ) ?? (people.length === 1 ? people[0] : undefined)
  const userId = named ?? (person?.user_id && providerName(person.user_id))
  // Some changes of a user id come without a writer.
  const changedTo = item.system?.user_id ?? item.system?.wa_id ?? item.system?.new_wa_id
  const { location, reaction, referral, interactive, button, order } = item
  const edited = item.edit?.message
  const media = fileIn(item) ?? (edited && fileIn(edited))
  const chosen = interactive?.button_reply ?? interactive?.list_reply ?? interactive?.call_permission_reply
  const kind = item.type || NODES.find((node) => item[node] !== undefined) || ''
  const type = KNOWN.has(kind) ? kind : 'unsupported'
  const text =
    item.text?.body ??
    button?.title ??
    chosen?.title ??
    interactive?.nfm_reply?.body ??
    media?.caption ??
    edited?.text?.body ??
    (location && locationText(location)) ??
    item.contacts
      ?.map(nameOnCard)
      .filter((name) => name !== '')
      .join(', ') ??
    reaction?.emoji ??
    order?.text ??
    item.system?.body ??
    ''
  const [error] = item.errors ?? []
  const nfm = interactive?.nfm_reply
  const profile = (name: string, given: string | undefined) => given && within(given, WORD_MAX, name)
  return {
    from: number ?? userId ?? (changedTo && providerName(changedTo)) ?? '',
    type,
    text: within(text, TEXT_MAX, 'text'),
    parts: {
      from_user_id: userId,
      from_name: profile('from_name', person?.profile?.name),
      from_username: profile('from_username', person?.profile?.username),
      group_id: item.group_id,
      context: item.context && {
        message_id: item.context.id,
        from: item.context.from,
        forwarded: item.context.forwarded,
        frequently_forwarded: item.context.frequently_forwarded,
        product: item.context.referred_product,
      },
      reply:
        chosen ??
        (button && {
          id: within(button.id, WORD_MAX, 'reply.id'),
          title: within(button.title, WORD_MAX, 'reply.title'),
        }),
      media:
        media?.id === undefined
          ? undefined
          : {
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
      contacts: item.contacts?.map((each) => ({
        name: within(nameOnCard(each), WORD_MAX, 'contacts'),
        phones: each.phones,
        emails: each.emails,
        org: each.org,
        urls: each.urls.length > 0 ? each.urls : undefined,
        addresses: each.addresses.length > 0 ? each.addresses : undefined,
        birthday: each.birthday,
      })),
      referral: referral && { ...referral, welcome_message: referral.welcome_message?.text },
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
      cut: cut.size > 0 ? [...cut] : undefined,
    },
  }
}

function locationText({ latitude, longitude, name, address, url }: NonNullable<MessageItem['location']>): string {
  const degrees = latitude === undefined || longitude === undefined ? '' : `${latitude}, ${longitude}`
  return name || address || degrees || url || ''
}

/** What a card is called: by its name, else by what else is on it. A number alone is no name. */
function nameOnCard({ name = {}, org, emails, urls }: z.infer<typeof card>): string {
  const { formatted_name, prefix, first_name, middle_name, last_name, suffix } = name
  const parts = [prefix, first_name, middle_name, last_name, suffix].filter((part) => part?.trim()).join(' ')
  return formatted_name?.trim() || parts || org?.company || emails[0]?.email || urls[0]?.url || ''
}

/** The answers to a flow are a text of JSON. */
const answersSchema = z.looseObject({ flow_token: word('flow.token') })
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
  cut = new Set()
  const { data: item } = messageItem.safeParse(raw)
  if (item === undefined || !isMessage(item)) return undefined
  const atMs = webhookTime.safeParse(item.timestamp).data
  return { phoneNumberId, providerId: item.id, ...contentOf(item, people), atMs }
}
