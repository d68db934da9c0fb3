// Approved templates at random, each with components that match it.
import fc from 'fast-check'

export type TestComponent = {
  type: string
  sub_type?: string
  index?: string | number
  parameters?: Record<string, unknown>[]
  cards?: { card_index: number; components: TestComponent[] }[]
}

/** A piece of a definition, and the component that fills it; none where there is nothing to fill. */
type Filled = { definition: object[]; components: TestComponent[]; needed: boolean }

const nothing: Filled = { definition: [], components: [], needed: false }

const words = fc.stringMatching(/^[A-Za-zäö🙂&$' ]{0,8}$/u).map((text) => text.replace(/ {5,}/g, ' '))
/** Values that look like something else on purpose. */
const value = fc.oneof(
  words.map((text) => `v${text}`),
  fc.constantFrom('{{1}}', '{{name_0}}', '$&', '\\', '    .'),
)
const file = fc.webUrl().map((link) => ({ link }))

/** A text of `count` variables with words between them, and its parameters in an order that its format allows. */
function textWith(
  count: number,
  named: boolean,
): fc.Arbitrary<{ text: string; parameters: Record<string, unknown>[] }> {
  const names = Array.from({ length: count }, (_, i) => (named ? `name_${i}` : `${i + 1}`))
  const between = fc.array(words, { minLength: count, maxLength: count })
  const values = fc.array(value, { minLength: count, maxLength: count })
  return fc.tuple(between, values, fc.shuffledSubarray(names, { minLength: count })).map(([pieces, texts, order]) => {
    const text = `Text ${names.map((name, i) => `${pieces[i]}{{${name}}}`).join('')}.`
    const inOrder = names.map((name, i) => ({ type: 'text', text: texts[i], ...(named && { parameter_name: name }) }))
    const parameters = named ? order.flatMap((name) => inOrder.filter((each) => each.parameter_name === name)) : inOrder
    return { text, parameters }
  })
}

const textPart = (type: 'HEADER' | 'BODY', most: number, named: boolean): fc.Arbitrary<Filled> =>
  fc.nat({ max: most }).chain((count) =>
    textWith(count, named).map(({ text, parameters }) => ({
      definition: [{ type, ...(type === 'HEADER' && { format: 'TEXT' }), text }],
      components: [{ type, parameters }],
      needed: count > 0,
    })),
  )

const place = fc.record({
  latitude: fc.double({ min: -90, max: 90, noNaN: true }),
  longitude: fc.integer({ min: -180, max: 180 }).map(String),
})
const product = fc.constant({ product_retailer_id: 'a-1', catalog_id: '12' })

const mediaHeader: fc.Arbitrary<Filled> = fc
  .oneof(
    fc.tuple(fc.constantFrom('image', 'video', 'document', 'gif'), file),
    fc.tuple(fc.constant('location'), place),
    fc.tuple(fc.constant('product'), product),
  )
  .map(([kind, held]) => ({
    definition: [{ type: 'HEADER', format: kind.toUpperCase() }],
    components: [{ type: 'HEADER', parameters: [{ type: kind, [kind]: held }] }],
    needed: true,
  }))

type Button = { definition: object; fill?: Omit<TestComponent, 'index'>; needed: boolean }

const urlButton: fc.Arbitrary<Button> = value.map((text) => ({
  definition: { type: 'URL', text: 'Go', url: 'https://shop.example/{{1}}' },
  fill: { type: 'BUTTON', sub_type: 'URL', parameters: [{ type: 'text', text }] },
  needed: true,
}))
const couponButton: Button = {
  definition: { type: 'COPY_CODE', example: 'A' },
  fill: { type: 'BUTTON', sub_type: 'COPY_CODE', parameters: [{ type: 'coupon_code', coupon_code: 'SAVE20' }] },
  needed: true,
}
const replyButton: Button = {
  definition: { type: 'QUICK_REPLY', text: 'Stop' },
  fill: { type: 'BUTTON', sub_type: 'QUICK_REPLY', parameters: [{ type: 'payload', payload: 'stop' }] },
  needed: false,
}
const acting = (type: string, needed: boolean, action?: object): Button => ({
  definition: { type, text: 'Open' },
  fill: { type: 'BUTTON', sub_type: type, parameters: action ? [{ type: 'action', action }] : [] },
  needed,
})
const actionButtons: Button[] = [
  acting('FLOW', true),
  acting('FLOW', true, { flow_token: 't', flow_action_data: { type: 'Big', of: [1, { a: null }] } }),
  acting('CATALOG', false, { thumbnail_product_retailer_id: 'a-1' }),
  acting('MPM', true, { sections: [{ title: 'Shoes', product_items: [{ product_retailer_id: 'a-1' }] }] }),
]
const codeButton: fc.Arbitrary<Button> = fc.constantFrom('ONE_TAP', 'ZERO_TAP', 'COPY_CODE').map((otp_type) => ({
  definition: { type: 'OTP', otp_type },
  fill: { type: 'BUTTON', sub_type: 'URL', parameters: [{ type: 'text', text: '123456' }] },
  needed: true,
}))
const silentButtons: Button[] = [
  { definition: { type: 'SPM', text: 'View' }, needed: false },
  { definition: { type: 'URL', text: 'Go', url: 'https://shop.example/' }, needed: false },
  { definition: { type: 'PHONE_NUMBER', text: 'Call', phone_number: '+14155550123' }, needed: false },
]
const button = fc.oneof(
  urlButton,
  codeButton,
  fc.constantFrom(couponButton, replyButton, ...actionButtons, ...silentButtons),
)

const buttons = (most: number): fc.Arbitrary<Filled[]> =>
  fc.array(button, { maxLength: most }).map((list) => [
    {
      ...nothing,
      definition: list.length > 0 ? [{ type: 'BUTTONS', buttons: list.map((each) => each.definition) }] : [],
    },
    ...list.flatMap(({ fill, needed }, index) =>
      fill ? [{ definition: [], components: [{ ...fill, index: index % 2 ? index : `${index}` }], needed }] : [],
    ),
  ])

const block = (named: boolean, most: number): fc.Arbitrary<Filled[]> =>
  fc
    .tuple(
      fc.oneof(fc.constant(nothing), mediaHeader, textPart('HEADER', 1, named)),
      textPart('BODY', most, named),
      buttons(most),
    )
    .map(([header, body, more]) => [header, body, ...more])

/** Two cards or more; the components of the request in another order than the cards of the definition. */
const carousel = (named: boolean): fc.Arbitrary<Filled> =>
  fc.array(block(named, 2), { minLength: 2, maxLength: 3 }).map((cards) => ({
    definition: [
      { type: 'CAROUSEL', cards: cards.map((parts) => ({ components: parts.flatMap((part) => part.definition) })) },
    ],
    components: [
      {
        type: 'CAROUSEL',
        cards: cards.map((parts, card_index) => ({ card_index, components: componentsOf(parts) })).toReversed(),
      },
    ],
    needed: true,
  }))

/** Half of what need not be filled is filled nevertheless. */
const componentsOf = (parts: readonly Filled[]): TestComponent[] =>
  parts.flatMap(({ components, needed }, i) => (needed || i % 2 === 0 ? components : []))

/** A definition in WhatsApp's format, and components that match it. */
export const matchedTemplate = fc
  .record({ named: fc.boolean(), category: fc.constantFrom('UTILITY', 'MARKETING') })
  .chain(({ named, category }) =>
    fc.tuple(block(named, 4), fc.oneof(fc.constant(nothing), carousel(named))).map(([parts, cards]) => ({
      definition: {
        name: 'any',
        language: 'en_US',
        category,
        parameter_format: named ? 'NAMED' : 'POSITIONAL',
        components: [...parts, cards].flatMap((part) => part.definition),
      },
      components: componentsOf([...parts, { ...cards, needed: true }]),
    })),
  )
