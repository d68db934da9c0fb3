// What WhatsApp refuses in the components of a template message. WhatsApp has every approved template; the
// simulator has none, so it checks each component against the rules that all templates share: numbers of parameters where
// they are fixed, kinds of parameters, whitespace, lengths, card numbers. Types compare without regard to case.

import { z } from 'zod'
import { excerpt, type Refusal } from './chat-errors.ts'
import type { Component, Template } from './message-schema.ts'
import { ACTION_BUTTONS, actionFault, offerFault, RICH_HEADERS, richHeaderFault } from './template-parts.ts'

type Wire = 'partner' | 'cloud'

const parameterSchema = z.looseObject({ type: z.string() })
type Parameter = z.infer<typeof parameterSchema>
const parametersSchema = z.array(parameterSchema)
const cardsSchema = z.array(
  z.looseObject({ card_index: z.int(), components: z.array(z.looseObject({ type: z.string() })) }),
)
const mediaSchema = z.looseObject({
  id: z.string().min(1).optional(),
  link: z.url({ protocol: /^https?$/ }).optional(),
})

const MEDIA = ['image', 'video', 'document']
const BODY_KINDS = ['text', 'currency', 'date_time']
/** What the one parameter of each kind of button must be; a quick reply may come without. */
const BUTTON_PARAMETER = new Map([
  ['url', { type: 'text', field: 'text', max: 2000 }],
  ['copy_code', { type: 'coupon_code', field: 'coupon_code', max: 15 }],
  ['quick_reply', { type: 'payload', field: 'payload', max: 128 }],
])

/** The first fault of a template, or null. `at` below is the bracketed path of WhatsApp's own answers. */
export function templateFault(template: Template, wire: Wire): Refusal | null {
  if (!/^[a-z0-9_]+$/.test(template.name) || !/^[a-z]{2,3}(_[A-Z]{2,3})?$/.test(template.language.code)) {
    const details = `template name (${excerpt(template.name)}) does not exist in ${excerpt(template.language.code)}`
    return { code: 132001, details }
  }
  const at = "template['components']"
  const allowed = ['header', 'body', 'button', 'carousel', ...(wire === 'cloud' ? ['limited_time_offer'] : [])]
  return componentsFault(template.components ?? [], at, allowed, wire)
}

function componentsFault(components: Component[], at: string, allowed: string[], wire: Wire): Refusal | null {
  const seen = new Set<string>()
  for (const [index, component] of components.entries()) {
    const here = `${at}[${index}]`
    const type = component.type.toLowerCase()
    if (!allowed.includes(type)) {
      return {
        code: 100,
        details: `Param ${here}['type'] must be one of {${listed(allowed)}} - got "${excerpt(component.type)}".`,
      }
    }
    const place = type === 'button' ? `button ${excerpt(component.index)}` : type
    if (seen.has(place)) return { code: 132018, details: `${place}: given twice` }
    seen.add(place)
    const fault = componentFault(type, component, here, wire)
    if (fault !== null) return fault
  }
  return null
}

function componentFault(type: string, component: Component, at: string, wire: Wire): Refusal | null {
  if (type === 'carousel') return carouselFault(component, at, wire)
  const parsed = parametersSchema.safeParse(component.parameters ?? [])
  if (!parsed.success)
    return { code: 100, details: `Param ${at}['parameters'] must be an array of objects with a type.` }
  const parameters = parsed.data
  if (type === 'header') return headerFault(parameters, wire)
  if (type === 'limited_time_offer') return offerFault(parameters)
  if (type === 'body') return bodyFault(parameters)
  return buttonFault(component, parameters, at, wire)
}

function headerFault(parameters: Parameter[], wire: Wire): Refusal | null {
  const [parameter] = parameters
  if (parameter === undefined || parameters.length > 1) {
    return {
      code: 132000,
      details: `header: number of parameters (${parameters.length}) does not match the expected number of params (1)`,
    }
  }
  const kind = parameter.type.toLowerCase()
  if (kind === 'text') return textFault(parameter.text, 'header', 60)
  if (wire === 'cloud' && RICH_HEADERS.includes(kind)) return richHeaderFault(kind, parameter[kind])
  const media = wire === 'cloud' ? [...MEDIA, 'gif'] : MEDIA
  if (!media.includes(kind)) {
    return {
      code: 132012,
      details: `header: Format mismatch, expected one of {TEXT, ${listed(media)}}, received ${excerpt(parameter.type)}`,
    }
  }
  const file = mediaSchema.safeParse(parameter[kind])
  if (!file.success || (file.data.id === undefined) === (file.data.link === undefined)) {
    return { code: 132018, details: `header: ${kind} needs exactly one of id and link` }
  }
  return null
}

function bodyFault(parameters: Parameter[]): Refusal | null {
  for (const parameter of parameters) {
    const kind = parameter.type.toLowerCase()
    if (!BODY_KINDS.includes(kind)) {
      return {
        code: 132012,
        details: `body: Format mismatch, expected one of {${listed(BODY_KINDS)}}, received ${excerpt(parameter.type)}`,
      }
    }
    const fault = kind === 'text' ? textFault(parameter.text, 'body', 1024) : null
    if (fault !== null) return fault
  }
  return null
}

function buttonFault(component: Component, parameters: Parameter[], at: string, wire: Wire): Refusal | null {
  const { index } = component
  // the partner's interface defines an index as a string; WhatsApp itself takes numbers too
  const isTaken = typeof index === 'string' || (wire === 'cloud' && typeof index === 'number')
  if (!isTaken || !/^\d$/.test(String(index)))
    return { code: 100, details: `Param ${at}['index'] must be a button's place, "0" to "9".` }
  const subType = excerpt(component.sub_type).toLowerCase()
  const place = `button at index ${excerpt(index)} of type ${subType}`
  const actions = wire === 'cloud' ? ACTION_BUTTONS : []
  if (actions.includes(subType)) return actionFault(subType, parameters, place)
  const wanted = BUTTON_PARAMETER.get(subType)
  if (wanted === undefined) {
    const kinds = listed([...BUTTON_PARAMETER.keys(), ...actions])
    return { code: 100, details: `Param ${at}['sub_type'] must be one of {${kinds}} - got "${excerpt(subType)}".` }
  }
  const [parameter] = parameters
  if (parameter === undefined) {
    return subType === 'quick_reply' ? null : { code: 131008, details: `${place} requires a parameter` }
  }
  if (parameters.length > 1 || parameter.type.toLowerCase() !== wanted.type) {
    return { code: 132018, details: `${place} takes exactly one parameter of type ${wanted.type}` }
  }
  return textFault(parameter[wanted.field], place, wanted.max)
}

function carouselFault(component: Component, at: string, wire: Wire): Refusal | null {
  const parsed = cardsSchema.safeParse(component.cards)
  if (!parsed.success)
    return { code: 100, details: `Param ${at}['cards'] must be an array of cards with card_index and components.` }
  const cards = parsed.data
  if (cards.length < 2 || cards.length > 10) {
    return { code: 132012, details: `carousel: number of cards (${cards.length}) must be 2 to 10` }
  }
  const indexes = new Set(cards.map((card) => card.card_index))
  if (cards.some((_, index) => !indexes.has(index))) {
    return { code: 132012, details: `carousel: card_index must be each of 0 to ${cards.length - 1} once` }
  }
  for (const [index, card] of cards.entries()) {
    const fault = componentsFault(
      card.components,
      `${at}['cards'][${index}]['components']`,
      ['header', 'body', 'button'],
      wire,
    )
    if (fault !== null) return fault
  }
  return null
}

function textFault(value: unknown, place: string, max: number): Refusal | null {
  if (typeof value !== 'string' || value === '')
    return { code: 131008, details: `${place}: a parameter is empty or missing` }
  if (/[\n\t]| {5}/.test(value)) {
    return {
      code: 132018,
      details: `${place}: Param text cannot have new-line/tab characters or more than 4 consecutive spaces`,
    }
  }
  if (value.length > max) return { code: 132005, details: `${place}: at most ${max} characters, got ${value.length}` }
  return null
}

function listed(names: readonly string[]): string {
  return names.join(', ').toUpperCase()
}
