// Makes the job of a message, from what depends on the account and on the time: the sender that it leaves from, whether the
// approved template agrees and the sender's provider takes it, its class, until when it is worth sending.

import { type Account, cachedAccount } from '../../accounts/accounts.ts'
import type { SendPayload } from '../../jobs/send.ts'
import type { Config } from '../../kernel/config.ts'
import type { Fault } from '../../kernel/fault.ts'
import { sendAtFault, validityFault } from '../../kernel/instant.ts'
import { parseMessageId } from '../../kernel/message-id.ts'
import { isUserId } from '../../kernel/recipient.ts'
import { invalidFields, type Refusal } from '../../kernel/refusal.ts'
import { readMessage } from '../../lanes/messages/records.ts'
import { classOf, type ServiceContent } from '../../model/messages/content.ts'
import { wordingOf } from '../../model/messages/text.ts'
import type { Redis } from '../../redis/connect.ts'
import { checkTemplate } from './check-template.ts'
import { assertSound, senderFaults, senderFor } from './choose-sender.ts'
import { galleryFaults } from './gallery-files.ts'
import { refuseUnsupported } from './provider-support.ts'
import type { Address, ReadSend, ServiceMessage, TemplateMessage, UnreadableSend } from './read-send.ts'
import { isOutsideWindow, OUTSIDE_WINDOW, outsideWindow } from './reply-window.ts'

/** What judging a message needs. Times of `config` are in ms. */
export interface PrepareDeps {
  redis: Redis
  config: Pick<Config, 'validityMs' | 'retentionMs' | 'limits'> & { publicUrl?: string | undefined }
}

/** A message that is ready to be queued. */
export interface PreparedMessage {
  lane: number
  payload: SendPayload
  /** The warning of a message that reaches only people who wrote within 24 hours, if this one did not. */
  warn?: () => Promise<typeof OUTSIDE_WINDOW | undefined>
}

/** Whose message it is, and the lane that its id names already, where it has one. */
export interface Owner {
  account: number
  /** Of the account, as they were within the last second. */
  settings: Account | undefined
  lane?: number | undefined
}

/**
 * Makes the job of a message, or throws a Refusal. With a `lane` it is made for that one, whichever sender the request
 * would get by now.
 */
export function prepareMessage(
  deps: PrepareDeps,
  owner: Owner,
  read: ReadSend,
  nowMs: number,
): Promise<PreparedMessage> {
  return read.kind === 'service'
    ? prepareService(deps, owner, read.message, nowMs)
    : prepareTemplate(deps, owner, read.message, nowMs)
}

/** All faults of a request with a wrong shape, those of its template and its sender included. */
export async function refusalOf(
  redis: Redis,
  account: number,
  { faults, content, sender }: UnreadableSend,
): Promise<Refusal> {
  const settings = content && (await cachedAccount(redis, account))
  const [ofTemplate, ofFiles, ofSender] = await Promise.all([
    content && checkTemplate(redis, { account, settings }, content),
    content && galleryFaults(redis, account, content),
    sender === undefined ? undefined : senderFor(redis, { account }, { sender }).then(senderFaults),
  ])
  return invalidFields([...faults, ...(ofTemplate?.faults ?? []), ...(ofFiles ?? []), ...(ofSender ?? [])])
}

async function prepareService(
  deps: PrepareDeps,
  owner: Owner,
  message: ServiceMessage,
  nowMs: number,
): Promise<PreparedMessage> {
  const { to } = message
  const [sender, ofFiles] = await Promise.all([
    senderFor(deps.redis, owner, message),
    galleryFaults(deps.redis, owner.account, message.content),
  ])
  const { until, faults } = times(deps.config, 'transactional', message, nowMs)
  assertSound(sender, [...ofFiles, ...senderFaults(sender), ...faults], message)
  refuseUnsupported(sender, message, deps.config)
  const content = await withProviderIds(deps.redis, sender.id, message.content)
  const payload = { v: 1, to, class: 'transactional', content, until, ...wishesOf(message) } as const
  // What people write is known on this wire only.
  if (sender.provider !== 'cloud-api') return { lane: sender.id, payload }
  const isOutside = () =>
    isOutsideWindow(deps.redis, { account: owner.account, lane: sender.id, to }, message.sendAtMs ?? nowMs)
  if (owner.settings?.outside_window === 'refuse' && (await isOutside())) throw outsideWindow()
  return { lane: sender.id, payload, warn: async () => ((await isOutside()) ? OUTSIDE_WINDOW : undefined) }
}

async function prepareTemplate(
  deps: PrepareDeps,
  owner: Owner,
  message: TemplateMessage,
  nowMs: number,
): Promise<PreparedMessage> {
  const { to, campaignId } = message
  const [{ template, content, faults }, ofFiles, sender] = await Promise.all([
    checkTemplate(deps.redis, owner, message.content),
    galleryFaults(deps.redis, owner.account, message.content),
    senderFor(deps.redis, owner, message),
  ])
  const messageClass = classOf(content, template?.category)
  const valid = times(deps.config, messageClass, message, nowMs)
  const ofCode = template?.category === 'AUTHENTICATION' && isUserId(to) ? [NO_CODE_TO_USER_ID] : []
  assertSound(sender, [...faults, ...ofFiles, ...ofCode, ...senderFaults(sender), ...valid.faults], message)
  refuseUnsupported(sender, message, deps.config)
  const campaign = campaignId === undefined || campaignId === '' ? {} : { campaign: campaignId }
  const wording = template && wordingOf(template)
  return {
    lane: sender.id,
    payload: {
      v: 1,
      to,
      class: messageClass,
      content,
      until: valid.until,
      ...wishesOf(message),
      ...campaign,
      ...(wording && { wording }),
    },
  }
}

/** WhatsApp refuses it (131062). */
const NO_CODE_TO_USER_ID: Fault = { path: 'to', message: 'expected a phone number: codes are sent to no user ids' }

/** What the job has of the envelope as it came. */
const wishesOf = ({ sendAtMs, reference }: Address) => ({
  ...(sendAtMs !== undefined && { sendAt: sendAtMs }),
  ...(reference !== undefined && { reference }),
})

/**
 * When the message stops being worth sending: as the request has it, else the default of its class, which counts from
 * when it may leave.
 */
function times(
  config: PrepareDeps['config'],
  messageClass: SendPayload['class'],
  { validUntilMs, sendAtMs }: Address,
  nowMs: number,
): { until: number; faults: Fault[] } {
  const from = sendAtMs ?? nowMs
  const faults: Fault[] = []
  const ofSendAt = sendAtMs === undefined ? undefined : sendAtFault(sendAtMs, nowMs)
  if (ofSendAt !== undefined) faults.push({ path: 'send_at', message: ofSendAt })
  const ofValidity =
    validUntilMs === undefined ? undefined : validityFault(validUntilMs, nowMs, config.retentionMs, from)
  if (ofValidity !== undefined) faults.push({ path: 'valid_until', message: ofValidity })
  return { until: validUntilMs ?? from + config.validityMs[messageClass], faults }
}

/**
 * The content as it goes out from this lane. A Refusal when it names a message of ours that this sender has not sent, or
 * not yet: only WhatsApp can judge an id of its own.
 */
async function withProviderIds(redis: Redis, lane: number, content: ServiceContent): Promise<ServiceContent> {
  if (content.type === 'reaction') {
    const { message_id, emoji } = content.reaction
    const known = await providerIdOf(redis, lane, message_id, 'reaction.message_id')
    return { type: 'reaction', reaction: { message_id: known, emoji } }
  }
  if (content.context === undefined) return content
  const { message_id } = content.context
  return { ...content, context: { message_id: await providerIdOf(redis, lane, message_id, 'context.message_id') } }
}

async function providerIdOf(redis: Redis, lane: number, given: string, path: string): Promise<string> {
  const id = parseMessageId(given)
  if (!id) return given
  const record = id.lane === lane ? await readMessage(redis, id) : undefined
  if (record?.providerId) return record.providerId
  throw invalidFields([{ path, message: 'no message that this sender has sent' }])
}
