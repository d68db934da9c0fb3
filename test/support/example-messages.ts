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
