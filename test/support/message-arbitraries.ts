// Good bodies of every service message, at random: any text within the limits, from a letter to lone surrogates.
import fc from 'fast-check'
import { LIMITS } from '../../src/model/messages/limits.ts'

const unit = fc.oneof(
  { weight: 4, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 1 }) },
  fc.constantFrom('\u0000', '\ud800', '\udfff', '"', '\\', '\n', '{{1}}', '__proto__'),
)

/** Any text of 1 to `max` UTF-16 units, often of exactly `max`. */
const anyText = (max: number) =>
  fc.oneof(
    fc.string({ unit, minLength: 1, maxLength: Math.min(max, 30) }).map((text) => text.slice(0, max)),
    unit.map((piece) => piece.repeat(max).slice(0, max)),
  )

const uniqueTexts = (max: number, counts: { minLength: number; maxLength: number }) =>
  fc.uniqueArray(
    anyText(max)
      .map((text) => text.trim())
      .filter((text) => text !== ''),
    counts,
  )

const link = fc.webUrl({ withQueryParameters: true }).filter((url) => url.length <= LIMITS.link)

const header = fc.oneof(
  fc.record({ type: fc.constant('text'), text: anyText(LIMITS.headerText) }),
  ...['image', 'video'].map((type) => fc.record({ type: fc.constant(type), [type]: fc.record({ link }) })),
  fc.record({ type: fc.constant('document'), document: fc.record({ link, filename: anyText(100) }) }),
)

const frame = {
  body: fc.record({ text: anyText(LIMITS.bodyText) }),
  footer: fc.record({ text: anyText(LIMITS.footerText) }),
}

const replyButtons = fc
  .tuple(
    uniqueTexts(LIMITS.replyId, { minLength: 3, maxLength: 3 }),
    uniqueTexts(LIMITS.replyTitle, { minLength: 1, maxLength: 3 }),
  )
  .map(([ids, titles]) => titles.map((title, i) => ({ type: 'reply', reply: { id: ids[i], title } })))

const buttonMessage = fc.record(
  { type: fc.constant('button'), header, ...frame, action: fc.record({ buttons: replyButtons }) },
  { requiredKeys: ['type', 'header', 'body', 'action'] },
)

const row = (id: string) =>
  fc.record(
    { id: fc.constant(id), title: anyText(LIMITS.rowTitle), description: anyText(LIMITS.rowDescription) },
    { requiredKeys: ['id', 'title'] },
  )

const section = (ids: string[]) => fc.record({ title: anyText(LIMITS.sectionTitle), rows: fc.tuple(...ids.map(row)) })

/** Up to ten rows, cut into sections at random. */
const sections = fc
  .tuple(uniqueTexts(LIMITS.rowId, { minLength: 1, maxLength: LIMITS.rows }), fc.infiniteStream(fc.boolean()))
  .chain(([ids, cuts]) => {
    const groups: string[][] = []
    for (const id of ids) {
      const last = groups.at(-1)
      if (last && !cuts.next().value) last.push(id)
      else groups.push([id])
    }
    return fc.tuple(...groups.map(section))
  })

const listMessage = fc.record(
  {
    type: fc.constant('list'),
    header,
    ...frame,
    action: fc.record({ button: anyText(LIMITS.listButton), sections }),
  },
  { requiredKeys: ['type', 'body', 'action'] },
)

const image = fc.record({ link, caption: anyText(LIMITS.caption) }, { requiredKeys: ['link'] })

const linkMessage = fc.record(
  {
    type: fc.constant('cta_url'),
    header,
    ...frame,
    action: fc.record({
      name: fc.constant('cta_url'),
      parameters: fc.record({ display_text: anyText(LIMITS.linkButton), url: link }),
    }),
  },
  { requiredKeys: ['type', 'body', 'action'] },
)

const locationRequest = fc.record({
  type: fc.constant('location_request_message'),
  body: frame.body,
  action: fc.record({ name: fc.constant('send_location') }),
})

const line = anyText(60)
const several = (entry: Readonly<Record<string, fc.Arbitrary<string>>>) =>
  fc.array(fc.record({ ...entry, type: line }, { requiredKeys: [] }), { maxLength: 3 })
const card = fc.record(
  {
    name: fc.record({ formatted_name: line, first_name: line, last_name: line }, { requiredKeys: ['formatted_name'] }),
    birthday: fc.constant('1990-01-31'),
    phones: several({ phone: line, wa_id: line }),
    emails: several({ email: line }),
    urls: several({ url: link }),
    addresses: several({ street: line, city: line, country_code: line }),
    org: fc.record({ company: line, title: line }, { requiredKeys: [] }),
  },
  { requiredKeys: ['name'] },
)

const degrees = (most: number) => fc.double({ min: -most, max: most, noNaN: true }).map((value) => value + 0)
const captioned = { link, caption: anyText(LIMITS.caption) }

/** Each kind by its `type`; the field of that name holds what it says. */
const KINDS = {
  text: fc.record({ body: anyText(LIMITS.text), preview_url: fc.boolean() }, { requiredKeys: ['body'] }),
  interactive: fc.oneof(buttonMessage, listMessage, linkMessage, locationRequest),
  image,
  audio: fc.record({ link }),
  video: fc.record(captioned, { requiredKeys: ['link'] }),
  document: fc.record({ ...captioned, filename: anyText(100) }, { requiredKeys: ['link'] }),
  sticker: fc.record({ link }),
  location: fc.record(
    { latitude: degrees(90), longitude: degrees(180), name: line, address: line },
    { requiredKeys: ['latitude', 'longitude'] },
  ),
  contacts: fc.array(card, { minLength: 1, maxLength: LIMITS.contacts }),
} satisfies Record<string, fc.Arbitrary<unknown>>

const context = fc.record({ message_id: anyText(100) })
const reaction = fc.record({
  message_id: anyText(100),
  emoji: fc.constantFrom('👍', '❤️', '🇩🇪', '👩🏽‍🚀', '3️⃣'),
})

const contents = fc.oneof(
  ...Object.entries(KINDS).map(([type, kind]) =>
    fc.record({ type: fc.constant(type), [type]: kind, context }, { requiredKeys: ['type', type] }),
  ),
  fc.record({ type: fc.constant('reaction'), reaction }),
)

const envelope = fc.record(
  {
    to: fc.constantFrom('+14155550123', '+49 (0)171 1234567', '5511987654321', '+44 20 7946 0958'),
    recipient_type: fc.constant('individual'),
    messaging_product: fc.constant('chatapp'),
    valid_until: fc
      .date({ min: new Date(0), max: new Date('9999-01-01'), noInvalidDate: true })
      .map((date) => date.toISOString()),
  },
  { requiredKeys: ['to', 'recipient_type', 'messaging_product'] },
)

/** The body of a service message that must be accepted, made of fields we know and no others. */
export const goodServiceBody = fc.tuple(envelope, contents).map(([fields, content]) => ({ ...fields, ...content }))

/** Values that have broken parsers before, and any other JSON. */
export const hostileValue = fc.oneof(
  fc.jsonValue(),
  fc
    .constantFrom('{"__proto__":{"polluted":true}}', '{"constructor":{"prototype":{"polluted":true}}}', '[[[[[]]]]]')
    .map((text) => JSON.parse(text)),
  fc.constantFrom<unknown>('\ud800', '\u0000', '__proto__', 'constructor', 'toString', '', null, -0, 1e308, 2 ** 53),
  fc.string({ unit: 'binary', maxLength: 3000 }),
)
