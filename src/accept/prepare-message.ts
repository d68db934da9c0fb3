// The second half of accepting a message: what depends on the account and on the time. Which sender it leaves from,
// whether the approved template agrees, its class, until when it is worth sending.

import { cachedAccount } from '../accounts/store/accounts.ts'
import { defaultSender, type Sender, senderNamed } from '../accounts/store/senders.ts'
import { cachedTemplate, otherLanguages } from '../accounts/store/templates.ts'
import type { Config } from '../config.ts'
import type { SendPayload } from '../jobs/send.ts'
import { cloudApiFaults } from '../messages/cloud-support.ts'
import type { Content, TemplateMessageContent } from '../messages/content.ts'
import type { Fault } from '../messages/fault.ts'
import { withoutIdleNames } from '../messages/idle-names.ts'
import { validityFault } from '../messages/instant.ts'
import { classOf } from '../messages/message-class.ts'
import { parsePhone } from '../messages/phone.ts'
import type { ServiceMessage } from '../messages/service-message.ts'
import { matchTemplate } from '../messages/templates/match-template.ts'
import type { Template } from '../messages/templates/template.ts'
import type { TemplateMessage } from '../messages/templates/template-message.ts'
import { wordingOf } from '../messages/text.ts'
import { cached } from '../redis/cached.ts'
import type { Redis } from '../redis/connect.ts'
import { withProviderIds } from './other-message.ts'
import type { ReadSend, UnreadableSend } from './read-send.ts'
import { invalidFields, Refusal } from './refusal.ts'

/** What judging a message needs. Times of `config` are in ms. */
export interface PrepareDeps {
  redis: Redis
  config: Pick<Config, 'validityMs' | 'retentionMs'>
}

/** A message that is ready to be queued. */
export interface PreparedMessage {
  lane: number
  payload: SendPayload
}

/** Makes the job of a message, or throws a Refusal. */
export function prepareMessage(
  deps: PrepareDeps,
  account: number,
  read: ReadSend,
  nowMs: number,
): Promise<PreparedMessage> {
  return read.kind === 'service'
    ? prepareService(deps, account, read.message, nowMs)
    : prepareTemplate(deps, account, read.message, nowMs)
}

/** All that is wrong with a request whose shape is wrong: a template's own faults and its sender's are in the same answer. */
export async function refusalOf(
  deps: Pick<PrepareDeps, 'redis'>,
  account: number,
  { faults, template, sender }: UnreadableSend,
): Promise<Refusal> {
  const [ofTemplate, ofSender] = await Promise.all([
    template ? checkTemplate(deps, account, template) : undefined,
    sender === undefined ? undefined : recentSenderOf(deps.redis, account, sender).then(senderFaults),
  ])
  return invalidFields([...faults, ...(ofTemplate?.faults ?? []), ...(ofSender ?? [])])
}

async function prepareService(
  deps: PrepareDeps,
  account: number,
  message: ServiceMessage,
  nowMs: number,
): Promise<PreparedMessage> {
  const { to } = message
  const sender = await recentDefaultSender(deps.redis, account)
  if (!sender) throw unknownSender('The account has no sender yet; add one with the command senders add.')
  refuseUnsupported(sender, message.content)
  const content = await withProviderIds(deps.redis, sender.id, message.content)
  const { until, faults } = validUntil(deps.config, 'transactional', message.validUntilMs, nowMs)
  if (faults.length > 0) throw invalidFields(faults)
  return { lane: sender.id, payload: { v: 1, to, class: 'transactional', content, until } }
}

async function prepareTemplate(
  deps: PrepareDeps,
  account: number,
  message: TemplateMessage,
  nowMs: number,
): Promise<PreparedMessage> {
  const { to, campaignId } = message
  const [{ template, content, faults }, sender] = await Promise.all([
    checkTemplate(deps, account, message.content),
    recentSenderOf(deps.redis, account, message.sender),
  ])
  const messageClass = classOf(content, template?.category)
  const valid = validUntil(deps.config, messageClass, message.validUntilMs, nowMs)
  const all = [...faults, ...senderFaults(sender), ...valid.faults]
  if (sender === undefined && all.length === 1) throw unknownSender(NO_SUCH_SENDER)
  if (sender === undefined || all.length > 0) throw invalidFields(all)
  const campaign = campaignId === undefined || campaignId === '' ? {} : { campaign: campaignId }
  const wording = template && wordingOf(template)
  return {
    lane: sender.id,
    payload: { v: 1, to, class: messageClass, content, until: valid.until, ...campaign, ...(wording && { wording }) },
  }
}

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
  const checked = { template, content: known ? withoutIdleNames(content, known.shape) : content }
  if (settings?.template_check === 'off') return { ...checked, faults: [] }
  const fault = (message: string) => ({ ...checked, faults: [{ path: 'template.name', message }] })
  if (!known || !template) {
    const others = await otherLanguages(deps.redis, account, name)
    return fault(`no approved template of this name in the language ${JSON.stringify(language.code)}${others}`)
  }
  if (template.status !== 'APPROVED') return fault(`the template is ${template.status}, not APPROVED`)
  return { ...checked, faults: matchTemplate(known.shape, components) }
}

/** The sender of the account that is named so, by number in any spelling or by name, or a Refusal. */
export async function senderOf(deps: Pick<PrepareDeps, 'redis'>, account: number, named: string): Promise<Sender> {
  const sender = await recentSenderOf(deps.redis, account, named)
  if (!sender) throw unknownSender(NO_SUCH_SENDER)
  return sender
}

const NO_SUCH_SENDER = 'sender: the account has no sender of this number or name.'

/** The fault of a request that names no sender of the account; none when there is a sender. */
const senderFaults = (sender: Sender | undefined): Fault[] =>
  sender === undefined ? [{ path: 'sender', message: 'not a sender of the account' }] : []

const recentDefaultSender = cached(1_000, defaultSender)
const recentSenderOf = cached(1_000, async (redis, account: number, named: string) => {
  const phone = parsePhone(named)
  const byNumber = phone.ok ? await senderNamed(redis, account, { digits: phone.digits }) : undefined
  return byNumber ?? senderNamed(redis, account, { name: named })
})

/** When the message stops being worth sending: what the request says, else the default of its class. */
function validUntil(
  config: PrepareDeps['config'],
  messageClass: SendPayload['class'],
  asked: number | undefined,
  nowMs: number,
): { until: number; faults: Fault[] } {
  const until = asked ?? nowMs + config.validityMs[messageClass]
  const message = asked === undefined ? undefined : validityFault(asked, nowMs, config.retentionMs)
  return { until, faults: message === undefined ? [] : [{ path: 'valid_until', message }] }
}

function refuseUnsupported(sender: Sender, content: Content): void {
  const faults = sender.provider === 'cloud-api' ? cloudApiFaults(content) : []
  if (faults.length > 0) throw invalidFields(faults, 'not_supported_by_provider')
}

const unknownSender = (message: string): Refusal =>
  new Refusal('invalid', 'unknown_sender', message, senderFaults(undefined))
