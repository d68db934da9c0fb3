// Approved templates in WhatsApp's definition format, one for each thing a template can ask of a message.
import { shapeOf, type TemplateShape, templateSchema } from '../../src/model/templates/template.ts'

const definition = (name: string, category: string, components: object[], more: object = {}) => ({
  id: '1234567890',
  name,
  category,
  language: 'en_US',
  status: 'APPROVED',
  components,
  ...more,
})

/** Text header and body with variables, a URL button that needs its parameter, a quick reply that may have one. */
export const orderUpdate = definition('order_update', 'UTILITY', [
  { type: 'HEADER', format: 'TEXT', text: 'Order {{1}}', example: { header_text: ['A-1'] } },
  { type: 'BODY', text: 'Hi {{1}}, your order leaves us on {{2}}.', example: { body_text: [['Ann', 'Monday']] } },
  { type: 'FOOTER', text: 'The shop' },
  {
    type: 'BUTTONS',
    buttons: [
      {
        type: 'URL',
        text: 'Track',
        url: 'https://shop.example/track/{{1}}',
        example: ['https://shop.example/track/1'],
      },
      { type: 'QUICK_REPLY', text: 'Stop' },
    ],
  },
])

/** Image header, a coupon to copy. */
export const flashSale = definition('flash_sale', 'MARKETING', [
  { type: 'HEADER', format: 'IMAGE', example: { header_handle: ['4::abc'] } },
  { type: 'BODY', text: 'Everything must go, {{1}}!' },
  {
    type: 'BUTTONS',
    buttons: [
      { type: 'URL', text: 'Shop', url: 'https://shop.example/{{1}}' },
      { type: 'COPY_CODE', example: 'SAVE20' },
    ],
  },
])

/** Two cards under a body without variables. */
export const newArrivals = definition('new_arrivals', 'MARKETING', [
  { type: 'BODY', text: 'Just in.' },
  {
    type: 'CAROUSEL',
    cards: [1, 2].map(() => ({
      components: [
        { type: 'HEADER', format: 'IMAGE' },
        { type: 'BODY', text: 'Only {{1}} today' },
        { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'See', url: 'https://shop.example/i/{{1}}' }] },
      ],
    })),
  },
])

/** Document header; the call button takes no component, yet the URL button behind it has index 1. */
export const invoice = definition('invoice', 'UTILITY', [
  { type: 'HEADER', format: 'DOCUMENT' },
  { type: 'BODY', text: 'Your invoice of {{1}}.' },
  {
    type: 'BUTTONS',
    buttons: [
      { type: 'PHONE_NUMBER', text: 'Call us', phone_number: '+14155550123' },
      { type: 'URL', text: 'Pay', url: 'https://pay.example/{{1}}' },
    ],
  },
])

/** Named parameters; the URL is static. */
export const welcome = definition(
  'welcome',
  'UTILITY',
  [
    { type: 'HEADER', format: 'TEXT', text: 'Hello {{first_name}}' },
    { type: 'BODY', text: 'Your table at {{place}} is booked for {{day}}. See you at {{place}}!' },
    { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'Map', url: 'https://maps.example/' }] },
  ],
  { parameter_format: 'NAMED' },
)

/** A code in the body and in the button, as WhatsApp reads such templates back. */
export const oneTimeCode = definition('one_time_code', 'AUTHENTICATION', [
  { type: 'BODY', text: '*{{1}}* is your verification code.' },
  { type: 'BUTTONS', buttons: [{ type: 'URL', text: 'Copy code', url: 'https://otp.example/?code=otp{{1}}' }] },
])

/** A place in the header, a form behind the button. */
export const visit = definition('visit', 'UTILITY', [
  { type: 'HEADER', format: 'LOCATION' },
  { type: 'BODY', text: 'We meet here, {{1}}.' },
  {
    type: 'BUTTONS',
    buttons: [{ type: 'FLOW', text: 'Book', flow_id: '1', flow_action: 'navigate', navigate_screen: 'A' }],
  },
])

/** An offer that ends, with its code. */
export const lastDay = definition('last_day', 'MARKETING', [
  { type: 'HEADER', format: 'GIF' },
  { type: 'LIMITED_TIME_OFFER', limited_time_offer: { text: 'Ends soon', has_expiration: true } },
  { type: 'BODY', text: 'Only today, {{1}}.' },
  {
    type: 'BUTTONS',
    buttons: [
      { type: 'COPY_CODE', text: 'Copy', example: 'SAVE20' },
      { type: 'URL', text: 'Shop', url: 'https://shop.example/{{1}}' },
    ],
  },
])

/** One product. */
export const oneProduct = definition('one_product', 'MARKETING', [
  { type: 'HEADER', format: 'PRODUCT' },
  { type: 'BODY', text: 'Back again.' },
  { type: 'BUTTONS', buttons: [{ type: 'SPM', text: 'View' }] },
])

/** Some products of a catalogue. */
export const someProducts = definition('some_products', 'MARKETING', [
  { type: 'BODY', text: 'You left these.' },
  { type: 'BUTTONS', buttons: [{ type: 'MPM', text: 'View items' }] },
])

/** The whole catalogue. */
export const allProducts = definition('all_products', 'MARKETING', [
  { type: 'BODY', text: 'Have a look.' },
  { type: 'BUTTONS', buttons: [{ type: 'CATALOG', text: 'View catalog' }] },
])

/** A code as a definition for the import writes it, with a button that fills it in. */
export const writtenCode = definition('written_code', 'AUTHENTICATION', [
  { type: 'BODY', add_security_recommendation: true },
  { type: 'FOOTER', code_expiration_minutes: 10 },
  { type: 'BUTTONS', buttons: [{ type: 'OTP', otp_type: 'ONE_TAP', text: 'Copy', autofill_text: 'Fill in' }] },
])

/** Nothing to fill in. */
export const plainHello = definition('plain_hello', 'UTILITY', [{ type: 'BODY', text: 'Hello!' }])

export const parsed = (raw: object) => templateSchema.parse(raw)
export const shape = (raw: object): TemplateShape => shapeOf(parsed(raw))
