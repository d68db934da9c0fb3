// The partner wire: the interface that our own users call, spoken to an upstream. No webhooks and no field for an id
// of ours, so delivery is followed by polling, and an unanswered send can be settled by no evidence. Our message id
// goes along as Idempotency-Key; an upstream that keeps it, as another Laneway does, makes a repeat safe.
import { z } from 'zod'
import { cutText } from '../kernel/cut-text.ts'
import { jsonWithPlaceholders } from '../model/messages/placeholders.ts'
import { codeEntry, PROVIDER_CODES } from '../model/messages/provider-codes.ts'
import type { PollEnd, Provider, ProviderMessage, ProviderSender } from '../model/provider.ts'
import { parseJson, type Refused, readSend } from './answer-body.ts'
import type { HttpAgent } from './http-agent.ts'
import { type HttpEnd, postJson, traceHeader } from './http-call.ts'

/**
 * The one error envelope of this wire; `code` is WhatsApp's number, a word of the upstream's own, or null. A
 * message without either flag comes from a proxy.
 */
const refusal = z
  .object({
    status: z.unknown().optional(),
    success: z.unknown().optional(),
    message: z.string(),
    error: z.object({ code: z.union([z.number(), z.string()]).nullish() }).nullish(),
  })
  .refine(({ status, success }) => status === false || success === false)

const statusAnswer = z.object({
  status: z.literal(true),
  message: z.object({ status: z.string(), error_message: z.string().nullish() }),
})

/**
 * The provider of the partner wire: docs/reference/http, spoken to another service. Carries the message id as
 * Idempotency-Key.
 */
export function partnerApi(agent: HttpAgent): Provider {
  return {
    async send(sender, message, timeoutMs, departure) {
      const isTemplate = message.content.type === 'template'
      const url = new URL(`${sender.baseUrl}${isTemplate ? TEMPLATE_PATH : SERVICE_PATH}`)
      const headers = { 'idempotency-key': message.id, ...traceHeader(message) }
      const body = bodyOf(sender, message)
      const filled = message.values === undefined ? body : jsonWithPlaceholders(body)(message.values)
      return readSend(await postJson(agent, url, headers, filled, timeoutMs, departure), message.to, refusedBy)
    },

    async poll(sender, providerId, timeoutMs) {
      const url = new URL(`${sender.baseUrl}${STATUS_PATH}`)
      const body = { api_key: sender.token, message_id: providerId }
      return readPoll(await postJson(agent, url, {}, body, timeoutMs))
    },
  }
}

/** Longest piece of the upstream's own words that is kept on a record. */
const MAX_SENTENCE = 500

const SERVICE_PATH = '/sendservicemessages/sendmessages'
const TEMPLATE_PATH = '/chatappbusiness/send-templated-message'
/** The spelling is the interface's own. */
const STATUS_PATH = '/chatappbusiness/getmessgageinfobyid'

function bodyOf(sender: ProviderSender, message: ProviderMessage): object {
  const common = {
    api_key: sender.token,
    messaging_product: 'chatapp',
    recipient_type: 'individual',
    to: message.to,
  }
  const { content } = message
  if (content.type !== 'template') return { ...common, ...content }
  return {
    ...common,
    type: 'template',
    template: mediaInCapitals(content.template),
    sender: sender.number,
    campaign_id: message.campaign ?? '',
  }
}

const MEDIA = new Set(['image', 'video', 'document'])

/** This wire writes the kind of a media parameter in capitals; everything else is stored as it is written here. */
function mediaInCapitals<T>(value: T): unknown {
  if (Array.isArray(value)) return value.map(mediaInCapitals)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => [
      key,
      key === 'type' && MEDIA.has(String(each)) ? String(each).toUpperCase() : mediaInCapitals(each),
    ]),
  )
}

function refusedBy(body: unknown): Refused | undefined {
  const { data } = refusal.safeParse(body)
  const code = data?.error?.code
  return data && { code: typeof code === 'number' ? code : undefined, text: data.message }
}

function readPoll(end: HttpEnd): PollEnd {
  if (end.kind !== 'answer') return { kind: 'no_answer', cause: end.cause }
  const body = parseJson(end.body)
  if (isThrottled(end.status, body)) return { kind: 'throttled', retryAfterMs: end.retryAfterMs }
  const answer = statusAnswer.safeParse(body)
  if (end.status !== 200 || !answer.success) return { kind: 'no_answer', cause: `http_${end.status}` }
  const { status, error_message } = answer.data.message
  switch (status) {
    case 'sent':
    case 'delivered':
    case 'read':
      return { kind: 'status', status, problem: undefined }
    case 'failed':
    case 'expired':
    case 'cancelled': {
      const sentence = cutText(error_message ?? '', MAX_SENTENCE) || 'The upstream says that it failed.'
      return { kind: 'status', status: 'failed', problem: { code: codeIn(sentence) ?? status, sentence } }
    }
    default:
      return { kind: 'pending' }
  }
}

/** 429, or a code of WhatsApp that makes the lane or its campaigns wait. */
function isThrottled(status: number, body: unknown): boolean {
  if (status === 429) return true
  const code = refusal.safeParse(body).data?.error?.code
  if (status < 400 || typeof code !== 'number') return false
  const { act } = codeEntry(code).rule
  return act === 'pause_lane' || act === 'rest_campaigns'
}

/**
 * WhatsApp's code in a sentence of the upstream, as in `(code 131026)` or `(#131026)`. A sentence may name
 * other numbers as well, such as the HTTP status of a link that could not be loaded: a code that WhatsApp is
 * known to give goes first, and one without brackets counts only when it is such a code.
 */
export function codeIn(sentence: string): string | undefined {
  const inBrackets = [...sentence.matchAll(/\((?:code |#)(\d{1,7})\)/g)].map(([, code = '']) => code)
  const named = [...sentence.matchAll(/\bcode[: ] ?#?(\d{1,7})\b/g)].map(([, code = '']) => code)
  const isKnown = (code: string): boolean => PROVIDER_CODES.has(Number(code))
  return inBrackets.find(isKnown) ?? inBrackets[0] ?? named.find(isKnown)
}
