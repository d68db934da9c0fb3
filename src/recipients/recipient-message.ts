// Builds the message of each recipient of a campaign from the campaign and the recipient's line in its list. Deterministic: always the
// same message with the same id.

import type { SendPayload } from '../jobs/send.ts'
import type { MarketingRoute } from '../model/accounts/sender.ts'
import type { CampaignId } from '../model/campaigns/campaign.ts'
import { compiledOf, maySendAgain } from '../model/campaigns/definition.ts'
import { campaignMessageUlid } from '../model/campaigns/message-ids.ts'
import type { CompiledComponents } from '../model/campaigns/parameters.ts'
import type { Content } from '../model/messages/content.ts'
import { textOf } from '../model/messages/text.ts'
import type { Component } from '../model/templates/template-content.ts'
import type { Redis } from '../redis/connect.ts'
import { CorruptRecordError } from '../redis/records.ts'
import { type Campaign, findCampaign, idOf } from './campaigns.ts'
import type { Recipient } from './snapshot.ts'

/** The common part of a campaign's messages. */
export interface MessageSpec {
  id: CampaignId
  startedAtMs: number
  name: string
  language: string
  compiled: CompiledComponents
  /** What is sent, with placeholders for what is filled in (model/messages/placeholders.ts). */
  withPlaceholders: Content
  /** Epoch ms after which they are not sent. */
  until: number
  /** Overrules the marketing route of the sender. */
  route: MarketingRoute | undefined
  /** They may be duplicates, because somebody asked for them again. */
  again: boolean
}

/** `validityMs`: how long messages of a campaign without an end of its own may be sent from its latest start on. */
export function messageSpecOf(campaign: Campaign, validityMs: number): MessageSpec {
  const { template: wanted, recipients, valid_until, marketing_route: route } = campaign.definition
  const result = compiledOf(campaign.definition)
  if (!result.ok) throw new Error(`the components of campaign ${idOf(campaign)} do not compile any more`)
  return {
    id: { lane: campaign.lane, number: campaign.number },
    startedAtMs: campaign.started_at ?? 0,
    name: wanted.name,
    language: wanted.language.code,
    compiled: result.compiled,
    withPlaceholders: contentOf(wanted.name, wanted.language.code, result.compiled.withPlaceholders),
    until: valid_until === undefined ? (campaign.resumed_at ?? 0) + validityMs : Date.parse(valid_until),
    route,
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

/** The job payload of the recipient's message. */
export const payloadOf = (spec: MessageSpec, recipient: Recipient): SendPayload => ({
  v: 1,
  to: recipient.to,
  class: 'campaign',
  content: contentOf(spec.name, spec.language, spec.compiled.fill(recipient.values)),
  filled: recipient.values,
  until: spec.until,
  run: spec.id.number,
  ...(spec.route && { route: spec.route }),
  ...(spec.again && { again: true as const }),
})

const contentOf = (name: string, language: string, components: readonly Component[]): Content => ({
  type: 'template',
  template: { name, language: { code: language }, components: [...components] },
})

// Records of a campaign's messages keep only the values filled in: the rest of content and text is the same for all, and would take 200
// bytes or more for each of a million. Both are rebuilt from the definition of the campaign.

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
