// WhatsApp's pricing in a few words, for a person. Pure, and without a schema, because the console loads this file too.
import type { Pricing } from './pricing.ts'

/** Such as `marketing, regular, billable`. */
export function wordsOfPricing({ billable, type, category }: Pricing): string {
  const words = [category, type, billable === undefined ? undefined : billable ? 'billable' : 'free']
  return words.filter((word) => word !== undefined).join(', ')
}
