// The message of each recipient of a campaign, made from the campaign and the recipient's line in its list. Whoever makes
// it, wherever and whenever, makes the same one under the same id.
import type { SendPayload } from '../../jobs/send.ts'
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
  const { id, name, language, compiled } = spec
  const components = compiled.fill(recipient.values)
  const content = { type: 'template' as const, template: { name, language: { code: language }, components } }
  return {
    ulid: campaignMessageUlid(idOf(id), spec.startedAtMs, index, recipient.to),
    payload: {
      v: 1,
      to: recipient.to,
      class: 'campaign',
      content,
      filled: recipient.values,
      until: spec.until,
      run: id.number,
      ...(spec.again && { again: true as const }),
    },
  }
}
