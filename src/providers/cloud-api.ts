// The Cloud API wire: WhatsApp's own Graph API. Delivery is reported by signed webhooks (see cloud-webhook.ts),
// which bring back our id in the opaque field of the request, so that an unanswered send is settled by evidence.

import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'
import { isUserId } from '../kernel/recipient.ts'
import type { Content } from '../model/messages/content.ts'
import { withFiles } from '../model/messages/content-files.ts'
import { nameInLink } from '../model/messages/document-name.ts'
import { type Fill, fieldsWithPlaceholders } from '../model/messages/placeholders.ts'
import type { Provider, ProviderMessage, ProviderSender } from '../model/provider.ts'
import type { FilePosition, MessageFile } from '../model/templates/component-files.ts'
import type { Component } from '../model/templates/template-content.ts'
import { readSend } from './answer-body.ts'
import { refusedBy } from './cloud-refusal.ts'
import type { CloudUploads } from './cloud-upload.ts'
import type { HttpAgent } from './http-agent.ts'
import { postJson, traceHeader } from './http-call.ts'

/** `version`: of the Graph API, as in `v25.0`. */
export function cloudApi(
  agent: HttpAgent,
  opaqueIds: OpaqueIds,
  version: string,
  uploads?: Pick<CloudUploads, 'upload'>,
): Provider {
  // Made once for a sender as it was read last, and once for a campaign.
  const targets = new WeakMap<ProviderSender, { url: URL; marketing: URL; headers: Record<string, string> }>()
  const campaigns = new WeakMap<Content, Fill>()

  function targetOf(sender: ProviderSender) {
    const known = targets.get(sender)
    if (known) return known
    const number = `${sender.baseUrl}/${version}/${encodeURIComponent(sender.phoneNumberId)}`
    const [url, marketing] = [new URL(`${number}/messages`), new URL(`${number}/marketing_messages`)]
    const target = { url, marketing, headers: { authorization: `Bearer ${sender.token}` } }
    targets.set(sender, target)
    return target
  }

  function fillOf(content: Content): Fill {
    const known = campaigns.get(content)
    if (known) return known
    const fill = fieldsWithPlaceholders(JSON.parse(wireJson(content)))
    campaigns.set(content, fill)
    return fill
  }

  return {
    ...(uploads && { upload: uploads.upload }),
    send(sender, message, timeoutMs, departure) {
      const { content, values } = message
      const fields = values === undefined ? wireJson(content).slice(1, -1) : fillOf(content)(values)
      const { headers: own, url: usual, marketing } = targetOf(sender)
      const url = policyOf(message) === '' ? usual : marketing
      const headers = message.traceparent === undefined ? own : { ...own, ...traceHeader(message) }
      return postJson(agent, url, headers, bodyOf(message, fields), timeoutMs, departure).then((end) =>
        readSend(end, message.to, refusedBy),
      )
    },
  }

  /** The fields that every message has, around those of its content. */
  function bodyOf(message: ProviderMessage, fields: string): string {
    const { to, id, attempt } = message
    // Without the plus the business number's own country code is put in front.
    const person = isUserId(to) ? `"recipient":${JSON.stringify(to)}` : `"to":${JSON.stringify(`+${to}`)}`
    const head = `{"messaging_product":"whatsapp","recipient_type":"individual",${person},`
    return `${head}${fields}${policyOf(message)},"biz_opaque_callback_data":${JSON.stringify(opaqueIds.sign(id, attempt))}}`
  }
}

/** The field for the address for marketing, empty for the usual one. */
const policyOf = ({ route = 'messages' }: ProviderMessage): string =>
  route === 'messages' ? '' : `,"product_policy":"${route === 'marketing_strict' ? 'STRICT' : 'CLOUD_API_FALLBACK'}"`

/** Kinds of components and buttons are lower case on this wire; the rest of the content is the same. */
function wireJson(given: Content): string {
  const content = showsDocument(given) ? withFiles(given, named) : given
  if (content.type !== 'template' || content.template.components === undefined) return JSON.stringify(content)
  const components = content.template.components.map(inLowerCase)
  return JSON.stringify({ ...content, template: { ...content.template, components } })
}

/** Whether a document may be shown that has no name. */
const showsDocument = (content: Content): boolean =>
  content.type === 'document' || (content.type === 'template' && hasDocument(content.template.components))

const hasDocument = (components: readonly Component[] = []): boolean =>
  components.some(
    ({ parameters, cards }) =>
      parameters?.some(({ type }) => type === 'document') || cards?.some((card) => hasDocument(card.components)),
  )

/** A document by link gets the name in the link, unless it has one. */
function named(file: MessageFile, { kind }: FilePosition): MessageFile {
  if (kind !== 'document' || file.filename !== undefined || file.link === undefined) return file
  const filename = nameInLink(file.link)
  return filename === undefined ? file : { ...file, filename }
}

/** Only of the component itself: what is given to a flow may have a `type` of its own. */
const inLowerCase = ({ type, sub_type: subType, cards, ...rest }: Component): object => ({
  type: type.toLowerCase(),
  ...(subType !== undefined && { sub_type: subType.toLowerCase() }),
  ...rest,
  ...(cards && {
    cards: cards.map(({ components, ...card }) => ({
      ...card,
      ...(components && { components: components.map(inLowerCase) }),
    })),
  }),
})

export type OpaqueIds = ReturnType<typeof createOpaqueIds>

/** 12 bytes. */
const HMAC_CHARACTERS = 16
const SHAPE = /^v1\.(msg_\d+_[0-9A-Z]{26})\.([0-9A-Z]+)\.([\w-]{16})$/

/**
 * The id that a request carries and its webhooks bring back: `v1.<message id>.<attempt>.<HMAC>`. The HMAC keeps anybody
 * else who can write to the webhook, or another app on the same number, from settling our messages.
 *
 * `secretKeys` are LANEWAY_SECRET_KEYS or what stands in for them; all processes must share them. The first signs, all
 * verify: webhooks bring back what was sent days ago.
 */
export function createOpaqueIds(secretKeys: readonly string[]) {
  // Every message is signed: with the bytes of a key instead of a key object that takes 1.4 times as long.
  const keys = secretKeys.map((each) =>
    createSecretKey(Buffer.from(hkdfSync('sha256', each, '', 'laneway opaque id', 32))),
  )
  const [first] = keys
  if (first === undefined) throw new Error('opaque ids without a key')
  // As text at once: a Buffer of it first takes 1.6 times as long.
  const hmac = (key: KeyObject, text: string): string =>
    createHmac('sha256', key).update(text).digest('base64url').slice(0, HMAC_CHARACTERS)

  return {
    sign(id: string, attempt: string): string {
      const text = `v1.${id}.${attempt}`
      return `${text}.${hmac(first, text)}`
    },
    /** The message and attempt, or undefined for anything we did not write. */
    verify(opaque: string): { id: string; attempt: string } | undefined {
      const match = SHAPE.exec(opaque)
      if (!match?.[1] || !match[2] || !match[3]) return undefined
      const text = `v1.${match[1]}.${match[2]}`
      const given = Buffer.from(match[3])
      const isOurs = keys.some((key) => timingSafeEqual(given, Buffer.from(hmac(key, text))))
      return isOurs ? { id: match[1], attempt: match[2] } : undefined
    },
  }
}
