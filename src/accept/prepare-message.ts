// The second half of accepting a message: what depends on the account and on the time. Which sender it leaves from,
// whether the approved template agrees, its class, until when it is worth sending.
import type { Config } from '../config.ts'
import type { SendPayload } from '../jobs/send.ts'
import { cloudApiFaults } from '../messages/cloud-support.ts'
import type { Content, TemplateMessageContent } from '../messages/content.ts'
import type { Fault } from '../messages/fault.ts'
import { matchTemplate } from '../messages/match-template.ts'
import { classOf } from '../messages/message-class.ts'
import { parsePhone } from '../messages/phone.ts'
import type { ServiceMessage } from '../messages/service-message.ts'
import type { Template } from '../messages/template.ts'
import type { TemplateMessage } from '../messages/template-message.ts'
import { wordingOf } from '../messages/text.ts'
import { recentAccount } from '../store/accounts.ts'
import { recently } from '../store/recently.ts'
import type { Redis } from '../store/redis.ts'
import { defaultSender, type Sender, senderNamed } from '../store/senders.ts'
import { recentTemplate } from '../store/templates.ts'
import type { ReadSend, UnreadableSend } from './read-send.ts'
import { invalidFields, Refusal } from './refusal.ts'

export interface PrepareDeps {
  redis: Redis
  config: Pick<Config, 'validityMs'>
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

/** All that is wrong with a request whose shape is wrong: a template's own faults are told in the same answer. */
export async function refusalOf(deps: PrepareDeps, account: number, unreadable: UnreadableSend): Promise<Refusal> {
  const more = unreadable.template ? (await checkTemplate(deps, account, unreadable.template)).faults : []
  return invalidFields([...unreadable.faults, ...more])
}

async function prepareService(
  deps: PrepareDeps,
  account: number,
  message: ServiceMessage,
  nowMs: number,
): Promise<PreparedMessage> {
  const { to, content } = message
  const sender = await recentDefaultSender(deps.redis, account)
  if (!sender) throw unknownSender('The account has no sender yet; add one with the command senders add.')
  refuseUnsupported(sender, content)
  const until = validUntil(deps.config, 'transactional', message.validUntilMs, nowMs)
  return { lane: sender.id, payload: { v: 1, to, class: 'transactional', content, until } }
}

async function prepareTemplate(
  deps: PrepareDeps,
  account: number,
  message: TemplateMessage,
  nowMs: number,
): Promise<PreparedMessage> {
  const { to, content, campaignId } = message
  const { template, faults } = await checkTemplate(deps, account, content)
  if (faults.length > 0) throw invalidFields(faults)
  const sender = await senderOf(deps, account, message.sender)
  const messageClass = classOf(content, template?.category)
  const until = validUntil(deps.config, messageClass, message.validUntilMs, nowMs)
  const campaign = campaignId === undefined || campaignId === '' ? {} : { campaign: campaignId }
  const wording = template && wordingOf(template)
  return {
    lane: sender.id,
    payload: { v: 1, to, class: messageClass, content, until, ...campaign, ...(wording && { wording }) },
  }
}

/** Holds the content against the account's approved template; with the check off, a template nobody knows is let pass. */
async function checkTemplate(
  deps: PrepareDeps,
  account: number,
  content: TemplateMessageContent,
): Promise<{ template: Template | undefined; faults: Fault[] }> {
  const { name, language, components } = content.template
  const [settings, known] = await Promise.all([
    recentAccount(deps.redis, account),
    recentTemplate(deps.redis, account, name, language.code),
  ])
  const template = known?.template
  if (settings?.template_check === 'off') return { template, faults: [] }
  const fault = (message: string) => ({ template, faults: [{ path: 'template.name', message }] })
  if (!known || !template)
    return fault(`no approved template of this name in the language ${JSON.stringify(language.code)}`)
  if (template.status !== 'APPROVED') return fault(`the template is ${template.status}, not APPROVED`)
  return { template, faults: matchTemplate(known.shape, components) }
}

/** The sender of the account that is named so, by number in any spelling or by name, or a Refusal. */
export async function senderOf(deps: Pick<PrepareDeps, 'redis'>, account: number, named: string): Promise<Sender> {
  const sender = await recentSenderOf(deps.redis, account, named)
  if (!sender) throw unknownSender('sender: the account has no sender of this number or name.')
  return sender
}

const recentDefaultSender = recently(1_000, defaultSender)
const recentSenderOf = recently(1_000, async (redis, account: number, named: string) => {
  const phone = parsePhone(named)
  const byNumber = phone.ok ? await senderNamed(redis, account, { digits: phone.digits }) : undefined
  return byNumber ?? senderNamed(redis, account, { name: named })
})

/** When the message stops being worth sending: what the request says, else the default of its class. */
function validUntil(
  config: Pick<Config, 'validityMs'>,
  messageClass: SendPayload['class'],
  asked: number | undefined,
  nowMs: number,
): number {
  if (asked === undefined) return nowMs + config.validityMs[messageClass]
  if (asked <= nowMs) throw invalidFields([{ path: 'valid_until', message: 'must be in the future' }])
  return asked
}

function refuseUnsupported(sender: Sender, content: Content): void {
  const faults = sender.provider === 'cloud-api' ? cloudApiFaults(content) : []
  if (faults.length > 0) throw invalidFields(faults, 'not_supported_by_provider')
}

const unknownSender = (message: string): Refusal =>
  new Refusal('invalid', 'unknown_sender', message, [{ path: 'sender', message: 'not a sender of the account' }])
