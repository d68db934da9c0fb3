// Bodies of sends as a client writes them: every test starts from a good one and changes what it is about.

const envelope = { to: '+1 (415) 555-0123', recipient_type: 'individual', messaging_product: 'chatapp', api_key: 'key' }

export const replyButton = (id: string, title: string) => ({ type: 'reply', reply: { id, title } })

export const buttonsBody = (interactive: object = {}) => ({
  ...envelope,
  type: 'interactive',
  interactive: {
    type: 'button',
    header: { type: 'text', text: 'Your order' },
    body: { text: 'Shall we deliver it today?' },
    footer: { text: 'Reply any time' },
    action: { buttons: [replyButton('yes', 'Yes'), replyButton('no', 'No'), replyButton('later', 'Later')] },
    ...interactive,
  },
})

export const row = (id: string) => ({ id, title: `Row ${id}`, description: `About ${id}` })

export const listBody = (interactive: object = {}) => ({
  ...envelope,
  type: 'interactive',
  interactive: {
    type: 'list',
    header: { type: 'text', text: 'Menu' },
    body: { text: 'What would you like?' },
    footer: { text: 'Prices include tax' },
    action: {
      button: 'Choose',
      sections: [
        { title: 'Drinks', rows: [row('tea'), row('coffee')] },
        { title: 'Food', rows: [row('soup')] },
      ],
    },
    ...interactive,
  },
})

export const listOf = (sections: unknown) => listBody({ action: { button: 'Choose', sections } })

export const imageBody = (image: object = {}) => ({
  ...envelope,
  type: 'image',
  image: { link: 'https://files.example/cat.png', caption: 'A cat', ...image },
})

export const audioBody = () => ({ ...envelope, type: 'audio', audio: { link: 'https://files.example/hello.ogg' } })

export const templateBody = (template: object = {}, fields: object = {}) => ({
  ...envelope,
  sender: '+1 555 000 1111',
  type: 'template',
  template: { name: 'order_update', language: { code: 'en_US' }, ...template },
  ...fields,
})

/** Any kind, by what its request has besides the envelope. */
export const bodyOfKind = (type: string, content: unknown, more: object = {}) => ({
  ...envelope,
  type,
  [type]: content,
  ...more,
})

const action = { name: 'cta_url', parameters: { display_text: 'Open', url: 'https://shop.example/order' } }

/** What every kind says that is neither a list, buttons, an image, audio nor a template, with what a person reads. */
export const OTHER_KINDS: readonly (readonly [kind: string, type: string, content: unknown, text: string])[] = [
  ['text', 'text', { body: 'See https://shop.example', preview_url: true }, 'See https://shop.example'],
  ['a video', 'video', { link: 'https://files.example/a.mp4', caption: 'Spring' }, 'Spring'],
  ['a video without a caption', 'video', { link: 'https://files.example/a.mp4' }, 'https://files.example/a.mp4'],
  ['a document', 'document', { link: 'https://files.example/a.pdf', filename: 'offer.pdf' }, 'offer.pdf'],
  ['a sticker', 'sticker', { link: 'https://files.example/a.webp' }, 'https://files.example/a.webp'],
  ['a place with a name', 'location', { latitude: 52.5, longitude: 13.4, name: 'Office' }, 'Office'],
  ['a place', 'location', { latitude: 52.5, longitude: -13.4 }, '52.5, -13.4'],
  [
    'contacts',
    'contacts',
    [{ name: { formatted_name: 'Ada' }, phones: [{ phone: '+14155550123' }] }, { name: { formatted_name: 'Bo' } }],
    'Ada, Bo',
  ],
  ['a reaction', 'reaction', { message_id: 'wamid.A', emoji: '👍' }, '👍'],
  ['a reaction taken back', 'reaction', { message_id: 'wamid.A', emoji: '' }, ''],
  ['a link', 'interactive', { type: 'cta_url', body: { text: 'Your order' }, action }, 'Your order'],
  [
    'a request for a location',
    'interactive',
    { type: 'location_request_message', body: { text: 'Where are you?' }, action: { name: 'send_location' } },
    'Where are you?',
  ],
]
