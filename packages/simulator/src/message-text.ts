// What a person would read of a message, for the message info of the partner wire.

import type { CheckedMessage } from './message-schema.ts'

/** Body text, caption or link, place, names or emoji; of a template its name, because the simulator knows no template. */
export function textOf(message: CheckedMessage): string {
  switch (message.type) {
    case 'text':
      return message.text.body
    case 'interactive':
      return message.interactive.body?.text ?? ''
    case 'image':
      return message.image.caption ?? linkOf(message.image)
    case 'video':
      return message.video.caption ?? linkOf(message.video)
    case 'document':
      return message.document.caption ?? linkOf(message.document)
    case 'audio':
      return linkOf(message.audio)
    case 'sticker':
      return linkOf(message.sticker)
    case 'location':
      return message.location.name ?? `${message.location.latitude}, ${message.location.longitude}`
    case 'contacts':
      return message.contacts.map(({ name }) => name.formatted_name).join(', ')
    case 'reaction':
      return message.reaction.emoji
    case 'template':
      return message.template.name
  }
}

function linkOf(media: { id?: string | undefined; link?: string | undefined }): string {
  return media.link ?? media.id ?? ''
}
