// Checks the components of a template message against the approved template. They must match exactly. WhatsApp names one
// fault per send; here all faults come in one answer, before anything is queued.
import { counted, type Fault, notOneOf, quoted } from '../../kernel/fault.ts'
import { LIMITS } from '../messages/limits.ts'
import {
  BODY_KINDS,
  optionalParameterFaults,
  type ParameterKind,
  parameterFaults,
  textFaults,
} from './match-parameters.ts'
import type { BlockShape, ButtonShape, HeaderShape, TemplateShape } from './template.ts'
import type { Component } from './template-content.ts'

type Block = BlockShape & Pick<TemplateShape, 'cards' | 'offer'>
type Rules = { named: boolean; bodyLimit: number }

const componentTypes = ['HEADER', 'BODY', 'BUTTON', 'CAROUSEL', 'LIMITED_TIME_OFFER']

/**
 * Every fault of a message's components, none when they match; paths begin with `template.components`.
 * Components may be absent when the template needs none.
 */
export function matchTemplate(shape: TemplateShape, components: readonly Component[] = []): Fault[] {
  if (shape.notSendable !== undefined) {
    const { notSendable: why } = shape
    const reason = `${why.charAt(0).toLowerCase()}${why.slice(1).replace(/\.$/, '')}`
    return [{ path: 'template.name', message: `the template cannot be sent: ${reason}` }]
  }
  const rules = { named: shape.named, bodyLimit: shape.offer ? LIMITS.offerBody : LIMITS.templateBody }
  const faults = blockFaults(shape, components, rules, 'template.components')
  return shape.category === 'AUTHENTICATION' ? [...faults, ...codeFaults(components)] : faults
}

/** The components of a block, each by itself, then what they lack or repeat together. `at` is the path of their list. */
function blockFaults(block: Block, components: readonly Component[], rules: Rules, at: string): Fault[] {
  const faults: Fault[] = []
  const given = new Set<string>()
  components.forEach((component, position) => {
    const here = `${at}[${position}]`
    const slot = slotOf(component)
    if (slot !== undefined) {
      if (given.has(slot)) faults.push({ path: here, message: `expected one ${slot} component, got another` })
      given.add(slot)
    }
    faults.push(...componentFaults(block, component, rules, here))
  })
  for (const { slot, because } of slotsToFill(block)) {
    if (!given.has(slot)) faults.push({ path: at, message: `a ${slot} component is missing: ${because}` })
  }
  return faults
}

/** The slot of a component, as faults name it: `HEADER`, or `BUTTON 0` by its index. Undefined for an unknown one. */
function slotOf({ type, index }: Component): string | undefined {
  if (type === 'BUTTON') return index === undefined ? undefined : `${type} ${index}`
  return componentTypes.includes(type) ? type : undefined
}

/** Why a button has to be there. WhatsApp refuses a flow that is not named, though nothing of it must be filled in. */
const NEEDS: Partial<Record<ButtonShape['kind'], string>> = {
  COPY_CODE: 'needs its code',
  FLOW: 'has to be named',
  MPM: 'needs its products',
}

function slotsToFill({ header, body, buttons, cards, offer }: Block): { slot: string; because: string }[] {
  const slots: { slot: string; because: string }[] = []
  if (header && header.kind !== 'text') slots.push({ slot: 'HEADER', because: `the header is of kind ${header.kind}` })
  if (header?.kind === 'text' && header.variables.length > 0) {
    slots.push({ slot: 'HEADER', because: `the header has ${counted(header.variables.length, 'variable')}` })
  }
  if (body && body.variables.length > 0) {
    slots.push({ slot: 'BODY', because: `the body has ${counted(body.variables.length, 'variable')}` })
  }
  buttons.forEach(({ kind, url }, index) => {
    if (url) slots.push({ slot: `BUTTON ${index}`, because: 'the address of this URL button has a variable' })
    if (NEEDS[kind]) slots.push({ slot: `BUTTON ${index}`, because: `this ${kind} button ${NEEDS[kind]}` })
  })
  if (offer?.ends) slots.push({ slot: 'LIMITED_TIME_OFFER', because: 'the offer says when it ends' })
  if (cards) slots.push({ slot: 'CAROUSEL', because: `the template has ${counted(cards.length, 'card')}` })
  return slots
}

function componentFaults(block: Block, component: Component, rules: Rules, at: string): Fault[] {
  const { type, parameters = [] } = component
  const { header, body, buttons, cards, offer } = block
  switch (type) {
    case 'HEADER':
      return header ? headerFaults(header, component, rules, at) : notThere(type, at)
    case 'BODY':
      return body
        ? textFaults(parameters, body, { ...rules, limit: rules.bodyLimit, kinds: BODY_KINDS }, at)
        : notThere(type, at)
    case 'BUTTON':
      return buttons.length > 0 ? buttonFaults(buttons, component, at) : notThere(type, at)
    case 'CAROUSEL':
      return cards ? carouselFaults(cards, component, rules, at) : notThere(type, at)
    case 'LIMITED_TIME_OFFER':
      return offer ? parameterFaults(parameters, 'limited_time_offer', 1, at) : notThere(type, at)
    default:
      return [{ path: `${at}.type`, message: notOneOf(componentTypes, type) }]
  }
}

function notThere(type: string, at: string): Fault[] {
  return [{ path: at, message: `expected no ${type} component: the approved template has none here` }]
}

function headerFaults(header: HeaderShape, { parameters = [] }: Component, { named }: Rules, at: string): Fault[] {
  if (header.kind !== 'text') return parameterFaults(parameters, header.kind, 1, at)
  return textFaults(parameters, header, { named, limit: LIMITS.headerText }, at)
}

/** The parameters of a button. */
const OPTIONAL: Partial<Record<ButtonShape['kind'], ParameterKind>> = {
  ...{ QUICK_REPLY: 'payload', FLOW: 'flow', CATALOG: 'catalog' },
}

/** `index` counts all buttons of the block from 0, also those that take no component. */
function buttonFaults(buttons: readonly ButtonShape[], component: Component, at: string): Fault[] {
  const { index, sub_type: subType, parameters = [] } = component
  if (index === undefined) return [{ path: `${at}.index`, message: 'required' }]
  const button = /^(0|[1-9]\d*)$/.test(index) ? buttons[Number(index)] : undefined
  if (!button) return [{ path: `${at}.index`, message: `expected 0 to ${buttons.length - 1}, got ${quoted(index)}` }]
  const faults = subType === button.kind ? [] : [{ path: `${at}.sub_type`, message: notOneOf([button.kind], subType) }]
  // A button's address takes its parameter by position even in a template whose other parameters have names.
  const byPosition = { named: false, limit: LIMITS.buttonUrl }
  if (button.url) return [...faults, ...textFaults(parameters, button.url, byPosition, at)]
  if (button.kind === 'COPY_CODE') return [...faults, ...parameterFaults(parameters, 'coupon_code', 1, at)]
  if (button.kind === 'MPM') return [...faults, ...parameterFaults(parameters, 'products', 1, at)]
  const optional = OPTIONAL[button.kind]
  if (optional) return [...faults, ...optionalParameterFaults(parameters, optional, at)]
  if (faults.length > 0) return faults
  const message = `expected no component for button ${index}: it is ${button.kind} and has nothing to fill in`
  return [{ path: at, message }]
}

/** Each card of the template once, in any order, found by its `card_index`. */
function carouselFaults(cards: readonly BlockShape[], { cards: given }: Component, rules: Rules, at: string): Fault[] {
  if (!given) return [{ path: `${at}.cards`, message: 'required' }]
  const faults: Fault[] = []
  if (given.length !== cards.length) {
    faults.push({ path: `${at}.cards`, message: `expected ${counted(cards.length, 'card')}, got ${given.length}` })
  }
  const seen = new Set<number>()
  given.forEach(({ card_index: index, components = [] }, position) => {
    const here = `${at}.cards[${position}]`
    const card = cards[index]
    if (!card) {
      faults.push({ path: `${here}.card_index`, message: `expected 0 to ${cards.length - 1}, got ${index}` })
      return
    }
    if (seen.has(index)) {
      faults.push({ path: `${here}.card_index`, message: `expected each card once, got ${index} again` })
    }
    seen.add(index)
    faults.push(...blockFaults(card, components, { ...rules, bodyLimit: LIMITS.cardBody }, `${here}.components`))
  })
  cards.forEach((_, index) => {
    if (!seen.has(index)) faults.push({ path: `${at}.cards`, message: `the card with card_index ${index} is missing` })
  })
  return faults
}

/** The code of an authentication template is in its body and in its button, and is shorter than other texts. */
function codeFaults(components: readonly Component[]): Fault[] {
  const limit = LIMITS.authenticationCode
  return components.flatMap(({ parameters = [] }, c) =>
    parameters.flatMap(({ text }, p) => {
      if (typeof text !== 'string' || text.length <= limit) return []
      const message = `at most ${counted(limit, 'character')} in an authentication template, got ${text.length}`
      return [{ path: `template.components[${c}].parameters[${p}].text`, message }]
    }),
  )
}
