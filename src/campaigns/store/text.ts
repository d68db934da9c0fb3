// What the recipients of a campaign read. It is the same for all but for what is filled in, so a record keeps only that,
// which takes 200 bytes off each of a million.

import { textOf } from '../../messages/text.ts'
import type { Redis } from '../../redis/connect.ts'
import { valueSourceKind } from '../definition.ts'
import { compileComponents } from '../parameters.ts'
import { findCampaign } from './campaigns.ts'

type CampaignMessage = { run?: number | undefined; filled?: readonly string[] | undefined }
type Fill = (filled: readonly string[]) => string

/** The text of a campaign's message; undefined for any other. Empty once the campaign is not kept any more. */
export const campaignText = (redis: Redis, lane: number, message: CampaignMessage): Promise<string | undefined> =>
  campaignTexts(redis)(lane, message)

/** The same for many messages: each campaign is read once, as it is then. */
export function campaignTexts(redis: Redis): (lane: number, message: CampaignMessage) => Promise<string | undefined> {
  const known = new Map<string, Promise<Fill>>()
  return async (lane, { run, filled }) => {
    if (run === undefined || filled === undefined) return undefined
    const name = `${lane} ${run}`
    const fill = known.get(name) ?? fillOf(redis, lane, run)
    known.set(name, fill)
    return (await fill)(filled)
  }
}

async function fillOf(redis: Redis, lane: number, number: number): Promise<Fill> {
  const campaign = await findCampaign(redis, { lane, number })
  if (campaign === undefined) return () => ''
  const { template: wanted, recipients } = campaign.definition
  const result = compileComponents(wanted.components, valueSourceKind(recipients))
  return (filled) => {
    const components = result.ok ? result.compiled.fill(filled) : []
    const content = {
      type: 'template' as const,
      template: { name: wanted.name, language: wanted.language, components },
    }
    return textOf(content, campaign.template)
  }
}
