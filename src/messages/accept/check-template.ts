// Whether a template message agrees with the account's approved template.

import type { Account } from '../../accounts/accounts.ts'
import { cachedTemplate, otherLanguages } from '../../accounts/templates.ts'
import type { Fault } from '../../kernel/fault.ts'
import type { TemplateMessageContent } from '../../model/messages/content.ts'
import { withoutUnusedNames } from '../../model/templates/match-parameters.ts'
import { matchTemplate } from '../../model/templates/match-template.ts'
import type { Template } from '../../model/templates/template.ts'
import type { Redis } from '../../redis/connect.ts'

/** A template as it was found for a message: `content` is without what has no meaning in it. */
export interface CheckedTemplate {
  template: Template | undefined
  content: TemplateMessageContent
  faults: Fault[]
}

/** Compares the content with the account's approved template. With the check off, an unknown template passes. */
export async function checkTemplate(
  redis: Redis,
  { account, settings }: { account: number; settings: Account | undefined },
  content: TemplateMessageContent,
): Promise<CheckedTemplate> {
  const { name, language, components } = content.template
  const known = await cachedTemplate(redis, account, name, language.code)
  const template = known?.template
  const checked = { template, content: known ? withoutUnusedNames(content, known.shape) : content }
  if (settings?.template_check === 'off') return { faults: [], ...checked }
  const fault = (message: string) => ({ faults: [{ path: 'template.name', message }], ...checked })
  if (!known || !template) {
    const others = await otherLanguages(redis, account, name)
    return fault(`no approved template of this name in the language ${JSON.stringify(language.code)}${others}`)
  }
  if (template.status !== 'APPROVED') return fault(`the template is ${template.status}, not APPROVED`)
  return { faults: matchTemplate(known.shape, components), ...checked }
}
