// What a person writes, as the webhook has it: the type, the node named like it, and what the message answers.
import { Buffer } from 'node:buffer'
import { type MediaFile, sha256Of } from './media.ts'

const MIME = {
  image: 'image/jpeg',
  video: 'video/mp4',
  audio: 'audio/ogg; codecs=opus',
  document: 'application/pdf',
  sticker: 'image/webp',
} as const

export const INBOUND_TYPES = [
  ...['text', 'image', 'video', 'audio', 'document', 'sticker', 'button', 'button_reply', 'list_reply', 'flow_reply'],
  ...['location', 'contacts', 'reaction', 'order', 'edit', 'revoke', 'system', 'unsupported'],
] as const

/** A request for a received message. */
interface Asked {
  type: string
  text: string
  message_id?: string | undefined
  reply_id?: string | undefined
  referral?: true | undefined
}

/** The fields of a message besides its id, its time and who wrote it. `keep` takes in a file and gives its id. */
export function contentOf(asked: Asked, keep: (file: MediaFile) => string): Record<string, unknown> {
  const { message_id: about, referral } = asked
  const isAnswer = about !== undefined && !['reaction', 'edit', 'revoke'].includes(asked.type)
  return {
    ...nodeOf(asked, keep),
    ...(isAnswer && { context: { from: '15550000001', id: about } }),
    ...(referral && {
      referral: {
        source_url: 'https://ads.example/1',
        source_type: 'ad',
        source_id: '120200000000000001',
        headline: 'Spring sale',
        body: 'All shoes',
        media_type: 'image',
        ctwa_clid: 'ARAkLkA8rmlFeiCktEJQ-QTwRiyYHAFDLMNDBH0CD3qpjd0HR4irJ6LEkR7JwLF4XvnO2E4Nx0',
      },
    }),
  }
}

function nodeOf({ type, text, message_id: about, reply_id }: Asked, keep: (file: MediaFile) => string) {
  const original = about ?? 'wamid.of-nothing'
  const chosen = { id: reply_id ?? text, title: text }
  switch (type) {
    case 'text':
      return { type, text: { body: text } }
    case 'button':
      return { type, button: { text, payload: chosen.id } }
    case 'button_reply':
      return { type: 'interactive', interactive: { type, button_reply: chosen } }
    case 'list_reply':
      return { type: 'interactive', interactive: { type, list_reply: chosen } }
    case 'flow_reply':
      return {
        type: 'interactive',
        interactive: { type: 'nfm_reply', nfm_reply: { name: 'flow', body: 'Sent', response_json: text } },
      }
    case 'location':
      return { type, location: { latitude: 52.5163, longitude: 13.3777, name: text, address: 'Pariser Platz, Berlin' } }
    case 'contacts':
      return {
        type,
        contacts: [{ name: { formatted_name: text }, phones: [{ phone: '+49 170 1234567', type: 'CELL' }] }],
      }
    case 'reaction':
      return { type, reaction: { message_id: original, emoji: text === 'Hello' ? '\u{1F44D}' : text } }
    case 'order': {
      const item = { product_retailer_id: 'shoe-42', quantity: 2, item_price: 49.9, currency: 'EUR' }
      return { type, order: { catalog_id: '4711', text, product_items: [item] } }
    }
    case 'edit':
      return { type, edit: { original_message_id: original, message: { type: 'text', text: { body: text } } } }
    case 'revoke':
      return { type, revoke: { original_message_id: original } }
    case 'system':
      return { type, system: { type: 'user_changed_number', body: text, wa_id: '15550009999' } }
    case 'unsupported': {
      const error = { code: 131051, title: 'Message type unknown', message: 'Message type unknown' }
      return { type, unsupported: { type: 'poll' }, errors: [error] }
    }
    default:
      return fileOf(type, text, keep)
  }
}

/** A file is made up: its bytes are a text that names it. */
function fileOf(type: string, text: string, keep: (file: MediaFile) => string) {
  const mimeType = type in MIME ? MIME[type as keyof typeof MIME] : 'application/octet-stream'
  const bytes = Buffer.from(`A made-up ${type}: ${text}\n`)
  const medium = { id: keep({ bytes, mimeType }), mime_type: mimeType, sha256: sha256Of(bytes) }
  if (type === 'audio') return { type, audio: { ...medium, voice: true } }
  if (type === 'sticker') return { type, sticker: { ...medium, animated: false } }
  return { type, [type]: { ...medium, caption: text, ...(type === 'document' ? { filename: 'document.pdf' } : {}) } }
}
