// The two interactive messages: a list to choose from, and up to three reply buttons.
// Unknown fields are dropped; every limit is the chat product's own (limits.ts).
import { z } from 'zod'
import { filledTextUpTo, textUpTo } from './bounded-text.ts'
import { counted, quoted, valueAt } from './fault.ts'
import { LIMITS } from './limits.ts'
import { linkSchema } from './link.ts'

/**
 * Zod skips a rule about a whole list as soon as one of its items is of a wrong type, and skips the items as soon as
 * there are too many; the sender would learn of the rest only with the next request. So the rules named `judge…` run on
 * any list and read its items as if unchecked, and they stand before `max`, which as a list's first rule would end the parse.
 */
const alsoWhenFaulty = { when: ({ value }: { value: unknown }) => Array.isArray(value) }

/** Both messages take the same headers. A header shows one line of text or one file, and a document is shown by its name. */
const headerSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('text'), text: filledTextUpTo(LIMITS.headerText) }),
  z.object({ type: z.literal('image'), image: z.object({ link: linkSchema }) }),
  z.object({ type: z.literal('video'), video: z.object({ link: linkSchema }) }),
  z.object({ type: z.literal('document'), document: z.object({ link: linkSchema, filename: z.string().min(1) }) }),
])

const bodySchema = z.object({ text: filledTextUpTo(LIMITS.bodyText) })
const footerSchema = z.object({ text: filledTextUpTo(LIMITS.footerText) })

const sectionSchema = z.object({
  title: filledTextUpTo(LIMITS.sectionTitle).optional(),
  rows: z
    .array(
      z.object({
        id: filledTextUpTo(LIMITS.rowId),
        title: filledTextUpTo(LIMITS.rowTitle),
        description: textUpTo(LIMITS.rowDescription).optional(),
      }),
    )
    .min(1),
})

const listSchema = z.object({
  type: z.literal('list'),
  header: headerSchema.optional(),
  body: bodySchema,
  footer: footerSchema.optional(),
  action: z.object({
    button: filledTextUpTo(LIMITS.listButton),
    sections: z.array(sectionSchema).min(1).superRefine(judgeSections, alsoWhenFaulty).max(LIMITS.sections),
  }),
})

const replyButtonSchema = z.object({
  type: z.literal('reply'),
  reply: z.object({
    id: filledTextUpTo(LIMITS.replyId).refine((id) => id === id.trim(), {
      error: (issue) => `expected no space at either end, got ${quoted(issue.input)}`,
    }),
    title: filledTextUpTo(LIMITS.replyTitle),
  }),
})

const buttonSchema = z.object({
  type: z.literal('button'),
  header: headerSchema,
  body: bodySchema,
  footer: footerSchema.optional(),
  action: z.object({
    buttons: z.array(replyButtonSchema).min(1).superRefine(judgeButtons, alsoWhenFaulty).max(LIMITS.replyButtons),
  }),
})

/** The `interactive` object of a message, by its `type`: `list` or `button`. */
export const interactiveSchema = z.discriminatedUnion('type', [listSchema, buttonSchema])

export type Interactive = z.infer<typeof interactiveSchema>

/** The rules a list's sections keep only together: how many rows they hold, which ids, and when they need titles. */
function judgeSections(sections: readonly unknown[], context: z.RefinementCtx): void {
  const ids = sections.flatMap((section, s) => {
    const rows = valueAt(section, ['rows'])
    return Array.isArray(rows)
      ? rows.map((row, r) => ({ path: [s, 'rows', r, 'id'], value: valueAt(row, ['id']) }))
      : []
  })
  if (ids.length > LIMITS.rows) {
    const message = `at most ${counted(LIMITS.rows, 'row')} over all sections, got ${ids.length}`
    context.addIssue({ code: 'custom', message })
  }
  refuseRepeats(ids, 'row', context)
  if (sections.length < 2) return
  sections.forEach((section, s) => {
    if (valueAt(section, ['title']) !== undefined) return
    context.addIssue({ code: 'custom', path: [s, 'title'], message: 'required when there is more than one section' })
  })
}

/** Two buttons of one id could not be told apart when they come back, two of one title not by the person who reads them. */
function judgeButtons(buttons: readonly unknown[], context: z.RefinementCtx): void {
  for (const field of ['id', 'title']) {
    const values = buttons.map((button, b) => ({
      path: [b, 'reply', field],
      value: valueAt(button, ['reply', field]),
    }))
    refuseRepeats(values, 'button', context)
  }
}

type Located = { path: (string | number)[]; value: unknown }

function refuseRepeats(located: readonly Located[], owner: string, context: z.RefinementCtx): void {
  const seen = new Set<unknown>()
  for (const { path, value } of located) {
    if (typeof value === 'string' && seen.has(value)) {
      const message = `expected one that no other ${owner} has, got ${quoted(value)} again`
      context.addIssue({ code: 'custom', path, message })
    }
    seen.add(value)
  }
}
