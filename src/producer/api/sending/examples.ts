// Example messages, one of each kind, without `api_key`. Senders and templates are those of the demo.

const address = { to: '+44 7700 900123', recipient_type: 'individual', messaging_product: 'chatapp' }
const link = 'https://shop.example/spring.png'

const interactive = (content: object) => ({ ...address, type: 'interactive', interactive: content })
const reply = (id: string, title: string) => ({ type: 'reply', reply: { id, title } })
const buttons = { buttons: [reply('yes', 'Yes'), reply('no', 'No')] }

export const imageMessage = { ...address, type: 'image', image: { link, caption: 'Spring is here' } }

const at = (path: string): string => `https://shop.example/${path}`

/** Kinds that are neither interactive nor a template. */
const plainKinds = [
  {
    name: 'A text',
    content: { type: 'text', text: { body: 'We are open until 8: https://shop.example/hours', preview_url: true } },
  },
  {
    name: 'A text that answers a message',
    content: {
      sender: '447700900002',
      type: 'text',
      text: { body: 'Yes, until Friday.' },
      context: { message_id: 'wamid.HBgMNDQ3NzAwOTAwMTIzFQIAEhggM0FFQjEyMzQ1Njc4OTBBQkNERUYA' },
    },
  },
  { name: 'Audio', content: { type: 'audio', audio: { link: at('hello.ogg') } } },
  { name: 'A video', content: { type: 'video', video: { link: at('spring.mp4'), caption: 'Spring is here' } } },
  {
    name: 'A document',
    content: {
      type: 'document',
      document: { link: at('offer.pdf'), caption: 'Our offer for you', filename: 'offer.pdf' },
    },
  },
  { name: 'A sticker', content: { type: 'sticker', sticker: { link: at('thanks.webp') } } },
  {
    name: 'A location',
    content: {
      type: 'location',
      location: { latitude: 51.5079, longitude: -0.0877, name: 'Corner shop', address: '1 High Street, London' },
    },
  },
  {
    name: 'Contacts',
    content: {
      type: 'contacts',
      contacts: [
        {
          name: { formatted_name: 'Ada Lovelace', first_name: 'Ada', last_name: 'Lovelace' },
          phones: [{ phone: '+44 7700 900456', type: 'WORK' }],
          emails: [{ email: 'ada@shop.example', type: 'WORK' }],
          org: { company: 'Corner shop', title: 'Deliveries' },
        },
      ],
    },
  },
  {
    name: 'A reaction',
    content: {
      type: 'reaction',
      reaction: { message_id: 'wamid.HBgMNDQ3NzAwOTAwMTIzFQIAEhggM0FFQjEyMzQ1Njc4OTBBQkNERUYA', emoji: '👍' },
    },
  },
]

const plainMessages = plainKinds.map(({ name, content }) => ({ name, body: { ...address, ...content } }))

/** Messages other than templates. */
export const serviceMessages = [
  {
    name: 'A list',
    body: interactive({
      type: 'list',
      header: { type: 'text', text: 'Delivery' },
      body: { text: 'When shall we come?' },
      footer: { text: 'You can change it later.' },
      action: {
        button: 'Choose a time',
        sections: [
          { title: 'Monday', rows: [{ id: 'mon-am', title: '8 to 12', description: 'Before lunch' }] },
          { title: 'Tuesday', rows: [{ id: 'tue-am', title: '8 to 12' }] },
        ],
      },
    }),
  },
  {
    name: 'Reply buttons',
    body: interactive({
      type: 'button',
      header: { type: 'text', text: 'Your order' },
      body: { text: 'Shall we leave it with a neighbour?' },
      footer: { text: 'Answer until noon.' },
      action: buttons,
    }),
  },
  {
    name: 'Reply buttons with an image',
    body: interactive({
      type: 'button',
      header: { type: 'image', image: { link } },
      body: { text: 'Do you like it?' },
      action: buttons,
    }),
  },
  {
    name: 'Reply buttons with a video',
    body: interactive({
      type: 'button',
      header: { type: 'video', video: { link: 'https://shop.example/spring.mp4' } },
      body: { text: 'Do you like it?' },
      action: buttons,
    }),
  },
  {
    name: 'Reply buttons with a document',
    body: interactive({
      type: 'button',
      header: { type: 'document', document: { link: 'https://shop.example/offer.pdf', filename: 'offer.pdf' } },
      body: { text: 'Do you take the offer?' },
      action: buttons,
    }),
  },
  {
    name: 'A link',
    body: interactive({
      type: 'cta_url',
      header: { type: 'image', image: { link } },
      body: { text: 'Your order is on its way.' },
      footer: { text: 'The link is good for a week.' },
      action: {
        name: 'cta_url',
        parameters: { display_text: 'Where is it?', url: 'https://shop.example/orders/A-1042' },
      },
    }),
  },
  {
    name: 'A request for a location',
    body: interactive({
      type: 'location_request_message',
      body: { text: 'Where shall we deliver?' },
      action: { name: 'send_location' },
    }),
  },
  {
    name: 'A form',
    body: interactive({
      type: 'flow',
      body: { text: 'When shall we come?' },
      action: {
        name: 'flow',
        parameters: { flow_id: '1234567890', flow_cta: 'Choose a time', flow_token: 'order-A-1042' },
      },
    }),
  },
  {
    name: 'Products',
    body: interactive({
      type: 'product_list',
      header: { type: 'text', text: 'For spring' },
      body: { text: 'These are new.' },
      action: {
        catalog_id: '4711',
        sections: [{ product_items: [{ product_retailer_id: 'shoe-42' }, { product_retailer_id: 'shoe-43' }] }],
      },
    }),
  },
  { name: 'An image', body: imageMessage },
  ...plainMessages,
]

const text = (value: string) => ({ type: 'text', text: value })
const template = (name: string, components: readonly object[]) => ({
  ...address,
  type: 'template',
  sender: '447700900001',
  template: { name, language: { code: 'en_US' }, components },
})
const card = (index: number, what: string, id: string) => ({
  card_index: index,
  components: [
    { type: 'HEADER', parameters: [{ type: 'image', image: { link } }] },
    { type: 'BODY', parameters: [text(what)] },
    { type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [text(id)] },
  ],
})

/** Components of the template flash_sale, in which `off` is the one text that differs. */
export const saleComponents = (off: unknown) => [
  { type: 'HEADER', parameters: [{ type: 'image', image: { link } }] },
  { type: 'BODY', parameters: [{ type: 'text', text: off }] },
  { type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [text('today')] },
  { type: 'BUTTON', sub_type: 'COPY_CODE', index: '1', parameters: [{ type: 'coupon_code', coupon_code: 'SAVE20' }] },
]

export const templateMessages = [
  {
    name: 'Text, a URL and a quick reply',
    body: template('order_update', [
      { type: 'HEADER', parameters: [text('A-1042')] },
      { type: 'BODY', parameters: [text('Ada'), text('Tuesday')] },
      { type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [text('A-1042')] },
      {
        type: 'BUTTON',
        sub_type: 'QUICK_REPLY',
        index: '1',
        parameters: [{ type: 'payload', payload: 'call-A-1042' }],
      },
    ]),
  },
  { name: 'An image and a coupon', body: template('flash_sale', saleComponents('20 %')) },
  {
    name: 'A document',
    body: template('invoice', [
      {
        type: 'HEADER',
        parameters: [
          { type: 'document', document: { link: 'https://shop.example/2026-0001.pdf', filename: '2026-0001.pdf' } },
        ],
      },
      { type: 'BODY', parameters: [text('2026-0001')] },
      { type: 'BUTTON', sub_type: 'URL', index: '1', parameters: [text('2026-0001')] },
    ]),
  },
  {
    name: 'A video',
    body: template('clip', [
      { type: 'HEADER', parameters: [{ type: 'video', video: { link: 'https://shop.example/spring.mp4' } }] },
    ]),
  },
  {
    name: 'A carousel',
    body: template('new_arrivals', [
      { type: 'CAROUSEL', cards: [card(0, 'running shoes', '17'), card(1, 'rain jackets', '18')] },
    ]),
  },
]

const { recipient_type: _type, messaging_product: _product, ...newImage } = imageMessage

/** Messages as our own address takes them. */
export const newMessages = [
  { name: 'A text', body: { to: '+44 7700 900123', type: 'text', text: { body: 'We are open until 8.' } } },
  { name: 'An image', body: newImage },
  {
    name: 'A template',
    body: {
      to: '+44 7700 900123',
      sender: '447700900001',
      type: 'template',
      template: {
        name: 'order_update',
        language: { code: 'en_US' },
        components: [
          { type: 'HEADER', parameters: [text('A-1042')] },
          { type: 'BODY', parameters: [text('Ada'), text('Tuesday')] },
          { type: 'BUTTON', sub_type: 'URL', index: '0', parameters: [text('A-1042')] },
        ],
      },
    },
  },
]
