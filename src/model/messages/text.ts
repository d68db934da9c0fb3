// The text of a message as its recipient reads it: the `message_text` of a lookup.

import type { Template } from '../templates/template.ts'
import type { TemplateContent } from '../templates/template-content.ts'
import { fillIn, valuesOf, variablesOf } from '../templates/variables.ts'
import type { Content } from './content.ts'
import type { Interactive } from './interactive.ts'
import type { MediaSource } from './media-source.ts'

/**
 * The body of a text or an interactive message; the caption of a file, without one the name of a document or the link;
 * name, address or degrees of a place; the names on contact cards; the emoji of a reaction, empty when it is taken back;
 * the approved body of a template with its parameters filled in. `template` is the approved template of a template message;
 * without it, which only happens where an account has turned the check off, the text is unknown, and the name of the template is
 * used.
 */
export const textOf = (content: Content, template?: Template): string =>
  wordedText(content, template && wordingOf(template))

/** The approved body of a template, with its variables. */
export interface Wording {
  body: string
  /** Its parameters have names; otherwise they come in order. */
  named?: true | undefined
}

/** Undefined for a template without a body. */
export function wordingOf(template: Template): Wording | undefined {
  const approved = template.components.find((component) => component.type === 'BODY')
  return approved && { body: approved.text, ...(template.parameter_format === 'NAMED' && { named: true }) }
}

/** The same with no more than the wording of the template. */
export function wordedText(content: Content, wording?: Wording): string {
  switch (content.type) {
    case 'text':
      return content.text.body
    case 'interactive':
      return content.interactive.body?.text ?? productOf(content.interactive)
    case 'image':
      return content.image.caption || sourceText(content.image)
    case 'video':
      return content.video.caption || sourceText(content.video)
    case 'document':
      return content.document.caption || content.document.filename || sourceText(content.document)
    case 'audio':
      return sourceText(content.audio)
    case 'sticker':
      return sourceText(content.sticker)
    case 'location': {
      const { name, address, latitude, longitude } = content.location
      return name || address || `${latitude}, ${longitude}`
    }
    case 'contacts':
      return content.contacts.map(({ name }) => name.formatted_name).join(', ')
    case 'reaction':
      return content.reaction.emoji
    case 'template':
      return wording ? bodyOf(content.template, wording) : content.template.name
  }
}

/** Of all interactive messages only one product may come without a text. */
const productOf = (interactive: Interactive): string =>
  interactive.type === 'product' ? interactive.action.product_retailer_id : ''

function bodyOf({ components = [] }: TemplateContent, { body, named }: Wording): string {
  const { parameters = [] } = components.find((component) => component.type === 'BODY') ?? {}
  return fillIn(body, valuesOf(variablesOf(body), parameters, named === true))
}

/** The text of a file without caption or name: its link, or which file it is. */
const sourceText = ({ link, id, gallery }: MediaSource): string =>
  link ?? (id === undefined ? `file ${gallery ?? ''} of the gallery` : `file ${id} of WhatsApp`)
