// Webhooks about templates: their status, category, quality and parts.
import { z } from 'zod'
import type { Change, FieldUpdate } from './account-updates.ts'
import { constant, given, plainText, spare } from './webhook-fields.ts'

const name = z.string().regex(/^[a-z0-9_]{1,512}$/)
/** Templates name their language `en_US`; their webhooks write `en-US` as well. */
const language = z
  .string()
  .regex(/^[A-Za-z]{2,3}([-_][A-Za-z0-9]{2,8}){0,2}$/)
  .transform((text) => text.replaceAll('-', '_'))
const named = { message_template_name: name, message_template_language: language }

/** Other names of a status. */
const STATUS_OF: Readonly<Record<string, string>> = {
  REINSTATED: 'APPROVED',
  UNARCHIVED: 'APPROVED',
  UNPAUSED: 'APPROVED',
}
/** It goes on being sent: WhatsApp only warns that it may be disabled soon. */
const WARNINGS = ['FLAGGED']

const statusSchema = z.object({
  ...named,
  event: constant.transform((word) => word.toUpperCase()),
  reason: spare(plainText),
  message_template_category: spare(constant),
  disable_info: spare(
    z.object({ disable_date: spare(z.union([z.string(), z.number()]).transform(String).pipe(plainText)) }),
  ),
  other_info: spare(z.object({ title: spare(plainText), description: spare(plainText) })),
  rejection_info: spare(z.object({ reason: spare(plainText), recommendation: spare(plainText) })),
})

export const status = statusSchema.transform((value): FieldUpdate => {
  const { event, other_info: other, rejection_info: rejection } = value
  const changes: Change[] = WARNINGS.includes(event)
    ? []
    : [{ of: 'template', group: 'status', value: STATUS_OF[event] ?? event }]
  return {
    ...ofTemplate(value, `is ${event}`),
    event,
    changes,
    details: given({
      reason: value.reason === 'NONE' ? undefined : value.reason,
      category: value.message_template_category,
      disable_date: value.disable_info?.disable_date,
      title: other?.title,
      description: other?.description,
      rejection: rejection?.reason,
      recommendation: rejection?.recommendation,
    }),
  }
})

export const quality = z
  .object({ ...named, new_quality_score: constant, previous_quality_score: spare(constant) })
  .transform((value): FieldUpdate => {
    const { new_quality_score: now, previous_quality_score: before } = value
    return {
      ...ofTemplate(value, `has the quality ${now}`),
      event: now,
      changes: [{ of: 'template', group: 'quality', value: now.toUpperCase() }],
      details: given({ before }),
    }
  })

/** Only that they changed: of headers with media it does not say enough to make a definition. */
export const components = z.object(named).transform(
  (value): FieldUpdate => ({
    ...ofTemplate(value, 'has other parts; sync or import it again'),
    event: undefined,
    changes: [{ of: 'template', group: 'components', value: 'changed' }],
    details: {},
  }),
)

/** Without a new category WhatsApp only announces the `correct` one. */
export const category = z
  .object({
    ...named,
    new_category: spare(constant),
    previous_category: spare(constant),
    correct_category: spare(constant),
  })
  .refine(({ new_category, correct_category }) => new_category !== undefined || correct_category !== undefined)
  .transform((value): FieldUpdate => {
    const { new_category: now, previous_category: before, correct_category: correct } = value
    // While it is only announced, the new one is the one that it has.
    const isChange = now !== undefined && (correct === undefined || before !== undefined)
    return {
      ...ofTemplate(value, isChange ? `is now ${now}` : `is to become ${correct ?? now}`),
      event: now ?? correct,
      changes: isChange ? [{ of: 'template', group: 'category', value: now.toUpperCase() }] : [],
      details: given({ before, correct }),
    }
  })

function ofTemplate(value: { message_template_name: string; message_template_language: string }, what: string) {
  const template = { name: value.message_template_name, language: value.message_template_language }
  return { template, sentence: `Template ${template.name} (${template.language}) ${what}.` }
}
