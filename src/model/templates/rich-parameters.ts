// What the parameters of places, products, offers, catalogues and flows hold. Unknown fields are faults: WhatsApp refuses them.
import { z } from 'zod'
import { listUpTo, nonEmptyTextUpTo, textUpTo } from '../../kernel/bounded.ts'
import { counted, type Fault } from '../../kernel/fault.ts'
import { LIMITS } from '../messages/limits.ts'
import type { Component, Parameter } from './template-content.ts'

/** Degrees as a number, or as text: a campaign fills texts in. */
const degrees = (most: number) => {
  const expected = `expected degrees from -${most} to ${most}`
  return z
    .union([z.number(), z.string().regex(/^-?\d{1,3}(\.\d{1,20})?$/, { error: expected, abort: true })], expected)
    .refine((value) => Math.abs(Number(value)) <= most, expected)
}

const productId = nonEmptyTextUpTo(LIMITS.productId)

/** After 2001, so that seconds are noticed; a number, or the same as text. */
const MOMENT = 'expected milliseconds since 1970'
const moment = z
  .union([z.int(), z.string().regex(/^\d{13,15}$/)], MOMENT)
  .refine((value) => Number(value) >= 1e12 && Number(value) < 1e15, MOMENT)

const thumbnail = { thumbnail_product_retailer_id: productId.optional() }

const section = z.strictObject({
  title: nonEmptyTextUpTo(LIMITS.productSection),
  product_items: listUpTo(LIMITS.products, z.strictObject({ product_retailer_id: productId }), { min: 1 }),
})

const sections = listUpTo(LIMITS.productSections, section, { min: 1 }).refine(
  (list) => list.reduce((sum, { product_items: items }) => sum + items.length, 0) <= LIMITS.products,
  `at most ${counted(LIMITS.products, 'product')} in all sections`,
)

/** By the kind of parameter; `flow`, `catalog` and `products` are three kinds of `action`. */
export const richParameters = {
  location: z.object({
    location: z.strictObject({
      latitude: degrees(90),
      longitude: degrees(180),
      name: textUpTo(LIMITS.location).optional(),
      address: textUpTo(LIMITS.location).optional(),
    }),
  }),
  product: z.object({ product: z.strictObject({ product_retailer_id: productId, catalog_id: productId }) }),
  limited_time_offer: z.object({ limited_time_offer: z.strictObject({ expiration_time_ms: moment }) }),
  flow: z.object({
    action: z.strictObject({
      flow_token: nonEmptyTextUpTo(LIMITS.flowToken).optional(),
      flow_action_data: z.record(z.string(), z.unknown()).optional(),
    }),
  }),
  catalog: z.object({ action: z.strictObject(thumbnail) }),
  products: z.object({ action: z.strictObject({ ...thumbnail, sections }) }),
}

const CLOUD_API_BUTTONS: ReadonlySet<string | undefined> = new Set(['FLOW', 'CATALOG', 'MPM'])
const CLOUD_API_HEADERS: ReadonlySet<string | undefined> = new Set(['gif', 'location', 'product'])

/** Faults of components that the partner's interface has no words for. Their path is that of the component. */
export function cloudApiOnlyFaults(components: readonly Component[] = [], at = 'template.components'): Fault[] {
  return components.flatMap(({ type, sub_type: subType, parameters = [], cards = [] }, position) => {
    const here = `${at}[${position}]`
    const inCards = cards.flatMap((card, i) => cloudApiOnlyFaults(card.components, `${here}.cards[${i}].components`))
    const isOnly =
      type === 'LIMITED_TIME_OFFER' ||
      (type === 'BUTTON' && CLOUD_API_BUTTONS.has(subType)) ||
      (type === 'HEADER' && CLOUD_API_HEADERS.has(parameters[0]?.type))
    if (!isOnly) return [...amountFaults(parameters, here), ...inCards]
    const what = type === 'BUTTON' ? `${subType} button` : type === 'HEADER' ? `${parameters[0]?.type} header` : type
    return [{ path: here, message: `expected no ${what}: this sender’s provider does not take it` }, ...inCards]
  })
}

function amountFaults(parameters: readonly Parameter[], at: string): Fault[] {
  return parameters.flatMap(({ type }, position) => {
    if (type !== 'currency' && type !== 'date_time') return []
    const message = `expected "text": this sender’s provider takes no "${type}"`
    return [{ path: `${at}.parameters[${position}].type`, message }]
  })
}
