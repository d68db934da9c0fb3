// What the recipients of a campaign read. It is the same for all but for what is filled in, so a record keeps only that,
// which takes 200 bytes off each of a million.

import { textOf } from '../../messages/text.ts'
import type { Redis } from '../../redis/connect.ts'
import { valueSourceKind } from '../definition.ts'
import { compileComponents } from '../parameters.ts'
import { findCampaign } from './campaigns.ts'

/** The text of a campaign's message; undefined for any other. Empty once the campaign is not kept any more. */
export async function campaignText(
  redis: Redis,
  lane: number,
  message: { run?: number | undefined; filled?: readonly string[] | undefined },
): Promise<string | undefined> {
  if (message.run === undefined || message.filled === undefined) return undefined
  const campaign = await findCampaign(redis, { lane, number: message.run })
  if (campaign === undefined) return ''
  const { template: wanted, recipients } = campaign.definition
  const result = compileComponents(wanted.components, valueSourceKind(recipients))
  const components = result.ok ? result.compiled.fill(message.filled) : []
  const content = { type: 'template' as const, template: { name: wanted.name, language: wanted.language, components } }
  return textOf(content, campaign.template)
}
