// The Cloud API wire: the chat product's own Graph API. Delivery is reported by signed webhooks (see cloud-webhook.ts),
// which bring back our id in the opaque field of the request, so that an unanswered send is settled by evidence.
import type { Agent } from 'undici'
import { z } from 'zod'
import type { Content } from '../messages/content.ts'
import type { CallEnd } from '../messages/outcome.ts'
import { acceptedBy } from './acknowledgement.ts'
import { postJson, traceHeader } from './http-call.ts'
import type { OpaqueIds } from './opaque-id.ts'
import { parseJson } from './parse-json.ts'
import type { Provider } from './provider.ts'

/** Only the code makes it one: an odd field beside it must not turn a refusal into an answer that proves nothing. */
const refusal = z.object({
  error: z.object({
    message: z.string().optional().catch(undefined),
    code: z.number(),
    error_subcode: z.number().optional().catch(undefined),
    error_data: z.object({ details: z.string().optional() }).optional().catch(undefined),
  }),
})

/** `version`: of the Graph API, as in `v25.0`. */
export function cloudApi(agent: Agent, opaqueIds: OpaqueIds, version: string): Provider {
  return {
    async send(sender, message, timeoutMs, leaveBy) {
      const url = new URL(`${sender.baseUrl}/${version}/${encodeURIComponent(sender.phoneNumberId)}/messages`)
      const body = {
        messaging_product: 'whatsapp',
        recipient_type: 'individual',
        // Without the plus the business number's own country code is put in front.
        to: `+${message.to}`,
        ...wireContent(message.content),
        biz_opaque_callback_data: opaqueIds.sign(message.id, message.attempt),
      }
      const headers = { authorization: `Bearer ${sender.token}`, ...traceHeader(message) }
      return readSend(await postJson(agent, url, headers, body, timeoutMs, leaveBy))
    },
  }
}

/** Component, button and parameter kinds are lower case on this wire; the rest of the content is the same. */
function wireContent(content: Content): object {
  if (content.type !== 'template') return content
  const { components, ...template } = content.template
  return {
    type: 'template',
    template: components === undefined ? template : { ...template, components: components.map(lowerKinds) },
  }
}

function lowerKinds(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(lowerKinds)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      const isKind = (key === 'type' || key === 'sub_type') && typeof each === 'string'
      return [key, isKind ? each.toLowerCase() : lowerKinds(each)]
    }),
  )
}

function readSend(end: Awaited<ReturnType<typeof postJson>>): CallEnd {
  if (end.kind !== 'answer') return end
  const body = parseJson(end.body)
  const accepted = acceptedBy(end.status, body)
  if (accepted) return accepted
  const parsed = refusal.safeParse(body)
  const error = parsed.success ? parsed.data.error : undefined
  return {
    kind: 'answered',
    status: end.status,
    readable: error !== undefined,
    code: error?.code,
    subcode: error?.error_subcode,
    text: error?.error_data?.details ?? error?.message,
    retryAfterMs: end.retryAfterMs,
  }
}
