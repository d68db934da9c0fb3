// The slots of an approved template, and the components of a message that fill them. A slot takes a fixed text or, in a
// campaign, a field of the recipient.
import type { Template } from '../../../../src/model/templates/template.ts'
import { variablesOf } from '../../../../src/model/templates/variables.ts'

export type { Template }

/** A part of a template outside of its cards, or of one card. */
export type Part = Exclude<Template['components'][number], { type: 'CAROUSEL' }>

/** The value of a slot: the same for everybody, or a field of each recipient (`contact.name`, `row.city`). */
export type Filling = { fixed: string } | { from: string }
export type Fillings = ReadonlyMap<string, Filling>

/** A place of a template to fill in. */
export interface Slot {
  /** Unique in the template. */
  id: string
  kind: 'text' | 'link' | 'filename' | 'coupon' | 'payload' | 'number' | 'id' | 'moment' | 'products' | 'json'
  label: string
  /** May stay empty. */
  optional: boolean
}

/** The help text of a slot's field, by its kind. */
export const SLOT_HELP: Readonly<Partial<Record<Slot['kind'], string>>> = {
  link: 'The id of a file of the gallery, as its page shows it, or a link.',
  products: 'Sections with the ids of their products, such as “Shoes: a-1, a-2; Hats: b-7”.',
}

/** The parts of one card, or those outside of all cards: then `card` is undefined. */
export interface Block {
  card: number | undefined
  parts: readonly Part[]
}

const isPart = (part: Template['components'][number]): part is Part => part.type !== 'CAROUSEL'

/** The blocks of a template in reading order. */
export function blocksOf({ components }: Pick<Template, 'components'>): Block[] {
  const cards = components.find((part) => part.type === 'CAROUSEL')?.cards ?? []
  return [
    { card: undefined, parts: components.filter(isPart) },
    ...cards.map((card, i) => ({ card: i, parts: card.components })),
  ]
}

/** The id of a slot; previews use it, too. */
export const slotId = (card: number | undefined, place: string): string =>
  card === undefined ? place : `card ${card} ${place}`

/** Every slot of a template. */
export function slotsOf(template: Pick<Template, 'components'>): Slot[] {
  return blocksOf(template).flatMap(({ card, parts }) => {
    const prefix = card === undefined ? '' : `Card ${card + 1}: `
    const slot = (place: string, kind: Slot['kind'], label: string, optional = false): Slot => ({
      id: slotId(card, place),
      kind,
      label: prefix === '' ? label : `${prefix}${label.charAt(0).toLowerCase()}${label.slice(1)}`,
      optional,
    })
    return parts.flatMap((part): Slot[] => {
      if (part.type === 'BODY')
        return variablesOf(part.text).map((name) => slot(`body ${name}`, 'text', `Text {{${name}}}`))
      if (part.type === 'HEADER' && part.format === 'TEXT') {
        return variablesOf(part.text).map((name) => slot(`header ${name}`, 'text', `Heading {{${name}}}`))
      }
      if (part.type === 'LIMITED_TIME_OFFER') {
        return part.limited_time_offer?.has_expiration ? [slot('offer end', 'moment', 'End of the offer')] : []
      }
      if (part.type === 'HEADER' && part.format === 'LOCATION') {
        return [
          slot('header latitude', 'number', 'Latitude of the place'),
          slot('header longitude', 'number', 'Longitude of the place'),
          slot('header name', 'text', 'Name of the place', true),
          slot('header address', 'text', 'Address of the place', true),
        ]
      }
      if (part.type === 'HEADER' && part.format === 'PRODUCT') {
        return [slot('header product', 'id', 'Id of the product'), slot('header catalog', 'id', 'Id of its catalogue')]
      }
      if (part.type === 'HEADER') {
        const kind = part.format === 'GIF' ? 'GIF' : `${part.format.charAt(0)}${part.format.slice(1).toLowerCase()}`
        const link = slot('header link', 'link', kind)
        return part.format === 'DOCUMENT'
          ? [link, slot('header filename', 'filename', 'Name of the document', true)]
          : [link]
      }
      if (part.type !== 'BUTTONS') return []
      return part.buttons.flatMap((button, i): Slot[] => {
        const name = button.text ?? button.type.toLowerCase().replaceAll('_', ' ')
        if (button.type === 'URL') {
          const what = isCode(button.url) ? 'Code' : 'End of the address'
          return variablesOf(button.url).map((each) =>
            slot(`button ${i} ${each}`, 'text', `${what} of the button “${name}”`),
          )
        }
        if (button.type === 'OTP') return [slot(`button ${i} 1`, 'text', `Code of the button “${name}”`)]
        if (button.type === 'COPY_CODE') return [slot(`button ${i} coupon`, 'coupon', `Code of the button “${name}”`)]
        if (button.type === 'FLOW') {
          return [
            slot(`button ${i} token`, 'text', `Token of the flow “${name}”`, true),
            slot(`button ${i} data`, 'json', `Data of the flow “${name}” as JSON`, true),
          ]
        }
        if (button.type === 'CATALOG' || button.type === 'MPM') {
          const picture = slot(`button ${i} picture`, 'id', `Product whose picture “${name}” shows`, true)
          if (button.type === 'CATALOG') return [picture]
          return [picture, slot(`button ${i} products`, 'products', `Products of “${name}”`)]
        }
        if (button.type === 'QUICK_REPLY') {
          return [slot(`button ${i} payload`, 'payload', `Payload of the button “${name}”`, true)]
        }
        return []
      })
    })
  })
}

/** The components of a message with these fillings, in the format of campaigns and template messages. */
export function componentsOf(template: Template, fillings: Fillings): unknown[] {
  const [outside, ...cards] = blocksOf(template)
  const named = template.parameter_format === 'NAMED'
  const components = outside ? componentsOfBlock(outside, fillings, named) : []
  if (cards.length === 0) return components
  const filled = cards.map((block, i) => ({ card_index: i, components: componentsOfBlock(block, fillings, named) }))
  return [...components, { type: 'CAROUSEL', cards: filled }]
}

function componentsOfBlock({ card, parts }: Block, fillings: Fillings, named: boolean): object[] {
  const valueAt = (place: string): unknown => {
    const filling = fillings.get(slotId(card, place))
    if (filling === undefined) return ''
    return 'from' in filling ? { from: filling.from } : filling.fixed
  }
  const texts = (text: string, place: string, withNames: boolean): object[] =>
    variablesOf(text).map((name) => ({
      type: 'text',
      ...(withNames ? { parameter_name: name } : {}),
      text: valueAt(`${place} ${name}`),
    }))
  return parts.flatMap((part): object[] => {
    if (part.type === 'BODY' || (part.type === 'HEADER' && part.format === 'TEXT')) {
      const parameters = texts(part.text, part.type.toLowerCase(), named)
      return parameters.length === 0 ? [] : [{ type: part.type, parameters }]
    }
    if (part.type === 'LIMITED_TIME_OFFER') {
      if (!part.limited_time_offer?.has_expiration) return []
      const offer = { expiration_time_ms: momentOf(valueAt('offer end')) }
      return [{ type: part.type, parameters: [{ type: 'limited_time_offer', limited_time_offer: offer }] }]
    }
    if (part.type === 'HEADER' && part.format === 'LOCATION') {
      const place = filledOnly({ name: valueAt('header name'), address: valueAt('header address') })
      const location = { latitude: valueAt('header latitude'), longitude: valueAt('header longitude'), ...place }
      return [{ type: 'HEADER', parameters: [{ type: 'location', location }] }]
    }
    if (part.type === 'HEADER' && part.format === 'PRODUCT') {
      const product = { product_retailer_id: valueAt('header product'), catalog_id: valueAt('header catalog') }
      return [{ type: 'HEADER', parameters: [{ type: 'product', product }] }]
    }
    if (part.type === 'HEADER') {
      const kind = part.format.toLowerCase()
      const filename = part.format === 'DOCUMENT' ? valueAt('header filename') : ''
      const file = { ...fileOf(valueAt('header link')), ...(filename === '' ? {} : { filename }) }
      return [{ type: 'HEADER', parameters: [{ type: kind, [kind]: file }] }]
    }
    if (part.type !== 'BUTTONS') return []
    return part.buttons.flatMap((button, i): object[] => {
      const subType = button.type === 'OTP' ? 'URL' : button.type
      const filled = (parameters: object[]) => [{ type: 'BUTTON', sub_type: subType, index: String(i), parameters }]
      const acts = (action: object) => (Object.keys(action).length === 0 ? [] : [{ type: 'action', action }])
      const picture = () => filledOnly({ thumbnail_product_retailer_id: valueAt(`button ${i} picture`) })
      if (button.type === 'OTP') return filled(texts('{{1}}', `button ${i}`, false))
      if (button.type === 'FLOW') {
        const data = dataOf(valueAt(`button ${i} data`))
        return filled(acts(filledOnly({ flow_token: valueAt(`button ${i} token`), flow_action_data: data })))
      }
      if (button.type === 'MPM') {
        return filled(acts({ ...picture(), sections: sectionsOf(valueAt(`button ${i} products`)) }))
      }
      if (button.type === 'CATALOG') {
        const parameters = acts(picture())
        return parameters.length === 0 ? [] : filled(parameters)
      }
      if (button.type === 'URL') {
        const parameters = texts(button.url, `button ${i}`, false)
        return parameters.length === 0 ? [] : filled(parameters)
      }
      if (button.type === 'COPY_CODE') {
        return filled([{ type: 'coupon_code', coupon_code: valueAt(`button ${i} coupon`) }])
      }
      const payload = button.type === 'QUICK_REPLY' ? valueAt(`button ${i} payload`) : ''
      return payload === '' ? [] : filled([{ type: 'payload', payload }])
    })
  })
}

/** The body of a request that sends it. */
export const templateMessage = (address: { sender: string; to: string }, template: Template, fillings: Fillings) => ({
  ...address,
  recipient_type: 'individual',
  messaging_product: 'chatapp',
  type: 'template',
  template: {
    name: template.name,
    language: { code: template.language },
    components: componentsOf(template, fillings),
  },
})

const filledOnly = (fields: Record<string, unknown>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''))

/** The address of a button of a code, as WhatsApp lists it. */
export const isCode = (url: string): boolean => /[?&]otp_type=/.test(url)

/** The id of a file of the gallery, where digits were typed. */
export const galleryIdOf = (typed: string): string | undefined => /^\s*(\d{1,12})\s*$/.exec(typed)?.[1]

function fileOf(value: unknown): { gallery: string } | { link: unknown } {
  const gallery = typeof value === 'string' ? galleryIdOf(value) : undefined
  return gallery === undefined ? { link: value } : { gallery }
}

/** An ISO time as WhatsApp counts it. What is no time stays as it is: marks of `fillingsOf`, a column, epoch ms. */
function momentOf(value: unknown): unknown {
  if (typeof value !== 'string' || !/^\d{4}-/.test(value)) return value
  const ms = Date.parse(value)
  return Number.isNaN(ms) ? value : ms
}

/** Data of a flow that were typed as JSON. */
function dataOf(value: unknown): unknown {
  if (typeof value !== 'string' || !value.trim().startsWith('{')) return value
  try {
    return JSON.parse(value)
  } catch {
    return value
  }
}

/** Sections of products as they are typed: `Title: id, id`, separated by lines or semicolons. */
function sectionsOf(value: unknown): unknown {
  if (typeof value !== 'string' || value.startsWith('\u0000')) return value
  return value
    .split(/[\n;]+/)
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const colon = line.indexOf(':')
      const ids = line.slice(colon + 1).split(',')
      return {
        title: line.slice(0, Math.max(colon, 0)).trim(),
        product_items: ids.map((id) => ({ product_retailer_id: id.trim() })),
      }
    })
}

/** The same the other way, for a copy. */
function typedFrom(given: unknown): string | undefined {
  if (typeof given === 'number') return given < 1e12 ? String(given) : new Date(given).toISOString()
  if (!Array.isArray(given)) return isObject(given) && given.from === undefined ? JSON.stringify(given) : undefined
  const lines = given.map((section: unknown) => {
    if (!isObject(section) || !Array.isArray(section.product_items)) return ''
    const ids = section.product_items.map((item: unknown) => (isObject(item) ? String(item.product_retailer_id) : ''))
    return `${String(section.title)}: ${ids.join(', ')}`
  })
  return lines.join('; ')
}

/** Fillings for one recipient, for a test send or a preview: each `from` is replaced by the recipient's value. */
export const fillingsFor = (fillings: Fillings, recipient: ReadonlyMap<string, string>): Fillings =>
  new Map(
    [...fillings].map(([id, filling]) => [
      id,
      'from' in filling ? { fixed: recipient.get(filling.from) ?? '' } : filling,
    ]),
  )

/** Required slots that are empty. */
export const openSlots = (slots: readonly Slot[], fillings: Fillings): Slot[] =>
  slots.filter(({ id, optional }) => {
    const filling = fillings.get(id)
    return !optional && (filling === undefined || ('fixed' in filling && filling.fixed.trim() === ''))
  })

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** The name of a member in a list of components, cards or parameters; unique in the list. */
const nameOf = (member: unknown, place: number): string => {
  if (!isObject(member)) return String(place)
  if (member.card_index !== undefined) return `card ${String(member.card_index)}`
  if (member.index !== undefined) return `${String(member.type)} ${String(member.index)}`
  return member.parameters !== undefined || member.cards !== undefined ? String(member.type) : String(place)
}

/**
 * The fillings that components of this template contain: it makes components with a mark in each slot, and reads the given
 * ones where the marks are. Unknown components are left out; a slot that they do not fill stays open.
 */
export function fillingsOf(template: Template, components: unknown): Fillings {
  const slots = slotsOf(template)
  const marked = componentsOf(template, new Map(slots.map(({ id }) => [id, { fixed: `\u0000${id}` }])))
  const found = new Map<string, Filling>()
  const walk = (mark: unknown, given: unknown): void => {
    if (typeof mark === 'string' && mark.startsWith('\u0000')) {
      if (typeof given === 'string') found.set(mark.slice(1), { fixed: given })
      else if (isObject(given) && typeof given.from === 'string') found.set(mark.slice(1), { from: given.from })
      else {
        const fixed = typedFrom(given)
        if (fixed !== undefined) found.set(mark.slice(1), { fixed })
      }
    } else if (Array.isArray(mark) && Array.isArray(given)) {
      const byName = new Map(given.map((member: unknown, i) => [nameOf(member, i), member]))
      for (const [i, member] of mark.entries()) walk(member, byName.get(nameOf(member, i)))
    } else if (isObject(mark) && isObject(given)) {
      for (const [field, member] of Object.entries(mark)) {
        walk(member, given[field] ?? (field === 'link' ? given.gallery : undefined))
      }
    }
  }
  walk(marked, components)
  return found
}
