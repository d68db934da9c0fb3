// Builds the message of each recipient of a campaign from the campaign and the recipient's line in its list. Deterministic: always the
// same message with the same id.

import type { SendPayload } from '../jobs/send.ts'
import type { MarketingRoute } from '../model/accounts/sender.ts'
import type { CampaignId } from '../model/campaigns/campaign-id.ts'
import { compiledOf, maySendAgain } from '../model/campaigns/definition.ts'
import { campaignMessageUlid } from '../model/campaigns/message-ids.ts'
import type { CompiledComponents } from '../model/campaigns/parameters.ts'
import type { Content } from '../model/messages/content.ts'
import type { Component } from '../model/templates/template-content.ts'
import { type Campaign, idOf } from './campaigns.ts'
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

export const contentOf = (name: string, language: string, components: readonly Component[]): Content => ({
  type: 'template',
  template: { name, language: { code: language }, components: [...components] },
})
