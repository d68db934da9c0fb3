// WhatsApp's pricing of a message. In the usual words it is packed into two characters, since millions are kept; otherwise it is
// JSON of at most 512 bytes. Pure.

import { z } from 'zod'
import { withoutNumbers } from '../../kernel/masked.ts'

/** As WhatsApp writes it. */
export const pricingSchema = z.looseObject({
  billable: z.boolean().optional(),
  pricing_model: z.string().optional(),
  type: z.string().optional(),
  category: z.string().optional(),
})
export type Pricing = z.infer<typeof pricingSchema>

/** Most bytes of JSON of one pricing, and most fields that are read. */
const BYTES_MAX = 512
const FIELDS_MAX = 32

/**
 * The usual words of each field, with room for `of` of them. A stored code is an index into these lists: words keep their index for
 * ever, and new ones are appended.
 */
const DIGITS = [
  { field: 'billable', of: 3, words: [undefined, true, false] },
  { field: 'pricing_model', of: 3, words: [undefined, 'PMP', 'CBP'] },
  { field: 'type', of: 6, words: [undefined, 'regular', 'free_customer_service', 'free_entry_point'] },
  {
    field: 'category',
    of: 24,
    words: [
      ...[undefined, 'marketing', 'marketing_lite', 'utility', 'authentication', 'authentication_international'],
      ...['service', 'referral_conversion', 'authentication-international'],
    ],
  },
] as const

const CODE = /^[0-9a-z]{2}$/

/** The stored form; undefined for a value that is no object, or empty. */
export function packPricing(raw: unknown): string | undefined {
  const { data } = z.record(z.string(), z.unknown()).safeParse(raw)
  if (data === undefined) return undefined
  const entries = Object.entries(data).slice(0, FIELDS_MAX).flatMap(asWritten)
  if (entries.length === 0) return undefined
  return codeOf(new Map(entries)) ?? jsonOf(entries)
}

/** Some services that forward webhooks write `true` as text. A known field of the wrong type is kept as text. */
function asWritten([name, value]: readonly [string, unknown]): (readonly [string, unknown])[] {
  if (value === undefined || value === null) return []
  if (name === 'billable') {
    const text = String(value)
    return text === 'true' || text === 'false' ? [[name, text === 'true']] : [[`${name}_as_told`, value]]
  }
  const isKnown = DIGITS.some(({ field }) => field === name)
  return [[name, isKnown && typeof value !== 'string' ? JSON.stringify(value) : value]]
}

/** Undefined where a word is not usual. */
function codeOf(entries: ReadonlyMap<string, unknown>): string | undefined {
  let code = 0
  let factor = 1
  let seen = 0
  for (const { field, of, words } of DIGITS) {
    const usual: readonly unknown[] = words
    const index = usual.indexOf(entries.get(field))
    if (index < 0) return undefined
    if (entries.has(field)) seen += 1
    code += index * factor
    factor *= of
  }
  return seen === entries.size ? code.toString(36).padStart(2, '0') : undefined
}

/** Known fields first; those that do not fit are left out. */
function jsonOf(entries: readonly (readonly [string, unknown])[]): string | undefined {
  const rankOf = (name: string): number => {
    const known = DIGITS.findIndex(({ field }) => field === name)
    return known < 0 ? DIGITS.length : known
  }
  let kept: Record<string, unknown> = {}
  for (const [name, value] of [...entries].sort(([a], [b]) => rankOf(a) - rankOf(b))) {
    const more = { ...kept, [name]: withoutPeople(value) }
    if (Buffer.byteLength(JSON.stringify(more)) <= BYTES_MAX) kept = more
  }
  return Object.keys(kept).length === 0 ? undefined : JSON.stringify(kept)
}

/** Masks whatever looks like a phone number: none may outlast an erasure. */
function withoutPeople(value: unknown): unknown {
  if (typeof value === 'string') return withoutNumbers(value)
  if (typeof value === 'number') return withoutNumbers(String(value)) === String(value) ? value : '…'
  if (Array.isArray(value)) return value.slice(0, FIELDS_MAX).map(withoutPeople)
  if (typeof value !== 'object' || value === null) return value
  const inner = Object.entries(value).slice(0, FIELDS_MAX)
  return Object.fromEntries(inner.map(([name, part]) => [withoutNumbers(name), withoutPeople(part)]))
}

/** From the stored form; undefined for any other text. */
export function unpackPricing(packed: string): Pricing | undefined {
  if (!CODE.test(packed)) return parsed(packed)
  let rest = Number.parseInt(packed, 36)
  const pricing: Record<string, unknown> = {}
  for (const { field, of, words } of DIGITS) {
    const word = words[rest % of]
    rest = Math.floor(rest / of)
    if (word !== undefined) pricing[field] = word
  }
  return pricingSchema.safeParse(pricing).data
}

function parsed(json: string): Pricing | undefined {
  try {
    return pricingSchema.safeParse(JSON.parse(json)).data
  } catch {
    return undefined
  }
}
