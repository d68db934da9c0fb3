// Sending: service messages and template messages.
//
//   POST /sendservicemessages/sendmessages          interactive list or reply buttons, image, audio
//   POST /chatappbusiness/send-templated-message    one approved template
import { cloudApiFaults } from '../../messages/cloud-support.ts'
import type { TemplateMessageContent } from '../../messages/content.ts'
import type { Fault } from '../../messages/fault.ts'
import { matchTemplate } from '../../messages/match-template.ts'
import { classOf } from '../../messages/message-class.ts'
import { parsePhone } from '../../messages/phone.ts'
import { parseServiceMessage } from '../../messages/service-message.ts'
import { shapeOf, type Template } from '../../messages/template.ts'
import { parseTemplateMessage } from '../../messages/template-message.ts'
import { textOf } from '../../messages/text.ts'
import { findAccount } from '../../store/accounts.ts'
import { defaultSender, type Sender, senderNamed } from '../../store/senders.ts'
import { findTemplate } from '../../store/templates.ts'
import { type AcceptDeps, acceptMessage, validUntil } from '../accept-message.ts'
import { ApiError, invalid } from '../errors.ts'
import type { Access, Answer, Call, Route } from '../route.ts'

const access: Access = { in: 'api_key', permission: 'messages:send' }

export function messageRoutes(deps: AcceptDeps): Route[] {
  return [
    {
      method: 'post',
      path: '/sendservicemessages/sendmessages',
      access,
      body: { as: 'json' },
      handle: (call) => sendService(deps, call),
    },
    {
      method: 'post',
      path: '/chatappbusiness/send-templated-message',
      access,
      body: { as: 'json' },
      handle: (call) => sendTemplate(deps, call),
    },
  ]
}

async function sendService(deps: AcceptDeps, call: Call): Promise<Answer> {
  const parsed = parseServiceMessage(call.body)
  if (!parsed.ok) throw invalid(parsed.faults)
  const { to, input, content, validUntilMs } = parsed.message
  return acceptMessage(deps, call, { input, digits: to }, async () => {
    const sender = await defaultSender(deps.redis, call.caller.account)
    if (!sender) throw unknownSender('The account has no sender yet; add one with the command senders add.')
    refuseUnsupported(sender, content)
    const until = validUntil(deps.config, 'transactional', validUntilMs)
    return { lane: sender.id, payload: { v: 1, to, class: 'transactional', content, until } }
  })
}

async function sendTemplate(deps: AcceptDeps, call: Call): Promise<Answer> {
  const parsed = parseTemplateMessage(call.body)
  if (!parsed.ok) {
    const more = parsed.content ? (await checkTemplate(deps, call.caller.account, parsed.content)).faults : []
    throw invalid([...parsed.faults, ...more])
  }
  const { to, input, content, validUntilMs, sender: named, campaignId } = parsed.message
  return acceptMessage(deps, call, { input, digits: to }, async () => {
    const { template, faults } = await checkTemplate(deps, call.caller.account, content)
    if (faults.length > 0) throw invalid(faults)
    const sender = await senderOf(deps, call.caller.account, named)
    const messageClass = classOf(content, template?.category)
    const until = validUntil(deps.config, messageClass, validUntilMs)
    const text = textOf(content, template)
    const campaign = campaignId === undefined || campaignId === '' ? {} : { campaign: campaignId }
    return { lane: sender.id, payload: { v: 1, to, class: messageClass, content, text, until, ...campaign } }
  })
}

/** Holds the content against the account's approved template; with the check off, a template nobody knows is let pass. */
async function checkTemplate(
  deps: AcceptDeps,
  account: number,
  content: TemplateMessageContent,
): Promise<{ template: Template | undefined; faults: Fault[] }> {
  const { name, language, components } = content.template
  const [settings, template] = await Promise.all([
    findAccount(deps.redis, account),
    findTemplate(deps.redis, account, name, language.code),
  ])
  if (settings?.template_check === 'off') return { template, faults: [] }
  if (!template) {
    const message = `no approved template of this name in the language ${JSON.stringify(language.code)}`
    return { template, faults: [{ path: 'template.name', message }] }
  }
  if (template.status !== 'APPROVED') {
    return {
      template,
      faults: [{ path: 'template.name', message: `the template is ${template.status}, not APPROVED` }],
    }
  }
  return { template, faults: matchTemplate(shapeOf(template), components) }
}

async function senderOf(deps: AcceptDeps, account: number, named: string): Promise<Sender> {
  const phone = parsePhone(named)
  const byNumber = phone.ok ? await senderNamed(deps.redis, account, { digits: phone.digits }) : undefined
  const sender = byNumber ?? (await senderNamed(deps.redis, account, { name: named }))
  if (!sender) throw unknownSender('sender: the account has no sender of this number or name.')
  return sender
}

function refuseUnsupported(sender: Sender, content: Parameters<typeof cloudApiFaults>[0]): void {
  const faults = sender.provider === 'cloud-api' ? cloudApiFaults(content) : []
  if (faults.length > 0) throw invalid(faults, 'not_supported_by_provider')
}

const unknownSender = (message: string): ApiError =>
  new ApiError(400, 'unknown_sender', message, {
    details: [{ path: 'sender', message: 'not a sender of the account' }],
  })
