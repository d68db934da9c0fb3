// The message of each recipient of a campaign, made from the campaign and the recipient's line in its list. It is the same
// message, under the same id, whenever and wherever it is made.
import type { SendPayload } from '../../jobs/send.ts'
import type { Content } from '../../messages/content.ts'
import type { MessageRecord } from '../../messages/store/record-format.ts'
import type { Component } from '../../messages/templates/template-content.ts'
import { textOf } from '../../messages/text.ts'
import type { Redis } from '../../redis/connect.ts'
import { CorruptRecordError } from '../../redis/records.ts'
import type { CampaignId } from '../campaign.ts'
import { maySendAgain, valueSourceKind } from '../definition.ts'
import { campaignMessageUlid } from '../message-ids.ts'
import { type CompiledComponents, compileComponents } from '../parameters.ts'
import { type Campaign, findCampaign, idOf } from './campaigns.ts'
import type { Recipient } from './snapshot.ts'

/** All that the messages of one campaign have in common. */
export interface MessageSpec {
  id: CampaignId
  startedAtMs: number
  name: string
  language: string
  compiled: CompiledComponents
  /** What is sent, with placeholders for what is filled in (messages/placeholders.ts). */
  withPlaceholders: Content
  /** Epoch ms after which they are not sent. */
  until: number
  /** They may be second messages to their recipients, by somebody's wish. */
  again: boolean
}

/** `validityMs`: how long messages of a campaign without an end of its own may be sent from its latest start on. */
export function messageSpecOf(campaign: Campaign, validityMs: number): MessageSpec {
  const { template: wanted, recipients, valid_until } = campaign.definition
  const result = compileComponents(wanted.components, valueSourceKind(recipients))
  if (!result.ok) throw new Error(`the components of campaign ${idOf(campaign)} do not compile any more`)
  return {
    id: { lane: campaign.lane, number: campaign.number },
    startedAtMs: campaign.started_at ?? 0,
    name: wanted.name,
    language: wanted.language.code,
    compiled: result.compiled,
    withPlaceholders: contentOf(wanted.name, wanted.language.code, result.compiled.withPlaceholders),
    until: valid_until === undefined ? (campaign.resumed_at ?? 0) + validityMs : Date.parse(valid_until),
    again: maySendAgain(recipients),
  }
}

/** The message of the recipient at place `index`. */
export function buildMessage(
  spec: MessageSpec,
  recipient: Recipient,
  index: number,
): { ulid: string; payload: SendPayload } {
  return { ulid: ulidOf(spec, recipient, index), payload: payloadOf(spec, recipient) }
}

/** The ULID of the message of the recipient at place `index`. */
export const ulidOf = ({ id, startedAtMs }: MessageSpec, { to }: Recipient, index: number): string =>
  campaignMessageUlid(idOf(id), startedAtMs, index, to)

/** What a job of the recipient's message holds. */
export const payloadOf = (spec: MessageSpec, recipient: Recipient): SendPayload => ({
  v: 1,
  to: recipient.to,
  class: 'campaign',
  content: contentOf(spec.name, spec.language, spec.compiled.fill(recipient.values)),
  filled: recipient.values,
  until: spec.until,
  run: spec.id.number,
  ...(spec.again && { again: true as const }),
})

const contentOf = (name: string, language: string, components: readonly Component[]): Content => ({
  type: 'template',
  template: { name, language: { code: language }, components: [...components] },
})

// The content of a campaign's messages, made once more from what the campaign defines and what was filled in for the
// recipient: kept with every message it would take as much room as all else together.

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

// What the recipients of a campaign read. It is the same for all but for what is filled in, so a record keeps only that,
// which takes 200 bytes off each of a million.

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
