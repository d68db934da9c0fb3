// What WhatsApp says of a price in a few words, for a person. Pure, and without a schema: the console has it as well.
import type { Pricing } from './pricing.ts'

/** Such as `marketing, regular, billable`. */
export function wordsOfPricing({ billable, type, category }: Pricing): string {
  const said = [category, type, billable === undefined ? undefined : billable ? 'billable' : 'free']
  return said.filter((word) => word !== undefined).join(', ')
}
