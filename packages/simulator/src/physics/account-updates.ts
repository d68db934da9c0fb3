// The webhooks about templates, numbers and portfolios that physics make: field and value, as WhatsApp writes them.

import type { AccountUpdate } from '../webhook-body.ts'
import type { QualityChange } from './template-quality.ts'

/** A template by its name and language. */
export interface TemplateName {
  name: string
  language: string
}

/** An update apart from its time. */
type Content = Pick<AccountUpdate, 'field' | 'value'>

const named = ({ name, language }: TemplateName) => ({
  message_template_id: 1,
  message_template_name: name,
  message_template_language: language,
})

/** The template may not be sent any more. */
export const templatePaused = (template: TemplateName): Content => ({
  field: 'message_template_status_update',
  value: {
    event: 'PAUSED',
    ...named(template),
    reason: 'NONE',
    other_info: { title: 'FIRST_PAUSE', description: 'The template is paused because of low quality.' },
  },
})

/** People like the template less than before. */
export const templateQuality = (
  template: TemplateName,
  { quality, before }: Exclude<QualityChange, 'paused'>,
): Content => ({
  field: 'message_template_quality_update',
  value: { ...named(template), previous_quality_score: before, new_quality_score: quality },
})

/** The number is held back, may send again, or may send faster. */
export const numberChanged = (
  displayNumber: string,
  event: 'FLAGGED' | 'UNFLAGGED' | 'THROUGHPUT_UPGRADE',
): Content => ({
  field: 'phone_number_quality_update',
  value: { display_phone_number: displayNumber, event },
})

/** The portfolio may write to so many people first in a day. */
export const limitChanged = (people: number): Content => ({
  field: 'business_capability_update',
  value: { max_daily_conversations_per_business: people, max_phone_numbers_per_business: 20 },
})
