// The Cloud API wire: `POST /v{n}.{m}/{phone-number-id}/messages` with a bearer token. Refusals come in
// WhatsApp's own envelope; what becomes of an accepted message is reported by webhook only.

import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { z } from 'zod'
import { type Answer, answerTo, refusalAnswer } from './answers.ts'
import { chatError, excerpt, type Refusal, tokenRefusal } from './chat-errors.ts'
import type { ChatProduct } from './chat-product.ts'
import type { GraphAccount } from './graph-account.ts'
import { serveGraph } from './graph-wire.ts'
import { readJsonBody } from './json-body.ts'
import { routeOf } from './marketing.ts'
import { cloudMessage, digitsOf, marketingMessage, templateName } from './message-schema.ts'
import { checkMessage } from './request-check.ts'
import type { Submission } from './submission.ts'
import { mediaIn } from './uploads.ts'

const OBJECT_PATH = /^\/v\d+\.\d+\/(\d+)$/
const HELD = 'held_for_quality_assessment'
const MESSAGES_PATH = /^\/v\d+\.\d+\/(\d+)\/(messages|marketing_messages)$/
const UPLOAD_PATH = /^\/v\d+\.\d+\/(\d+)\/media$/

/** Whether a path begins with a version of the Cloud API, such as `/v21.0/`. */
export function isCloudPath(path: string): boolean {
  return /^\/v\d+\.\d+\//.test(path)
}

/** Answers a request to any path of this wire. */
export async function serveCloud(product: ChatProduct, request: IncomingMessage, path: string): Promise<Answer> {
  const badToken = tokenRefusal(bearerOf(request), product.config.tokens)
  if (badToken !== null) return refusalAnswer(badToken, errorEnvelope)
  const asked = request.method === 'GET' ? OBJECT_PATH.exec(path)?.[1] : undefined
  const described = asked === undefined ? undefined : product.media.described(asked, request)
  if (described !== undefined) return { http: 200, body: described }
  const uploader = request.method === 'POST' ? UPLOAD_PATH.exec(path)?.[1] : undefined
  if (uploader !== undefined) {
    const taken = await product.uploads.take(uploader, request)
    return 'id' in taken ? { http: 200, body: taken } : refusalAnswer(taken.refusal, errorEnvelope)
  }
  const answer = serveGraph(
    product.graph,
    { request, path, query: queryOf(request), token: bearerOf(request) ?? '' },
    { error: graphError, missing: () => noSuchObject(request, path) },
  )
  if (answer !== undefined) return answer
  const [, phoneNumberId, address] = MESSAGES_PATH.exec(path) ?? []
  if (phoneNumberId === undefined || request.method !== 'POST') return noSuchObject(request, path)
  const read = await readJsonBody(request, 'json')
  if ('unreadable' in read) return refusalAnswer({ code: 100, details: read.unreadable }, errorEnvelope)
  const isForMarketing = address === 'marketing_messages'
  const receipt = readReceipt.safeParse(read.body)
  if (receipt.success) return product.receipts.take(receipt.data, phoneNumberId) ? success : noSuchMessage()
  const checked = checkMessage(isForMarketing ? marketingMessage : cloudMessage, read.body, 'cloud')
  if ('refusal' in checked) return refusalAnswer(checked.refusal, errorEnvelope)

  const { message } = checked
  const input = message.to ?? message.recipient
  if (input === undefined) return refusalAnswer({ code: 100, details: 'The parameter to is required.' }, errorEnvelope)
  const media = mediaIn(message)
  const unknown = product.uploads.unknownIn(media, phoneNumberId)
  if (unknown !== undefined) return refusalAnswer(unknown, errorEnvelope)
  const isNumber = message.to !== undefined
  const to = isNumber ? digitsOf(input) : input
  const template = message.type === 'template' ? templateName(message.template) : null
  const route = isForMarketing ? routeOf(product.graph, message) : undefined
  if (route !== undefined && 'refusal' in route) return refusalAnswer(route.refusal, errorEnvelope)
  const verdict = product.take({
    wire: 'cloud',
    account: phoneNumberId,
    sender: phoneNumberId,
    to,
    opaque: message.biz_opaque_callback_data ?? null,
    template,
    ...(template !== null && priceOf(product.graph, template)),
    ...route,
    hasLinks: media.some(({ link }) => link !== undefined),
    mediaIds: media.flatMap(({ id }) => id ?? []),
  })
  const isHeld = verdict.kind === 'accepted' && verdict.isHeld
  if (verdict.kind === 'accepted' && verdict.early !== null) await product.webhooks.deliver([verdict.early])
  const acknowledge = (id: string) => ({
    messaging_product: 'whatsapp',
    contacts: [isNumber ? { input, wa_id: to } : { input, user_id: to }],
    messages: [template === null ? { id } : { id, message_status: isHeld ? HELD : 'accepted' }],
  })
  await product.mayAnswer()
  return answerTo(verdict, acknowledge, errorEnvelope)
}

/** The category of a template in webhooks: as the account lists it. */
function priceOf(
  graph: GraphAccount,
  { name, language }: { name: string; language: string },
): Pick<Submission, 'category'> {
  switch (graph.categoryOf(name, language)) {
    case 'MARKETING':
      return { category: 'marketing' }
    case 'AUTHENTICATION':
      return { category: 'authentication' }
    default:
      return { category: 'utility' }
  }
}

const queryOf = (request: IncomingMessage): URLSearchParams =>
  new URL(request.url ?? '/', 'http://localhost').searchParams

/** A refusal with any code, also one that no message is refused with. */
function graphError(code: number, http: number, headers: Record<string, string>): Answer {
  const error = { message: `(#${code}) Refused`, type: 'OAuthException', code, fbtrace_id: traceId() }
  return { http, headers, body: { error } }
}

/** That a received message was read. */
const readReceipt = z.strictObject({
  messaging_product: z.literal('whatsapp'),
  status: z.literal('read'),
  message_id: z.string().min(1),
  typing_indicator: z.strictObject({ type: z.literal('text') }).optional(),
})
const success: Answer = { http: 200, body: { success: true } }
const noSuchMessage = (): Answer =>
  refusalAnswer({ code: 100, details: 'Param message_id is not the id of a message of this number.' }, errorEnvelope)

/** A file that a person sent, by the address that the API has given. */
export function serveMedia(product: ChatProduct, request: IncomingMessage, path: string): Answer {
  const badToken = tokenRefusal(bearerOf(request), product.config.tokens)
  if (badToken !== null) return refusalAnswer(badToken, errorEnvelope)
  const file = product.media.get(path.split('/').at(-1) ?? '')
  return file ? { http: 200, bytes: file.bytes, type: file.mimeType } : { http: 404, body: {} }
}

/** `{error: {…}}`. Faults of the request's shape (100) and of the token carry their details in the message itself. */
function errorEnvelope(refusal: Refusal): { error: Record<string, unknown> } {
  const row = chatError(refusal.code)
  const details = refusal.details ?? row.details
  const subcode = refusal.subcode ?? row.subcode
  const aboutToken = refusal.code === 190 || refusal.code === 104
  const inMessage = aboutToken || refusal.code === 100
  const prefix = aboutToken ? '' : `(#${refusal.code}) `
  return {
    error: {
      message: prefix + (inMessage ? details : row.title),
      type: 'OAuthException',
      code: refusal.code,
      ...(subcode === undefined ? {} : { error_subcode: subcode }),
      ...(row.transient === undefined ? {} : { is_transient: true }),
      ...(inMessage ? {} : { error_data: { messaging_product: 'whatsapp', details } }),
      fbtrace_id: traceId(),
    },
  }
}

/** WhatsApp's answer to a path, or a method, that it does not serve. */
function noSuchObject(request: IncomingMessage, path: string): Answer {
  const message =
    `Unsupported ${String(request.method).toLowerCase()} request. Object with ID '${excerpt(path.split('/')[2])}' ` +
    'does not exist, cannot be loaded due to missing permissions, or does not support this operation.'
  const error = { message, type: 'GraphMethodException', code: 100, error_subcode: 33, fbtrace_id: traceId() }
  return { http: 400, body: { error } }
}

function bearerOf(request: IncomingMessage): string | undefined {
  return /^Bearer (\S+)$/i.exec(request.headers.authorization ?? '')?.[1]
}

function traceId(): string {
  return `A${randomBytes(16).toString('base64url')}`
}
