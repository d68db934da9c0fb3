// The content of a received message besides its text, as a list of facts for people, the same on the command line and in
// the console. Pure, and without a schema, because the console's page loads this file.
import type { ReceivedParts } from './received.ts'

/** Items of an order that are named; further ones are counted. */
const ITEMS_NAMED = 10

/** Name and text of each part that the message has, in the order they are shown. */
export function wordsOfParts(parts: ReceivedParts): [name: string, text: string][] {
  const { context, reply, media, location, reaction, order, contacts, referral, flow, system, unsupported } = parts
  const facts: [string, string | undefined][] = [
    ['Name', parts.from_name],
    ['Username', parts.from_username],
    ['User id', parts.from_user_id],
    ['Group', parts.group_id],
    ['Chose', reply && `${reply.title} (${reply.id})`],
    ['File', media && joined(media.filename, media.mime_type, media.id)],
    ['Place', location && locationText(location)],
    [
      'Reaction',
      reaction && joined(reaction.emoji || 'taken back', reaction.message_id && `to ${reaction.message_id}`),
    ],
    ['Order', order && orderOf(order)],
    ['Contacts', contacts?.map(cardOf).join('; ')],
    ['Form', flow && joined(flow.name, flow.response ? answersOf(flow.response) : flow.response_json)],
    ['Changed', system && joined(system.type, system.wa_id, system.user_id)],
    ['Answers', context?.message_id],
    ['About', context?.product && joined(context.product.product_retailer_id, context.product.catalog_id)],
    ['Forwarded', context?.frequently_forwarded ? 'many times' : context?.forwarded ? 'yes' : undefined],
    ['Replaces', parts.edits],
    ['Deletes', parts.deletes],
    ['Came by', referral && (referral.headline ?? referral.source_url ?? referral.source_id)],
    ['Cut', parts.cut?.join(', ')],
    ['Not supported', unsupported && (unsupported.title ?? unsupported.type ?? 'its kind')],
  ]
  return facts.flatMap(([name, text]) => (text === undefined || text === '' ? [] : [[name, text]]))
}

function locationText({ name, address, url, latitude, longitude }: NonNullable<ReceivedParts['location']>): string {
  const degrees = latitude === undefined || longitude === undefined ? undefined : `${latitude}, ${longitude}`
  return joined(name, address, degrees ?? url)
}

/** Each entry once: a card without a name is called by another of its fields. */
function cardOf({
  name,
  phones,
  emails,
  org,
  urls,
  addresses,
}: NonNullable<ReceivedParts['contacts']>[number]): string {
  const all = [
    name,
    ...phones.map(({ phone }) => phone),
    ...emails.map(({ email }) => email),
    ...[org?.title, org?.department, org?.company],
    ...(urls ?? []).map(({ url }) => url),
    ...(addresses ?? []).map(({ street, zip, city, state, country }) => joined(street, zip, city, state, country)),
  ]
  return joined(...new Set(all))
}

function orderOf({ items }: NonNullable<ReceivedParts['order']>): string {
  const named = items
    .slice(0, ITEMS_NAMED)
    .map(({ quantity, product_retailer_id: product, item_price: price, currency }) => {
      const cost = price === undefined ? '' : ` at ${price} ${currency ?? ''}`.trimEnd()
      return `${quantity ?? 1} × ${product ?? '?'}${cost}`
    })
  const more = items.length - named.length
  return joined(...named, more > 0 ? `${more} more` : undefined)
}

const answersOf = (response: Record<string, unknown>): string =>
  Object.entries(response)
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ')

const joined = (...texts: (string | undefined)[]): string => texts.filter((text) => text).join(', ')
