// A message of a template as the recipient will see it.
import { fillIn, variablesOf } from '../../../../src/model/templates/variables.ts'
import {
  type Block,
  blocksOf,
  type Fillings,
  galleryIdOf,
  isCode,
  type Part,
  slotId,
  type Template,
} from './template-slots.ts'

/** The visible parts of a block, top to bottom. Texts have `⟨…⟩` for values that are not known yet. */
export interface PreviewBlock {
  media?: { kind: 'image' | 'video' | 'document' | 'gif'; link: string; filename: string }
  heading?: string
  /** A place, a product or an offer, in words. */
  note?: string
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
  OTP: 'Copy the code',
  FLOW: 'Open the form',
  CATALOG: 'View the catalogue',
  MPM: 'View the items',
  SPM: 'View',
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
    if (part.type === 'HEADER') Object.assign(preview, previewHeader(part))
    if (part.type === 'LIMITED_TIME_OFFER') {
      const { text = 'Offer', has_expiration: ends } = part.limited_time_offer ?? {}
      preview.note = ends ? `${text}, ends ${textOf('offer end', '⟨time⟩')}` : text
    }
    if (part.type === 'UNKNOWN') preview.note = `⟨${part.was}⟩ cannot be filled in`
    if (part.type === 'BUTTONS') preview.buttons = part.buttons.flatMap(previewButton)
  }
  return preview

  function previewHeader(header: Header): Partial<PreviewBlock> {
    switch (header.format) {
      case 'TEXT':
        return { heading: filled(header.text, 'header') }
      case 'LOCATION': {
        const degrees = `${textOf('header latitude', '⟨latitude⟩')}, ${textOf('header longitude', '⟨longitude⟩')}`
        const words = [textOf('header name', ''), textOf('header address', ''), degrees]
        return { note: `Map: ${words.filter((text) => text !== '').join(', ')}` }
      }
      case 'PRODUCT':
        return { note: `Product ${textOf('header product', '⟨product⟩')}: picture, name and price` }
      default: {
        const link = textOf('header link', '')
        const id = galleryIdOf(link)
        const file = id === undefined ? link : `file ${id} of the gallery`
        return { media: { kind: MEDIA[header.format], link: file, filename: textOf('header filename', '') } }
      }
    }
  }

  function previewButton(button: Button, i: number): { label: string; detail: string }[] {
    const label = button.text ?? LABELS[button.type] ?? button.type
    switch (button.type) {
      case 'URL':
        if (isZeroTap(button.url)) return []
        return [
          { label, detail: isCode(button.url) ? textOf(`button ${i} 1`, '⟨code⟩') : filled(button.url, `button ${i}`) },
        ]
      case 'OTP':
        // The phone fills the code in by itself.
        return button.otp_type === 'ZERO_TAP' ? [] : [{ label, detail: textOf(`button ${i} 1`, '⟨code⟩') }]
      case 'COPY_CODE':
        return [{ label, detail: textOf(`button ${i} coupon`, '⟨code⟩') }]
      case 'MPM':
        return [{ label, detail: textOf(`button ${i} products`, '⟨products⟩') }]
      case 'UNKNOWN':
        return [{ label: button.text ?? `⟨${button.was}⟩`, detail: 'cannot be filled in' }]
      default:
        return [{ label, detail: '' }]
    }
  }
}

type Header = Extract<Part, { type: 'HEADER' }>
type Button = Extract<Part, { type: 'BUTTONS' }>['buttons'][number]

const MEDIA = { IMAGE: 'image', VIDEO: 'video', DOCUMENT: 'document', GIF: 'gif' } as const

/** As WhatsApp lists the button of a code that the phone takes by itself. */
const isZeroTap = (url: string): boolean => /[?&]otp_type=ZERO_TAP\b/.test(url)
