// The message of each recipient of a campaign, made from the campaign and the recipient's line in its list. Whoever makes
// it, wherever and whenever, makes the same one under the same id.
import type { SendPayload } from '../../jobs/send.ts'
import type { Content } from '../../messages/content.ts'
import type { Component } from '../../messages/templates/template-content.ts'
import type { CampaignId } from '../campaign-id.ts'
import { maySendAgain, valueSourceKind } from '../definition.ts'
import { campaignMessageUlid } from '../message-ids.ts'
import { type CompiledComponents, compileComponents } from '../parameters.ts'
import { type Campaign, idOf } from './campaigns.ts'
import type { Recipient } from './snapshot.ts'

/** All that the messages of one campaign have in common. */
export interface MessageSpec {
  id: CampaignId
  startedAtMs: number
  name: string
  language: string
  compiled: CompiledComponents
  /** What is sent, with holes for what is filled in (messages/holes.ts). */
  holed: Content
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
    holed: contentOf(wanted.name, wanted.language.code, result.compiled.holed),
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
