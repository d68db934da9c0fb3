// What WhatsApp refuses in the newer parts of a template message, which only the Cloud API wire has: places, products and GIFs in
// headers, offers that end, buttons of flows and catalogues.

import { z } from 'zod'
import type { Refusal } from './chat-errors.ts'

const filled = z.string().min(1)
/** WhatsApp takes numbers and texts of numbers. */
const figure = z.union([z.number(), z.string().regex(/^-?\d+(\.\d+)?$/)])

const headers = new Map<string, z.ZodType>([
  [
    'location',
    z.strictObject({
      latitude: figure,
      longitude: figure,
      name: z.string().optional(),
      address: z.string().optional(),
    }),
  ],
  ['product', z.strictObject({ product_retailer_id: filled, catalog_id: filled })],
])

/** Kinds of headers besides texts and media. */
export const RICH_HEADERS = [...headers.keys()]

/** A fault of such a header's parameter. */
export function richHeaderFault(kind: string, held: unknown): Refusal | null {
  if (headers.get(kind)?.safeParse(held).success) return null
  return { code: 132012, details: `header: Format mismatch, expected a whole ${kind.toUpperCase()}` }
}

const offer = z.tuple([
  z.looseObject({
    type: z.string().regex(/^limited_time_offer$/i),
    limited_time_offer: z.strictObject({ expiration_time_ms: figure }),
  }),
])

/** A fault of the component of a limited-time offer. */
export const offerFault = (parameters: readonly object[]): Refusal | null =>
  offer.safeParse(parameters).success
    ? null
    : { code: 132012, details: 'limited_time_offer: expected one parameter with expiration_time_ms' }

const thumbnail = { thumbnail_product_retailer_id: filled.optional() }
const section = z.strictObject({
  title: filled.max(24),
  product_items: z.array(z.strictObject({ product_retailer_id: filled })).min(1),
})
const actions = new Map<string, { action: z.ZodType; isOptional: boolean }>([
  [
    'flow',
    {
      action: z.strictObject({
        flow_token: filled.optional(),
        flow_action_data: z.record(z.string(), z.unknown()).optional(),
      }),
      isOptional: true,
    },
  ],
  ['catalog', { action: z.strictObject(thumbnail), isOptional: true }],
  ['mpm', { action: z.strictObject({ ...thumbnail, sections: z.array(section).min(1).max(10) }), isOptional: false }],
])

/** Buttons that take an action. */
export const ACTION_BUTTONS = [...actions.keys()]

/** A fault of such a button's parameters; `place` names it. */
export function actionFault(kind: string, parameters: readonly object[], place: string): Refusal | null {
  const rule = actions.get(kind)
  const [parameter, ...more] = parameters
  if (rule === undefined) return null
  if (parameter === undefined) {
    return rule.isOptional ? null : { code: 131008, details: `${place} requires a parameter` }
  }
  const whole = z.looseObject({ type: z.string().regex(/^action$/i), action: rule.action })
  if (more.length === 0 && whole.safeParse(parameter).success) return null
  return { code: 132018, details: `${place} takes exactly one parameter of type action` }
}
