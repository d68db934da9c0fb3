// Products of the catalogue that is connected with the account at WhatsApp: one, several in sections, or all of it.
import { z } from 'zod'
import { type Context, listUpTo, nonEmptyTextUpTo, parsedPart } from '../../kernel/bounded.ts'
import { counted, valueAt } from '../../kernel/fault.ts'
import { bodySchema, footerSchema } from './interactive-parts.ts'
import { LIMITS } from './limits.ts'

const catalogId = nonEmptyTextUpTo(LIMITS.catalogId)
const productId = nonEmptyTextUpTo(LIMITS.productId)

/** `product`: one product, and if wanted a text. */
export const productSchema = z
  .object({
    type: z.literal('product'),
    body: bodySchema.optional(),
    footer: footerSchema.optional(),
    action: z.object({ catalog_id: catalogId, product_retailer_id: productId }),
  })
  .meta({ id: 'InteractiveProduct' })

const sectionSchema = z.object({
  title: nonEmptyTextUpTo(LIMITS.sectionTitle).optional(),
  product_items: listUpTo(LIMITS.products, z.object({ product_retailer_id: productId }), {
    min: 1,
    lengthSaidElsewhere: true,
  }),
})

/** `product_list`: a text header, a text and products in sections. */
export const productListSchema = z
  .object({
    type: z.literal('product_list'),
    header: z.object({ type: z.literal('text'), text: nonEmptyTextUpTo(LIMITS.headerText) }),
    body: bodySchema,
    footer: footerSchema.optional(),
    action: z.object({
      catalog_id: catalogId,
      sections: listUpTo(LIMITS.sections, sectionSchema, { min: 1, judge: judgeSections }),
    }),
  })
  .meta({ id: 'InteractiveProductList' })

/** `catalog_message`: a text with a button that opens the catalogue; `thumbnail_product_retailer_id` is shown with it. */
export const catalogMessageSchema = z
  .object({
    type: z.literal('catalog_message'),
    body: bodySchema,
    footer: footerSchema.optional(),
    action: z.object({
      name: z.literal('catalog_message'),
      parameters: z.object({ thumbnail_product_retailer_id: productId.optional() }).optional(),
    }),
  })
  .meta({ id: 'InteractiveCatalog' })

/** The rules that sections keep only together: how many products there are, and when sections need titles. */
function judgeSections(sections: readonly unknown[], context: Context): void {
  const count = sections.reduce<number>((sum, section) => {
    const items = valueAt(section, ['product_items'])
    return sum + (Array.isArray(items) ? items.length : 0)
  }, 0)
  if (count > LIMITS.products) {
    const message = `at most ${counted(LIMITS.products, 'product')} over all sections, got ${count}`
    context.issues.push({ code: 'custom', message, input: sections })
  }
  if (sections.length < 2) return
  parsedPart(sections, LIMITS.sections).forEach((section, s) => {
    if (valueAt(section, ['title']) !== undefined) return
    const message = 'required when there is more than one section'
    context.issues.push({ code: 'custom', path: [s, 'title'], message, input: undefined })
  })
}
