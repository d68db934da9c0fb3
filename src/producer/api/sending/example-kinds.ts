// What messages of the examples say that are neither interactive nor a template.

const at = (path: string): string => `https://shop.example/${path}`

export const plainKinds = [
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
