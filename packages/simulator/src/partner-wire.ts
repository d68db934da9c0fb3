// The partner wire: two send endpoints and two lookups, all POST, all with an `api_key` in the body. The interface does
// not say what a refusal looks like; here it is one envelope with WhatsApp's code:
// `{status: false, success: false, message: "<title>: <details>", error: {code: 130429, details: "…"}}`.

import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { type Acknowledgement, type Answer, answerTo, refusalAnswer } from './answers.ts'
import { BoundedMap } from './bounded-map.ts'
import { chatError, excerpt, type Refusal, tokenRefusal } from './chat-errors.ts'
import type { ChatProduct } from './chat-product.ts'
import { readJsonBody } from './json-body.ts'
import {
  digitsOf,
  type PartnerMessage,
  partnerServiceMessage,
  partnerTemplateMessage,
  templateName,
} from './message-schema.ts'
import { textOf } from './message-text.ts'
import { checkMessage } from './request-check.ts'
import { mediaIn } from './uploads.ts'
import { readOutboundId } from './wamid.ts'

/** The number that service messages come from: their requests name none. */
const DEFAULT_SENDER = '15550200000'
/** Acknowledgements kept for repeats with the same Idempotency-Key. */
const ACKNOWLEDGEMENTS_KEPT = 100_000

const lookupBody = z.object({ message_id: z.string().min(1) })

interface Call {
  body: Record<string, unknown>
  apiKey: string
  /** The Idempotency-Key header. */
  key: string | null
}

/** The partner wire of one WhatsApp. */
export class PartnerWire {
  readonly #product: ChatProduct
  readonly #acknowledgements = new BoundedMap<Acknowledgement>(ACKNOWLEDGEMENTS_KEPT)
  readonly #endpoints = new Map<string, (call: Call) => Answer | Promise<Answer>>([
    ['/sendservicemessages/sendmessages', (call) => this.#send(call, partnerServiceMessage)],
    ['/chatappbusiness/send-templated-message', (call) => this.#send(call, partnerTemplateMessage)],
    ['/chatappbusiness/getmessgageinfobyid', (call) => this.#lookUp(call, (id) => this.#statusOf(id))],
    ['/chatappbusiness/fetchmessageinfo', (call) => this.#lookUp(call, (id) => this.#infoOf(id))],
  ])

  constructor(product: ChatProduct) {
    this.#product = product
  }

  /** Answers a request to any path that no other part of the simulator serves. */
  async serve(request: IncomingMessage, path: string): Promise<Answer> {
    const endpoint = this.#endpoints.get(path)
    if (endpoint === undefined) return failure(404, `Nothing is served at ${excerpt(path)}.`)
    if (request.method !== 'POST') return { ...failure(405, `${path} takes POST.`), headers: { allow: 'POST' } }
    const read = await readJsonBody(request, 'json')
    if ('unreadable' in read) return refusalAnswer({ code: 100, details: read.unreadable }, errorEnvelope)
    const apiKey = typeof read.body.api_key === 'string' ? read.body.api_key : ''
    const badKey = tokenRefusal(apiKey, this.#product.config.tokens)
    if (badKey !== null) return refusalAnswer(badKey, errorEnvelope)
    const key = request.headers['idempotency-key']
    return endpoint({ body: read.body, apiKey, key: typeof key === 'string' ? key : null })
  }

  async #send({ body, apiKey, key }: Call, schema: z.ZodType<PartnerMessage>): Promise<Answer> {
    const checked = checkMessage(schema, body, 'partner')
    if ('refusal' in checked) return refusalAnswer(checked.refusal, errorEnvelope)
    const repeatKey = key === null ? null : `${apiKey} ${key}`
    const first = repeatKey === null ? undefined : this.#acknowledgements.get(repeatKey)
    if (first !== undefined && this.#product.honoursIdempotency) return { http: 200, body: first }

    const { message } = checked
    const to = digitsOf(message.to)
    const sender = message.type === 'template' ? message.sender : null
    const template = message.type === 'template' ? templateName(message.template) : null
    const hasLinks = mediaIn(message).some(({ link }) => link !== undefined)
    const submission = { wire: 'partner', account: apiKey, sender, to, opaque: key, template, hasLinks } as const
    const verdict = this.#product.take(submission)
    const acknowledge = (id: string): Acknowledgement => ({
      messaging_product: 'chatapp',
      contacts: [{ input: message.to, wa_id: to }],
      messages: [{ id }],
    })
    if (verdict.kind === 'accepted') {
      if (repeatKey !== null) this.#acknowledgements.set(repeatKey, acknowledge(verdict.id))
      this.#product.infos.set(verdict.id, {
        direction: 'outbound',
        from: sender === null ? DEFAULT_SENDER : digitsOf(sender),
        text: textOf(message),
        type: message.type,
        atMs: Date.now(),
      })
    }
    await this.#product.mayAnswer()
    return answerTo(verdict, acknowledge, errorEnvelope)
  }

  async #lookUp({ body }: Call, find: (id: string) => Record<string, unknown> | null): Promise<Answer> {
    const parsed = lookupBody.safeParse(body)
    if (!parsed.success) {
      return refusalAnswer({ code: 100, details: 'The parameter message_id is required.' }, errorEnvelope)
    }
    const { lookupDelayMs } = this.#product
    if (lookupDelayMs > 0) await new Promise((resolve) => setTimeout(resolve, lookupDelayMs))
    const message = find(parsed.data.message_id)
    if (message === null) return failure(404, 'No message has this message_id.')
    return { http: 200, body: { status: true, message } }
  }

  #statusOf(id: string): Record<string, unknown> | null {
    const facts = readOutboundId(id)
    if (facts === null || facts.wire !== 'partner') return null
    const standing = this.#product.standing(facts)
    const code = standing?.code
    const reason = code === undefined ? null : `${sentenceOf({ code })} (code ${code})`
    return { status: standing?.status ?? 'accepted', error_message: reason }
  }

  #infoOf(id: string): Record<string, unknown> | null {
    const info = this.#product.infos.get(id)
    if (info === undefined) return null
    const facts = readOutboundId(id)
    const failed = facts !== null && this.#product.standing(facts)?.status === 'failed'
    const data = {
      message_id: id,
      message_text: info.text,
      message_type: info.type,
      message_from: info.from,
      direction: info.direction,
      status: failed ? 'failed' : 'success',
      timestamp: Math.floor(info.atMs / 1000),
    }
    return { data }
  }
}

function errorEnvelope(refusal: Refusal): unknown {
  const details = refusal.details ?? chatError(refusal.code).details
  return { status: false, success: false, message: sentenceOf(refusal), error: { code: refusal.code, details } }
}

function sentenceOf(refusal: Refusal): string {
  const { title, details } = chatError(refusal.code)
  return `${title}: ${refusal.details ?? details}`
}

/** A refusal that WhatsApp has no code for. */
function failure(http: number, message: string): { http: number; body: unknown } {
  return { http, body: { status: false, success: false, message, error: { code: null, details: message } } }
}
