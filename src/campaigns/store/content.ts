// The content of a campaign's messages, made once more from what the campaign defines and what was filled in for the
// recipient: kept with every message it would take as much room as all else together.
import type { SendPayload } from '../../jobs/send.ts'
import type { MessageRecord } from '../../messages/store/record-format.ts'
import type { Redis } from '../../redis/connect.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import { valueSourceKind } from '../definition.ts'
import { compileComponents } from '../parameters.ts'
import { type Campaign, findCampaign } from './campaigns.ts'

/** Reads each campaign of one lane once. Open it for a page of messages, no longer: campaigns change. */
export function createCampaignContent(redis: Redis, lane: number) {
  const known = new Map<number, Promise<Campaign | undefined>>()

  const campaignOf = (run: number): Promise<Campaign | undefined> => {
    const reading = known.get(run) ?? findCampaign(redis, { lane, number: run })
    known.set(run, reading)
    return reading
  }

  return {
    /**
     * Why no message of the campaign can be sent; undefined when they can. `campaign_over`: it is cancelled, or not kept
     * any more. `unreadable`: its record is not what Laneway wrote, which a person must fix.
     */
    async obstacle(run: number): Promise<'campaign_over' | 'unreadable' | undefined> {
      try {
        const campaign = await campaignOf(run)
        return campaign === undefined || campaign.state === 'cancelled' ? 'campaign_over' : undefined
      } catch (error) {
        if (error instanceof CorruptRecordError) return 'unreadable'
        throw error
      }
    },

    /** The payload of a message, or undefined when the record does not hold what was filled in. */
    async payloadOf(message: MessageRecord & { run: number }): Promise<SendPayload | undefined> {
      const campaign = await campaignOf(message.run)
      if (campaign === undefined || message.filled === undefined) return undefined
      const { template, recipients } = campaign.definition
      const compiled = compileComponents(template.components, valueSourceKind(recipients))
      if (!compiled.ok) return undefined
      const components = compiled.compiled.fill(message.filled)
      return {
        v: 1,
        to: message.to,
        class: 'campaign',
        content: { type: 'template', template: { name: template.name, language: template.language, components } },
        filled: [...message.filled],
        until: message.validUntil,
        run: message.run,
      }
    },
  }
}
