// The second half of accepting a message: what depends on the account and on the time. Which sender it leaves from,
// whether the approved template agrees, whether the sender's provider takes it, its class, until when it is worth sending.

import { cachedAccount } from '../../accounts/accounts.ts'
import { cachedSender, defaultSender, type Sender, senderNamed } from '../../accounts/senders.ts'
import { cachedTemplate, otherLanguages } from '../../accounts/templates.ts'
import type { SendPayload } from '../../jobs/send.ts'
import type { Config } from '../../kernel/config.ts'
import type { Fault } from '../../kernel/fault.ts'
import { sendAtFault, validityFault } from '../../kernel/instant.ts'
import { parseMessageId } from '../../kernel/message-id.ts'
import { isUserId, parsePhone } from '../../kernel/recipient.ts'
import { invalidFields, Refusal } from '../../kernel/refusal.ts'
import { LaneClosedError } from '../../lanes/closed-lanes.ts'
import { replyWindowOf } from '../../lanes/messages/inbound.ts'
import { readMessage } from '../../lanes/messages/records.ts'
import type { MarketingRoute } from '../../model/accounts/sender.ts'
import {
  type Content,
  classOf,
  type ServiceContent,
  type TemplateMessageContent,
} from '../../model/messages/content.ts'
import { filesNamedBy, galleryFilesIn } from '../../model/messages/content-files.ts'
import { wordingOf } from '../../model/messages/text.ts'
import { withoutUnusedNames } from '../../model/templates/match-parameters.ts'
import { matchTemplate } from '../../model/templates/match-template.ts'
import { cloudApiOnlyFaults } from '../../model/templates/rich-parameters.ts'
import type { Template } from '../../model/templates/template.ts'
import { namesOf } from '../../people/names/names.ts'
import type { Redis } from '../../redis/connect.ts'
import { cached } from '../../redis/records.ts'
import { galleryFaults } from './gallery-files.ts'
import type { Address, ReadSend, ServiceMessage, TemplateMessage, UnreadableSend } from './read-send.ts'

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

/** The person has not written within 24 hours: WhatsApp takes only templates. */
const OUTSIDE_WINDOW = 'outside_window'

/** Whose message it is, and the lane that its id names already, where it has one. */
export interface Owner {
  account: number
  lane: number | undefined
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
  deps: Pick<PrepareDeps, 'redis'>,
  account: number,
  { faults, content, sender }: UnreadableSend,
): Promise<Refusal> {
  const [ofTemplate, ofFiles, ofSender] = await Promise.all([
    content ? checkTemplate(deps, account, content) : undefined,
    content ? fileFaults(deps.redis, account, content) : undefined,
    sender === undefined ? undefined : recentSenderOf(deps.redis, account, sender).then(senderFaults),
  ])
  return invalidFields([...faults, ...(ofTemplate?.faults ?? []), ...(ofFiles ?? []), ...(ofSender ?? [])])
}

/** Faults of files of the gallery; most messages show none. */
const fileFaults = async (redis: Redis, account: number, content: Content): Promise<Fault[]> =>
  galleryFilesIn(content).length === 0 ? [] : galleryFaults(redis, account, content)

async function prepareService(
  deps: PrepareDeps,
  owner: Owner,
  message: ServiceMessage,
  nowMs: number,
): Promise<PreparedMessage> {
  const { to } = message
  const [sender, ofFiles] = await Promise.all([
    senderFor(deps, owner, message),
    fileFaults(deps.redis, owner.account, message.content),
  ])
  const { until, faults } = times(deps.config, 'transactional', message, nowMs)
  assertSound(sender, [...ofFiles, ...senderFaults(sender), ...faults], message)
  refuseUnsupported(sender, message, deps.config)
  const [content, settings] = await Promise.all([
    withProviderIds(deps.redis, sender.id, message.content),
    cachedAccount(deps.redis, owner.account),
  ])
  const payload = { v: 1, to, class: 'transactional', content, until, ...sendAtOf(message) } as const
  // What people write is known on this wire only.
  if (sender.provider !== 'cloud-api') return { lane: sender.id, payload }
  const isOutside = async (): Promise<boolean> =>
    ((await replyWindowOf(deps.redis, sender.id, await namesOf(deps.redis, owner.account, to))) ?? 0) <
    (message.sendAtMs ?? nowMs)
  if (settings?.outside_window === 'refuse' && (await isOutside())) throw outsideWindow()
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
    checkTemplate(deps, owner.account, message.content),
    fileFaults(deps.redis, owner.account, message.content),
    senderFor(deps, owner, message),
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
      ...sendAtOf(message),
      ...campaign,
      ...(wording && { wording }),
    },
  }
}

/** WhatsApp refuses it (131062). */
const NO_CODE_TO_USER_ID: Fault = { path: 'to', message: 'expected a phone number: codes are sent to no user ids' }

/** A template as it was found for a message: `content` is without what has no meaning in it. */
interface CheckedTemplate {
  template: Template | undefined
  content: TemplateMessageContent
  faults: Fault[]
}

/** Holds the content against the account's approved template; with the check off, a template nobody knows is let pass. */
async function checkTemplate(
  deps: Pick<PrepareDeps, 'redis'>,
  account: number,
  content: TemplateMessageContent,
): Promise<CheckedTemplate> {
  const { name, language, components } = content.template
  const [settings, known] = await Promise.all([
    cachedAccount(deps.redis, account),
    cachedTemplate(deps.redis, account, name, language.code),
  ])
  const template = known?.template
  const checked = { template, content: known ? withoutUnusedNames(content, known.shape) : content }
  if (settings?.template_check === 'off') return { faults: [], ...checked }
  const fault = (message: string) => ({ faults: [{ path: 'template.name', message }], ...checked })
  if (!known || !template) {
    const others = await otherLanguages(deps.redis, account, name)
    return fault(`no approved template of this name in the language ${JSON.stringify(language.code)}${others}`)
  }
  if (template.status !== 'APPROVED') return fault(`the template is ${template.status}, not APPROVED`)
  return { faults: matchTemplate(known.shape, components), ...checked }
}

/**
 * The sender of the account that is named so, by number in any spelling or by name, and the default one where none is
 * named; or a Refusal.
 */
export async function senderOf(
  deps: Pick<PrepareDeps, 'redis'>,
  account: number,
  named: string | undefined,
): Promise<Sender> {
  const sender = await senderFor(deps, { account, lane: undefined }, { sender: named })
  assertSound(sender, senderFaults(sender), { sender: named })
  return sender
}

/** The sender that a message leaves from: that of the lane, the one that is named, or the default one. */
async function senderFor(
  { redis }: Pick<PrepareDeps, 'redis'>,
  { account, lane }: Owner,
  { sender: named }: Named,
): Promise<Sender | undefined> {
  if (lane !== undefined) {
    const sender = await cachedSender(redis, lane)
    return sender?.account === account && sender.removed_at === undefined ? sender : undefined
  }
  return named === undefined ? recentDefaultSender(redis, account) : recentSenderOf(redis, account, named)
}

/** The sender as a request names it. */
interface Named {
  sender?: string | undefined
}

/** Throws a Refusal with all the faults; one of a sender that the account does not have has a code of its own. */
function assertSound(
  sender: Sender | undefined,
  faults: readonly Fault[],
  { sender: named }: Named,
): asserts sender is Sender {
  if (sender === undefined && faults.length === 1) {
    throw unknownSender(named === undefined ? NO_DEFAULT_SENDER : NO_SUCH_SENDER)
  }
  if (faults.length > 0) throw invalidFields(faults)
}

const NO_SUCH_SENDER = 'sender: the account has no sender of this number or name.'
const NO_DEFAULT_SENDER =
  'The account has no default sender: name one in the field sender, or give it one with `senders add` or `senders change`.'

/** The fault of a request that names no sender of the account; none when there is a sender. */
const senderFaults = (sender: Sender | undefined): Fault[] =>
  sender === undefined ? [{ path: 'sender', message: 'not a sender of the account' }] : []

const recentDefaultSender = cached(1_000, defaultSender)
const recentSenderOf = cached(1_000, async (redis, account: number, named: string) => {
  const phone = parsePhone(named)
  const byNumber = phone.ok ? await senderNamed(redis, account, { digits: phone.digits }) : undefined
  return byNumber ?? senderNamed(redis, account, { name: named })
})

const sendAtOf = ({ sendAtMs }: Address) => (sendAtMs === undefined ? {} : { sendAt: sendAtMs })

/**
 * When the message stops being worth sending: what the request says, else the default of its class, which counts from
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

function refuseUnsupported(
  { provider }: Sender,
  { content, to }: Address & { content: Content },
  config: { publicUrl?: string | undefined },
): void {
  const faults = provider === 'cloud-api' ? cloudApiFaults(content) : partnerApiFaults(content, to, config)
  if (faults.length > 0) throw invalidFields(faults, 'not_supported_by_provider')
}

/** Throws a Refusal for a marketing route that the sender's provider does not have. */
export function refuseRoute({ provider }: Pick<Sender, 'provider'>, route: MarketingRoute | undefined): void {
  if (route === undefined || route === 'messages' || provider === 'cloud-api') return
  const message = 'expected "messages": this sender’s provider has no other route for marketing'
  throw invalidFields([{ path: 'marketing_route', message }], 'not_supported_by_provider')
}

const outsideWindow = (): Refusal =>
  new Refusal(
    'in_the_way',
    OUTSIDE_WINDOW,
    'The person has not written within 24 hours before it would leave, and can be sent only templates.',
    [{ path: 'to', message: 'has not written within 24 hours' }],
  )

/** The refusal of a message whose sender was removed while it was judged; any other error is thrown as it is. */
export function refuseClosedLane(error: unknown): never {
  throw error instanceof LaneClosedError ? senderIsGone() : error
}

/** The refusal of a message whose sender was removed. */
export const senderIsGone = (): Refusal => unknownSender(NO_SUCH_SENDER)

const unknownSender = (message: string): Refusal =>
  new Refusal('invalid', 'unknown_sender', message, senderFaults(undefined))

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

/** Faults of a content for the Cloud API alone: lists take a text header and no other. Everything else it takes as we do. */
export function cloudApiFaults(content: Content): Fault[] {
  if (content.type !== 'interactive' || content.interactive.type !== 'list') return []
  const { header } = content.interactive
  if (!header || header.type === 'text') return []
  const message = `expected "text", the only header the Cloud API takes in a list, got "${header.type}"`
  return [{ path: 'interactive.header.type', message }]
}

/** Kinds of interactive messages that only the Cloud API has. */
const CLOUD_ONLY: ReadonlySet<string> = new Set(['flow', 'product', 'product_list', 'catalog_message'])

/**
 * Faults for the partner wire alone. Its recipients are numbers, its reply buttons have a header, it has no newer kinds of
 * templates, and it fetches files: by a link, or by the public address of a file of the gallery.
 */
export function partnerApiFaults(content: Content, to: string, config: { publicUrl?: string | undefined }): Fault[] {
  const ofTemplate = content.type === 'template' ? cloudApiOnlyFaults(content.template.components) : []
  return [...ofTemplate, ...recipientFaults(to), ...interactiveFaults(content), ...partnerFileFaults(content, config)]
}

const recipientFaults = (to: string): Fault[] =>
  isUserId(to) ? [{ path: 'to', message: 'expected a phone number: this sender’s provider takes no user ids' }] : []

function interactiveFaults(content: Content): Fault[] {
  if (content.type !== 'interactive') return []
  const { interactive } = content
  if (CLOUD_ONLY.has(interactive.type)) {
    return [
      { path: 'interactive.type', message: `this sender’s provider takes no messages of type "${interactive.type}"` },
    ]
  }
  return interactive.type === 'button' && interactive.header === undefined
    ? [{ path: 'interactive.header', message: 'required by this sender’s provider' }]
    : []
}

function partnerFileFaults(content: Content, { publicUrl }: { publicUrl?: string | undefined }): Fault[] {
  const byId = filesNamedBy(content, 'id').map((path) => ({
    path,
    message: 'this sender’s provider takes no ids of files',
  }))
  if (publicUrl !== undefined) return byId
  const message = 'this sender’s provider fetches files by their public address: set LANEWAY_PUBLIC_URL'
  return [...byId, ...filesNamedBy(content, 'gallery').map((path) => ({ path, message }))]
}
