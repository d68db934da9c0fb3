// Whether a campaign's template can be sent as the account has it now: it may have been imported again since the preflight.
import { findAccount } from '../../accounts/accounts.ts'
import { findTemplate, otherLanguages } from '../../accounts/templates.ts'
import { compiledOf } from '../../model/campaigns/definition.ts'
import { structuralFaults } from '../../model/campaigns/parameters.ts'
import { shapeOf } from '../../model/templates/template.ts'
import type { Campaign } from '../../recipients/campaigns.ts'
import type { Redis } from '../../redis/connect.ts'

interface TemplateProblem {
  code: 'template_not_approved' | 'template_changed'
  sentence: string
}

/** Why the campaign's template cannot be sent now; undefined when it can. */
export async function templateProblem(
  redis: Redis,
  campaign: Pick<Campaign, 'account' | 'definition'>,
): Promise<TemplateProblem | undefined> {
  const { name, language } = campaign.definition.template
  const { template, isChecked } = await currentTemplate(redis, campaign)
  if (!isChecked || template?.status === 'APPROVED') return undefined
  const sentence = template
    ? `The template ${name} is ${template.status}, not APPROVED.`
    : `There is no approved template ${name} in the language ${language.code}${await otherLanguages(redis, campaign.account, name)}.`
  return { code: 'template_not_approved', sentence }
}

/**
 * Why the values that were frozen at preflight do not fit the template any more, as when it was imported with other
 * parameters, buttons or another header: WhatsApp would refuse every message. Another wording is no problem.
 */
export async function changedTemplate(redis: Redis, campaign: Campaign): Promise<TemplateProblem | undefined> {
  const { template: wanted } = campaign.definition
  const { template, isChecked } = await currentTemplate(redis, campaign)
  if (!isChecked || !template || JSON.stringify(template) === JSON.stringify(campaign.template)) return undefined
  const result = compiledOf(campaign.definition)
  const [fault] = result.ok ? structuralFaults(shapeOf(template), result.compiled) : result.faults
  if (fault === undefined) return undefined
  const sentence = `The template ${wanted.name} has changed and does not fit this campaign any more: ${fault.path}: ${fault.message}.`
  return { code: 'template_changed', sentence }
}

async function currentTemplate(redis: Redis, { account, definition }: Pick<Campaign, 'account' | 'definition'>) {
  const { name, language } = definition.template
  const [settings, template] = await Promise.all([
    findAccount(redis, account),
    findTemplate(redis, account, name, language.code),
  ])
  return { template, isChecked: settings?.template_check !== 'off' }
}
