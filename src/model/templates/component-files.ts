// The files in the components of a template message: in its header, and in the headers of a carousel's cards.
import type { MediaSource } from '../messages/media-source.ts'
import type { Component, Parameter } from './template-content.ts'

/** A file of a message, and the name that WhatsApp or the message gives it. */
export interface MessageFile extends MediaSource {
  filename?: string | undefined
}

/** Where a file is in the body of a request, and what it is shown as: `image`, `video` and so on. */
export interface FilePosition {
  path: string
  kind: string
}

/** The components with each file replaced by what `to` makes of it. Where that is the same file, nothing is copied. */
export function mapFiles(
  components: readonly Component[],
  at: string,
  to: (file: MessageFile, position: FilePosition) => MessageFile,
): Component[] {
  return components.map((component, c) => {
    const here = `${at}[${c}]`
    const parameters = component.parameters && mapParameters(component.parameters, `${here}.parameters`, to)
    const cards = component.cards?.map((card, i) => {
      if (card.components === undefined) return card
      // A card holds no cards of its own.
      const parts = mapFiles(card.components, `${here}.cards[${i}].components`, to)
      return { ...card, components: parts }
    })
    return { ...component, ...(parameters && { parameters }), ...(cards && { cards }) }
  })
}

const mapParameters = (
  parameters: readonly Parameter[],
  at: string,
  to: (file: MessageFile, position: FilePosition) => MessageFile,
): Parameter[] =>
  parameters.map((parameter, p) => {
    const { type } = parameter
    const held = parameter[type]
    if (!isFile(held)) return parameter
    return { ...parameter, [type]: to(held, { path: `${at}[${p}].${type}`, kind: type }) }
  })

/** Whether a parameter holds a file. The matcher checks its fields, unless the account has turned it off. */
function isFile(held: unknown): held is MessageFile {
  if (typeof held !== 'object' || held === null) return false
  const fields = ['link', 'id', 'gallery', 'filename'].map((name) => Reflect.get(held, name))
  return fields.every((field) => field === undefined || typeof field === 'string') && fields.some(Boolean)
}
