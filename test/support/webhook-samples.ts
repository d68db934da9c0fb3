// A body for each shape of webhook about messages that WhatsApp documents or that test data of public projects has, with values of our
// own, and what becomes of it. Those about anything else are in webhook-notices.ts.

/** What a body becomes: received messages, statuses, preferences or notices, in their order. */
export interface Becomes {
  /** Their types. */
  received?: readonly string[]
  statuses?: readonly string[]
  preferences?: readonly string[]
  /** Their fields; those that are only kept by their shape end in `?`. */
  news?: readonly string[]
}

export type Sample = readonly [name: string, field: string, value: object, becomes: Becomes]

export const metadata = { display_phone_number: '15550200001', phone_number_id: '106001' }
export const head = { messaging_product: 'whatsapp', metadata }
const PERSON = { wa_id: '491700000001', user_id: 'DE.1001', profile: { name: 'Ada', username: 'ada' } }
export const TIME = '1795183569'
export const FILE = { id: '9001', mime_type: 'image/jpeg', sha256: 'c2hh', url: 'https://media.example/9001' }

const message = (name: string, type: string, more: object, as = type): Sample => [
  `a message: ${name}`,
  'messages',
  { ...head, contacts: [PERSON], messages: [{ from: PERSON.wa_id, id: 'wamid.R', timestamp: TIME, type, ...more }] },
  { received: [as] },
]
const interactive = (type: string, reply: object): Sample =>
  message(type, 'interactive', {
    interactive: { type, [type]: reply },
    context: { from: '15550200001', id: 'wamid.O' },
  })

const DETAILS = { error_data: { details: 'Nothing else is known.' }, href: 'https://errors.example/' }
export const error = (code: number) => ({ code, title: 'A title', message: 'A title', ...DETAILS })
const status = (name: string, word: string, more: object = {}, as = word): Sample => [
  `a status: ${name}`,
  'messages',
  {
    ...head,
    statuses: [{ id: 'wamid.S', status: word, timestamp: TIME, recipient_id: '491700000001', ...more }],
  },
  { statuses: [as] },
]
const priced = (model: string, category: string, type = 'regular') => ({
  conversation: { id: 'c0ffee', expiration_timestamp: TIME, origin: { type: category } },
  pricing: { billable: type === 'regular', pricing_model: model, type, category },
})

export const RECEIVED: readonly Sample[] = [
  message('text', 'text', { text: { body: 'Hello' } }),
  message('a reply', 'text', { text: { body: 'Hello' }, context: { from: '15550200001', id: 'wamid.O' } }),
  message('forwarded', 'text', { text: { body: 'Hello' }, context: { forwarded: true } }),
  message('forwarded often', 'text', { text: { body: 'Hello' }, context: { frequently_forwarded: true } }),
  message('about a product', 'text', {
    text: { body: 'In blue?' },
    context: {
      ...{ from: '15550200001', id: 'wamid.O' },
      referred_product: { catalog_id: '31', product_retailer_id: 'sku-1' },
    },
  }),
  message('from an advertisement', 'text', {
    text: { body: 'Hello' },
    referral: {
      ...{ source_url: 'https://ads.example/1', source_id: '41', source_type: 'ad', body: 'Buy', headline: 'Sale' },
      ...{
        media_type: 'image',
        image_url: 'https://ads.example/1.jpg',
        ctwa_clid: 'clid',
        welcome_message: { text: 'Hi' },
      },
    },
  }),
  message('in a group', 'text', { text: { body: 'Hello all' }, group_id: 'Y2FwaV9ncm91cDox' }),
  message('by user id alone', 'text', { from: undefined, from_user_id: 'DE.1001', text: { body: 'Hello' } }),
  message('by parent user id', 'text', {
    ...{ from_user_id: 'DE.1001', from_parent_user_id: 'DE.ENT.1001', text: { body: 'Hello' } },
  }),
  message('with a button of an advertisement', 'text', {
    text: { body: 'Hi' },
    context: { referral: { source_id: '41' } },
  }),
  message('identity', 'text', {
    text: { body: 'Hello' },
    identity: { acknowledged: true, created_timestamp: '1', hash: 'h' },
  }),
  message('an image', 'image', { image: { ...FILE, caption: 'Look' } }),
  message('a video', 'video', { video: { ...FILE, mime_type: 'video/mp4' } }),
  message('audio', 'audio', { audio: { ...FILE, mime_type: 'audio/mpeg', voice: false } }),
  message('a voice message', 'audio', { audio: { ...FILE, mime_type: 'audio/ogg; codecs=opus', voice: true } }),
  message('a voice message by its older name', 'voice', { voice: { ...FILE, mime_type: 'audio/ogg' } }),
  message('a sticker', 'sticker', { sticker: { ...FILE, mime_type: 'image/webp', animated: true } }),
  message('a document', 'document', { document: { ...FILE, filename: 'a.pdf', caption: 'Bill' } }),
  message('a place', 'location', {
    location: { latitude: 52.5, longitude: 13.4, name: 'Shop', address: 'A street 1' },
  }),
  message('a live place', 'location', { location: { latitude: 52.5, longitude: 13.4 } }),
  message('contacts', 'contacts', {
    contacts: [
      {
        ...{ name: { formatted_name: 'Ada L', first_name: 'Ada' }, phones: [{ phone: '+49 170 1', wa_id: '491701' }] },
        ...{ emails: [{ email: 'a@b.example', type: 'WORK' }], org: { company: 'A' }, urls: [], addresses: [] },
      },
    ],
  }),
  message('a contact without a name', 'contacts', {
    contacts: [{ vcard: 'BEGIN:VCARD', origin: 'other', phones: [{ phone: '+49 170 1', type: 'CELL' }] }],
  }),
  interactive('button_reply', { id: 'yes', title: 'Yes' }),
  interactive('list_reply', { id: 'tea', title: 'Tea', description: 'Green' }),
  interactive('nfm_reply', { name: 'flow', body: 'Sent', response_json: '{"flow_token":"t","size":"L"}' }),
  message('an address', 'interactive', {
    interactive: {
      type: 'nfm_reply',
      nfm_reply: { name: 'address_message', response_json: '{"values":{"city":"B"}}' },
    },
  }),
  interactive('call_permission_reply', {
    response: 'accept',
    expiration_timestamp: TIME,
    response_source: 'user_action',
  }),
  interactive('a_new_reply', { id: '1' }),
  message('a quick reply of a template', 'button', { button: { text: 'Stop', payload: 'stop' } }),
  message('an order', 'order', {
    order: {
      ...{ catalog_id: '31', text: 'Soon please' },
      product_items: [{ product_retailer_id: 'sku-1', quantity: 2, item_price: 4.5, currency: 'EUR' }],
    },
  }),
  message('a reaction', 'reaction', { reaction: { message_id: 'wamid.O', emoji: '👍' } }),
  message('a reaction taken back', 'reaction', { reaction: { message_id: 'wamid.O' } }),
  message('an edit', 'edit', {
    edit: {
      original_message_id: 'wamid.O',
      message: { type: 'text', text: { body: 'Better' }, context: { id: 'wamid.P' } },
    },
  }),
  message('an edit of a caption', 'edit', {
    edit: { original_message_id: 'wamid.O', message: { type: 'image', image: { id: '9001', caption: 'New' } } },
  }),
  message('a deletion', 'revoke', { revoke: { original_message_id: 'wamid.O' } }),
  message('the chat was opened', 'request_welcome', {}),
  message('a changed number', 'system', {
    system: {
      type: 'user_changed_number',
      body: 'Ada changed from 491700000001 to 491700000002',
      wa_id: '491700000002',
    },
  }),
  message('a changed number, formerly', 'system', {
    system: { type: 'user_changed_number', body: 'Changed', new_wa_id: '491700000002' },
  }),
  message('a changed user id', 'system', {
    system: {
      ...{ type: 'user_changed_user_id', body: 'Changed', user_id: 'DE.1002', parent_user_id: 'DE.ENT.1002' },
      previous_user_id: 'DE.1001',
    },
  }),
  message('a changed identity', 'system', {
    system: { type: 'customer_identity_changed', identity: 'h', customer: '4917' },
  }),
  message('not supported', 'unsupported', { errors: [error(131051)], unsupported: { type: 'poll' } }),
  message('unknown', 'unknown', { errors: [error(131051)] }, 'unsupported'),
  message('a type to come', 'hologram', { hologram: { id: '1' } }, 'unsupported'),
  message('a placeholder of media', 'media_placeholder', {}, 'unsupported'),
  message('several errors', 'unsupported', { errors: [error(131060), error(131051)] }),
]

export const STATUSES: readonly Sample[] = [
  status('sent in a conversation', 'sent', priced('CBP', 'marketing')),
  status('sent by message', 'sent', priced('PMP', 'utility')),
  status('sent free for a person who wrote', 'delivered', priced('PMP', 'service', 'free_customer_service')),
  status('sent free after an advertisement', 'delivered', priced('PMP', 'referral_conversion', 'free_entry_point')),
  status('by the address for marketing', 'sent', priced('PMP', 'marketing_lite')),
  status('a code', 'delivered', priced('PMP', 'authentication')),
  status('a code abroad', 'delivered', priced('PMP', 'authentication_international')),
  status('unpriced', 'delivered', {
    pricing: { billable: false, pricing_model: 'NBP', category: 'business_initiated' },
  }),
  status('read', 'read'),
  status('played', 'played', {}, 'read'),
  status('failed', 'failed', { errors: [error(131049)] }),
  status('failed without a reason', 'failed'),
  status('to a user id alone', 'sent', { recipient_id: undefined, recipient_user_id: 'DE.1001' }),
  status('to a parent user id', 'read', { recipient_parent_user_id: 'DE.ENT.1001', recipient_user_id: 'DE.1001' }),
  status('with our own id', 'delivered', { biz_opaque_callback_data: 'theirs' }),
  status('to a group', 'read', { recipient_type: 'group', recipient_participant_id: '491700000001' }),
  status('of a payment', 'read', {
    type: 'payment',
    payment: { reference_id: 'r', amount: { value: 1, offset: 100 } },
  }),
]

export const ABOUT_US: readonly Sample[] = [
  ['errors at WhatsApp', 'messages', { ...head, errors: [error(130429)] }, { news: ['errors'] }],
  [
    'clicks',
    'messages',
    {
      ...head,
      user_actions: [
        {
          ...{ action_type: 'marketing_messages_link_click', timestamp: TIME },
          marketing_messages_link_click_data: {
            click_component: 'cta',
            click_id: 'c',
            tracking_token: 't',
            product_id: 's',
          },
        },
      ],
    },
    { news: ['user_actions'] },
  ],
  [
    'pages that were seen',
    'messages',
    {
      ...head,
      user_actions: [
        {
          action_type: 'landing_page_view',
          timestamp: TIME,
          marketing_messages_link_click_data: { tracking_token: 't' },
        },
      ],
    },
    { news: ['user_actions'] },
  ],
  ['a list to come', 'messages', { ...head, polls: [{ id: '1', votes: 3 }] }, { news: ['messages?'] }],
  ...(['stop', 'resume'] as const).map(
    (value): Sample => [
      `advertising: ${value}`,
      'user_preferences',
      {
        ...{ ...head, contacts: [PERSON] },
        user_preferences: [
          {
            wa_id: '491700000001',
            detail: 'By its menu',
            category: 'marketing_messages',
            value,
            timestamp: 1_795_183_569,
          },
        ],
      },
      { preferences: [value], news: ['user_preferences'] },
    ],
  ),
  [
    'advertising by user id',
    'user_preferences',
    {
      ...head,
      user_preferences: [
        {
          user_id: 'DE.1001',
          parent_user_id: 'DE.ENT.1001',
          category: 'marketing_messages',
          value: 'stop',
          timestamp: 1,
        },
      ],
    },
    { preferences: ['stop'], news: ['user_preferences'] },
  ],
  [
    'a preference of another kind',
    'user_preferences',
    { ...head, user_preferences: [{ wa_id: '491700000001', category: 'surveys', value: 'stop', timestamp: 1 }] },
    { news: ['user_preferences?'] },
  ],
]

/** The body of a webhook with this change. */
export const bodyOf = (field: string, value: unknown): Record<string, unknown> => ({
  object: 'whatsapp_business_account',
  entry: [{ id: '4711', time: 1_795_183_569, changes: [{ field, value }] }],
})
