// Every limit that WhatsApp (or this service) sets for a message, in one place, each with its source.
// Lengths are UTF-16 code units, `string.length`: WhatsApp documents "characters" only, and counting units
// never lets something pass that it then refuses.

/** Text of interactive messages, media and templates, as WhatsApp's own reference limits it. */
export const LIMITS = {
  /** A body of an interactive message. For lists the reference pages disagree (1,024 or 4,096); lists above 1,024 have been refused. */
  bodyText: 1024,
  /** A text header, of interactive messages and, with its variable filled in, of templates. */
  headerText: 60,
  /** The footer of an interactive message. */
  footerText: 60,
  /** The caption of an image, a video or a document. */
  caption: 1024,
  /** The body of a text message. */
  text: 4096,

  /** The label of the button that opens a list. */
  listButton: 20,
  /** Sections of one list. */
  sections: 10,
  /** Rows of one list, counted over all of its sections. */
  rows: 10,
  sectionTitle: 24,
  rowId: 200,
  rowTitle: 24,
  rowDescription: 72,

  /** Reply buttons of one message. */
  replyButtons: 3,
  replyId: 256,
  replyTitle: 20,
  /** The label of the button that opens a link. */
  linkButton: 20,

  /** Products of one message, counted over all of its sections. */
  products: 30,
  /** The id of a product in the catalogue. Ours: WhatsApp names none. */
  productId: 100,
  /** The id of a catalogue: those seen have some 16 digits. Ours. */
  catalogId: 100,
  /** The label of the button that opens a flow. Some clients of WhatsApp's own stop at 20; its reference says 30. */
  flowButton: 30,
  /** Name or id of a flow, or of one of its screens. Ours. */
  flowName: 200,
  /** The token that a flow returns with its answers. Ours. */
  flowToken: 512,
  /** Data of the first screen of a flow. Ours. */
  flowData: { values: 500, characters: 8_192 },

  /** The id of another message that a message answers or reacts to. Ours: ids of WhatsApp have some 60 characters. */
  messageId: 512,
  /** An emoji of a reaction. Ours: the longest there are, families with skin tones, have some 30. */
  emoji: 40,
  /** Name and address of a location. Ours. */
  location: 1000,
  /** Contact cards of one message. By one edition of the reference; older ones allowed more. */
  contacts: 5,
  /** Phones, mails, addresses or links of one contact card. Ours. */
  contactEntries: 20,
  /** A line of a contact card. Ours. */
  contactLine: 256,

  /** The file name of a document. */
  filename: 240,

  /** The name of a template. */
  templateName: 512,
  /** `language.code`: the longest there are have 10. Ours. */
  languageCode: 20,
  /** `components` of a template message, or of one card. The most there can be: header, body, ten buttons, carousel. Ours. */
  components: 20,
  /** Cards of a carousel. */
  cards: 10,
  /** Parameters of one component: a body of 1,024 characters has room for 170 variables. Ours. */
  parameters: 200,
  /** Values in `components`, all that is inside of them included. The fullest carousel has some 1,200. Ours. */
  componentValues: 2_000,
  /** `type`, `sub_type` and `index` in components: words that WhatsApp gives. Ours. */
  word: 40,
  /** The name of a variable. */
  parameterName: 60,
  /** Content of a parameter, before the approved template limits it further. Ours. */
  held: { values: 50, characters: 4_096 },
  /** The same for the parameter of a catalogue or flow button. Thirty products in ten sections have some 110 values. Ours. */
  heldByAction: { values: 300, characters: 16_384 },
  /** A template's body with its variables filled in. */
  templateBody: 1024,
  /** The same of a template with a limited-time offer. */
  offerBody: 600,
  /** Sections of a multi-product button, and the title of one. */
  productSections: 10,
  productSection: 24,
  /** The body of a carousel's card with its variables filled in. */
  cardBody: 160,
  /** The address of a URL button with its variable filled in. */
  buttonUrl: 2000,
  /** A coupon code. The reference pages disagree (15 or 20): the smaller one is accepted everywhere. */
  couponCode: 15,
  /** The payload of a template's quick reply. From an older edition of the reference, the only one that names it. */
  quickReplyPayload: 128,
  /** The code of an authentication template. */
  authenticationCode: 15,
  /** Spaces in a row inside a template's text parameter. */
  spacesInARow: 4,

  /** WhatsApp's id of an uploaded file: those seen have some 16 digits. Ours. */
  mediaId: 100,
  /** Address of a media file. Ours: WhatsApp names none, and most servers refuse longer request lines. */
  link: 2048,
  /** `campaign_id`. Ours: it is a label, not a document. */
  campaignId: 255,
  /** `reference`, a text of the client's own on one message. Ours: the length of an order number with room to spare. */
  reference: 200,
  /** `sender`, a number in any spelling or a name. Ours. */
  sender: 255,
} as const
