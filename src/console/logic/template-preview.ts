// A message of a template as the recipient will see it.
import { fillIn, variablesOf } from '../../messages/templates/variables.ts'
import { type Block, blocksOf, type Fillings, slotId, type Template } from './template-slots.ts'

/** The visible parts of a block, top to bottom. Texts have `⟨…⟩` for values that are not known yet. */
export interface PreviewBlock {
  media?: { kind: 'image' | 'video' | 'document'; link: string; filename: string }
  heading?: string
  body?: string
  footer?: string
  buttons: readonly { label: string; detail: string }[]
}

/** The message and its cards. */
export interface PreviewContent extends PreviewBlock {
  cards: readonly PreviewBlock[]
}

const LABELS: Readonly<Record<string, string>> = {
  URL: 'Open the page',
  QUICK_REPLY: 'Reply',
  COPY_CODE: 'Copy the code',
  PHONE_NUMBER: 'Call',
  VOICE_CALL: 'Call',
  REQUEST_CONTACT_INFO: 'Send contact details',
}

/** Fills in a template. A value that depends on the recipient is shown as the name of its source. */
export function previewOf(template: Pick<Template, 'components'>, fillings: Fillings): PreviewContent {
  const [outside, ...cards] = blocksOf(template)
  return {
    ...previewBlock(outside ?? { card: undefined, parts: [] }, fillings),
    cards: cards.map((card) => previewBlock(card, fillings)),
  }
}

function previewBlock({ card, parts }: Block, fillings: Fillings): PreviewBlock {
  const textOf = (place: string, empty: string): string => {
    const filling = fillings.get(slotId(card, place))
    if (filling === undefined) return empty
    if ('from' in filling) return `⟨${filling.from}⟩`
    return filling.fixed === '' ? empty : filling.fixed
  }
  const filled = (text: string, place: string): string =>
    fillIn(text, new Map(variablesOf(text).map((name) => [name, textOf(`${place} ${name}`, `⟨${name}⟩`)])))
  const preview: PreviewBlock = { buttons: [] }
  for (const part of parts) {
    if (part.type === 'BODY') preview.body = filled(part.text, 'body')
    if (part.type === 'FOOTER' && part.text !== undefined) preview.footer = part.text
    if (part.type === 'HEADER' && part.format === 'TEXT') preview.heading = filled(part.text, 'header')
    if (part.type === 'HEADER' && part.format !== 'TEXT') {
      const kind = ({ IMAGE: 'image', VIDEO: 'video', DOCUMENT: 'document' } as const)[part.format]
      preview.media = { kind, link: textOf('header link', ''), filename: textOf('header filename', '') }
    }
    if (part.type === 'BUTTONS') {
      preview.buttons = part.buttons.map((button, i) => ({
        label: button.text ?? LABELS[button.type] ?? button.type,
        detail:
          button.type === 'URL'
            ? filled(button.url, `button ${i}`)
            : button.type === 'COPY_CODE'
              ? textOf(`button ${i} coupon`, '⟨code⟩')
              : '',
      }))
    }
  }
  return preview
}
