// Interactive messages: a list to choose from, up to three reply buttons, a button that opens a link, one that shares a
// location, a form, and products of a catalogue. Unknown fields are dropped; every limit is WhatsApp's own (limits.ts).
import { z } from 'zod'
import { type Context, listUpTo, nonEmptyTextUpTo, parsedPart, textUpTo } from '../../kernel/bounded.ts'
import { counted, quoted, valueAt } from '../../kernel/fault.ts'
import { flowSchema } from './interactive-flow.ts'
import { bodySchema, footerSchema, headerSchema } from './interactive-parts.ts'
import { catalogMessageSchema, productListSchema, productSchema } from './interactive-products.ts'
import { LIMITS } from './limits.ts'
import { linkSchema } from './media-source.ts'

/** `cta_url`: a text with one button that opens an address. */
const ctaUrlSchema = z
  .object({
    type: z.literal('cta_url'),
    header: headerSchema.optional(),
    body: bodySchema,
    footer: footerSchema.optional(),
    action: z.object({
      name: z.literal('cta_url'),
      parameters: z.object({ display_text: nonEmptyTextUpTo(LIMITS.linkButton), url: linkSchema }),
    }),
  })
  .meta({ id: 'InteractiveLink' })

/** `location_request_message`: a text with a button that sends the location of the person back. */
const locationRequestSchema = z
  .object({
    type: z.literal('location_request_message'),
    body: bodySchema,
    action: z.object({ name: z.literal('send_location') }),
  })
  .meta({ id: 'InteractiveLocationRequest' })

const sectionSchema = z.object({
  title: nonEmptyTextUpTo(LIMITS.sectionTitle).optional(),
  rows: listUpTo(
    LIMITS.rows,
    z.object({
      id: nonEmptyTextUpTo(LIMITS.rowId),
      title: nonEmptyTextUpTo(LIMITS.rowTitle),
      description: textUpTo(LIMITS.rowDescription).optional(),
    }),
    { min: 1, lengthSaidElsewhere: true },
  ),
})

const listSchema = z.object({
  type: z.literal('list'),
  header: headerSchema.optional(),
  body: bodySchema,
  footer: footerSchema.optional(),
  action: z.object({
    button: nonEmptyTextUpTo(LIMITS.listButton),
    sections: listUpTo(LIMITS.sections, sectionSchema, { min: 1, judge: judgeSections }),
  }),
})

const replyButtonSchema = z.object({
  type: z.literal('reply'),
  reply: z.object({
    id: nonEmptyTextUpTo(LIMITS.replyId).refine((id) => id === id.trim(), {
      error: (issue) => `expected no space at either end, got ${quoted(issue.input)}`,
    }),
    title: nonEmptyTextUpTo(LIMITS.replyTitle),
  }),
})

const buttonSchema = z.object({
  type: z.literal('button'),
  /** Some providers want one: accept/provider-support.ts. */
  header: headerSchema.optional(),
  body: bodySchema,
  footer: footerSchema.optional(),
  action: z.object({
    buttons: listUpTo(LIMITS.replyButtons, replyButtonSchema, { min: 1, judge: judgeButtons }),
  }),
})

/** The `interactive` object of a message, by its `type`. */
export const interactiveSchema = z.discriminatedUnion('type', [
  listSchema.meta({ id: 'InteractiveList' }),
  buttonSchema.meta({ id: 'InteractiveButtons' }),
  ctaUrlSchema,
  locationRequestSchema,
  flowSchema,
  productSchema,
  productListSchema,
  catalogMessageSchema,
])

export type Interactive = z.infer<typeof interactiveSchema>

/** The rules a list's sections keep only together: how many rows they hold, which ids, and when they need titles. */
function judgeSections(sections: readonly unknown[], context: Context): void {
  const rowsOf = (section: unknown): readonly unknown[] => {
    const rows = valueAt(section, ['rows'])
    return Array.isArray(rows) ? rows : []
  }
  const count = sections.reduce<number>((sum, section) => sum + rowsOf(section).length, 0)
  if (count > LIMITS.rows) {
    const message = `at most ${counted(LIMITS.rows, 'row')} over all sections, got ${count}`
    context.issues.push({ code: 'custom', message, input: sections })
  }
  const first = parsedPart(sections, LIMITS.sections)
  const ids = first.flatMap((section, s) =>
    parsedPart(rowsOf(section), LIMITS.rows).map((row, r) => ({
      path: [s, 'rows', r, 'id'],
      value: valueAt(row, ['id']),
    })),
  )
  refuseRepeats(ids, 'row', context)
  if (sections.length < 2) return
  first.forEach((section, s) => {
    if (valueAt(section, ['title']) !== undefined) return
    const message = 'required when there is more than one section'
    context.issues.push({ code: 'custom', path: [s, 'title'], message, input: undefined })
  })
}

/** Two buttons of one id are indistinguishable when they come back, two of one title to the person who reads them. */
function judgeButtons(buttons: readonly unknown[], context: Context): void {
  for (const field of ['id', 'title']) {
    const values = parsedPart(buttons, LIMITS.replyButtons).map((button, b) => ({
      path: [b, 'reply', field],
      value: valueAt(button, ['reply', field]),
    }))
    refuseRepeats(values, 'button', context)
  }
}

type Located = { path: (string | number)[]; value: unknown }

function refuseRepeats(located: readonly Located[], owner: string, context: Context): void {
  const seen = new Set<unknown>()
  for (const { path, value } of located) {
    if (typeof value === 'string' && seen.has(value)) {
      const message = `expected one that no other ${owner} has, got ${quoted(value)} again`
      context.issues.push({ code: 'custom', path, message, input: value })
    }
    seen.add(value)
  }
}
