// What the provider of a sender does not take, although the interface allows it: kinds of messages, recipients, files, routes.

import type { Sender } from '../../accounts/senders.ts'
import type { Fault } from '../../kernel/fault.ts'
import { isUserId } from '../../kernel/recipient.ts'
import { invalidFields } from '../../kernel/refusal.ts'
import type { MarketingRoute } from '../../model/accounts/sender.ts'
import type { Content } from '../../model/messages/content.ts'
import { filesNamedBy } from '../../model/messages/content-files.ts'
import { cloudApiOnlyFaults } from '../../model/templates/rich-parameters.ts'

/** Throws a Refusal with the faults of a message that the sender's provider does not take. */
export function refuseUnsupported(
  { provider }: Pick<Sender, 'provider'>,
  { content, to }: { content: Content; to: string },
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
