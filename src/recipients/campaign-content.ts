// Content and text of a campaign's messages, from their records. A record keeps only the values filled in: the rest is the same for
// all, and would take 200 bytes or more for each of a million. Both are rebuilt from the definition of the campaign.

import type { SendPayload } from '../jobs/send.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { compiledOf } from '../model/campaigns/definition.ts'
import type { Content } from '../model/messages/content.ts'
import { textOf } from '../model/messages/text.ts'
import type { Redis } from '../redis/connect.ts'
import { CorruptRecordError } from '../redis/records.ts'
import { type Campaign, findCampaign } from './campaigns.ts'
import { contentOf } from './recipient-message.ts'

type CampaignMessage = { run?: number | undefined; filled?: readonly string[] | undefined }

/** Reads each campaign once, with its components compiled. Use it for a page of messages, no longer: campaigns change. */
function readCampaignsOnce(redis: Redis) {
  const known = new Map<
    string,
    Promise<{ campaign: Campaign; fill: (filled: readonly string[]) => Content } | undefined>
  >()
  return ({ lane, number }: CampaignId) => {
    const name = `${lane} ${number}`
    const reading = known.get(name) ?? findCampaign(redis, { lane, number }).then(withFill)
    known.set(name, reading)
    return reading
  }
}

function withFill(campaign: Campaign | undefined) {
  if (campaign === undefined) return undefined
  const { name, language } = campaign.definition.template
  const result = compiledOf(campaign.definition)
  const fill = (filled: readonly string[]) =>
    contentOf(name, language.code, result.ok ? result.compiled.fill(filled) : [])
  return { campaign, fill }
}

/** The content of the messages of one lane's campaigns, and whether they can be sent. */
export function createCampaignContent(redis: Redis, lane: number) {
  const campaigns = readCampaignsOnce(redis)
  return {
    /**
     * Why no message of the campaign can be sent; undefined when they can. `campaign_over`: it is cancelled, or has
     * expired. `unreadable`: its record is corrupt, which a person must fix.
     */
    async obstacle(run: number): Promise<'campaign_over' | 'unreadable' | undefined> {
      try {
        const found = await campaigns({ lane, number: run })
        return found === undefined || found.campaign.state === 'cancelled' ? 'campaign_over' : undefined
      } catch (error) {
        if (error instanceof CorruptRecordError) return 'unreadable'
        throw error
      }
    },

    /** The payload of a message, or undefined when the record lacks the values. */
    async payloadOf({
      run,
      filled,
      to,
      validUntil,
    }: CampaignMessage & { run: number; to: string; validUntil: number }): Promise<SendPayload | undefined> {
      const found = filled && (await campaigns({ lane, number: run }))
      if (filled === undefined || found === undefined) return undefined
      const { marketing_route: route } = found.campaign.definition
      const content = found.fill(filled)
      const rest = { filled: [...filled], until: validUntil, run, ...(route && { route }) }
      return { v: 1, to, class: 'campaign', content, ...rest }
    },
  }
}

/** The text of a campaign's message; undefined for any other. Empty once the campaign has expired. */
export const campaignText = (redis: Redis, lane: number, message: CampaignMessage): Promise<string | undefined> =>
  campaignTexts(redis)(lane, message)

/** The same for many messages: each campaign is read once. */
export function campaignTexts(redis: Redis): (lane: number, message: CampaignMessage) => Promise<string | undefined> {
  const campaigns = readCampaignsOnce(redis)
  return async (lane, { run, filled }) => {
    if (run === undefined || filled === undefined) return undefined
    const found = await campaigns({ lane, number: run })
    return found === undefined ? '' : textOf(found.fill(filled), found.campaign.template)
  }
}
