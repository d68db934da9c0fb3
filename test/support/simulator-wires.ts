// What the simulator's tests need on the other side of the wire: requests on both wires, written out by hand and not
// with the product's own code, and a receiver of webhooks that keeps every post with its raw bytes.

import { createServer, type IncomingMessage } from 'node:http'
import { z } from 'zod'
import { listen } from '../testbed/free-port.ts'

export interface WireAnswer {
  status: number
  headers: Headers
  body: unknown
}

/** The part of an acknowledgement that both wires share. */
const acknowledgementSchema = z.object({
  messaging_product: z.string(),
  contacts: z.array(z.object({ input: z.string(), wa_id: z.string() })),
  messages: z.array(z.object({ id: z.string() })),
})

export const SENDER_ID = '106540352242922'

/** A Cloud API text message that the simulator accepts. */
export function cloudText(to: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    to,
    type: 'text',
    text: { body: 'Hello' },
    ...more,
  }
}

/** A partner image message that the simulator accepts. */
export function partnerImage(to: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const image = { link: 'https://example.com/a.jpg', caption: 'Look' }
  return {
    messaging_product: 'chatapp',
    recipient_type: 'individual',
    api_key: 'key',
    to,
    type: 'image',
    image,
    ...more,
  }
}

/** A partner template message that the simulator accepts. */
export function partnerTemplate(to: string, more: Record<string, unknown> = {}): Record<string, unknown> {
  const template = { name: 'order_update', language: { code: 'en_US' }, components: [] }
  const envelope = { messaging_product: 'chatapp', recipient_type: 'individual', api_key: 'key', sender: '15550200001' }
  return { ...envelope, to, type: 'template', template, ...more }
}

export async function post(url: string, body: unknown, headers: Record<string, string> = {}): Promise<WireAnswer> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

export function postCloud(base: string, body: unknown, sender = SENDER_ID, token = 'token'): Promise<WireAnswer> {
  return post(`${base}/v23.0/${sender}/messages`, body, { authorization: `Bearer ${token}` })
}

/** Sends to the endpoint that the body's type belongs to. */
export function postPartner(
  base: string,
  body: Record<string, unknown>,
  headers: Record<string, string> = {},
): Promise<WireAnswer> {
  const path = body.type === 'template' ? 'chatappbusiness/send-templated-message' : 'sendservicemessages/sendmessages'
  return post(`${base}/${path}`, body, headers)
}

/** The message id of an acknowledgement; throws with the answer when it is none. */
export function idOf(answer: WireAnswer): string {
  const parsed = acknowledgementSchema.safeParse(answer.body)
  const id = parsed.success && answer.status === 200 ? parsed.data.messages[0]?.id : undefined
  if (id === undefined) throw new Error(`no acknowledgement but ${answer.status} ${JSON.stringify(answer.body)}`)
  return id
}

const lookupSchema = z.object({
  status: z.literal(true),
  message: z.object({ status: z.string(), error_message: z.string().nullable() }),
})

/** Delivery status of a message on the partner wire. */
export async function lookUp(base: string, id: string): Promise<{ status: string; error_message: string | null }> {
  const answer = await post(`${base}/chatappbusiness/getmessgageinfobyid`, { api_key: 'key', message_id: id })
  return lookupSchema.parse(answer.body).message
}

/** The code of a refusal, on either wire; undefined when the answer is none. */
export function codeOf(answer: WireAnswer): number | undefined {
  return z.object({ error: z.object({ code: z.number() }) }).safeParse(answer.body).data?.error.code
}

const receivedSchema = z.strictObject({ id: z.string().startsWith('wamid.'), delivered: z.boolean() })

/** Has a person write to a business number. */
export async function receiveInbound(
  base: string,
  body: Record<string, unknown>,
): Promise<z.infer<typeof receivedSchema>> {
  return receivedSchema.parse((await post(`${base}/_inbound`, body)).body)
}

const healthSchema = z.strictObject({
  status: z.literal('ok'),
  accepted: z.int(),
  webhooks: z.strictObject({ waiting: z.int(), delivered: z.int(), given_up: z.int() }),
})

export async function readHealth(base: string): Promise<z.infer<typeof healthSchema>> {
  return healthSchema.parse(await (await fetch(`${base}/_health`)).json())
}

const ledgerLineSchema = z.strictObject({
  at_ms: z.int(),
  wire: z.enum(['partner', 'cloud']),
  id: z.string(),
  opaque: z.string().nullable(),
  to: z.string(),
  sender: z.string().nullable(),
  media: z.array(z.string()).optional(),
  product_policy: z.enum(['CLOUD_API_FALLBACK', 'STRICT']).optional(),
})

export type LedgerLine = z.infer<typeof ledgerLineSchema>

/** Every line of the ledger, parsed. */
export async function readLedger(base: string): Promise<LedgerLine[]> {
  const text = await (await fetch(`${base}/_ledger`)).text()
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => ledgerLineSchema.parse(JSON.parse(line)))
}

const statusSchema = z.object({
  id: z.string(),
  status: z.string(),
  timestamp: z.string().regex(/^\d{10}$/),
  recipient_id: z.string(),
  biz_opaque_callback_data: z.string().optional(),
  errors: z
    .array(z.object({ code: z.number(), title: z.string(), error_data: z.object({ details: z.string() }) }))
    .optional(),
})
const messageSchema = z.looseObject({ id: z.string(), from: z.string(), type: z.string(), timestamp: z.string() })
const aboutMessages = z.object({
  field: z.literal('messages'),
  value: z.object({
    messaging_product: z.literal('whatsapp'),
    metadata: z.object({ display_phone_number: z.string(), phone_number_id: z.string() }),
    statuses: z.array(statusSchema).optional(),
    messages: z.array(messageSchema).optional(),
  }),
})
const aboutOthers = z.object({
  field: z.string().refine((field) => field !== 'messages'),
  value: z.record(z.string(), z.unknown()),
})
const webhookSchema = z.object({
  object: z.literal('whatsapp_business_account'),
  entry: z.array(
    z.object({
      id: z.string(),
      time: z.int().optional(),
      changes: z.array(z.union([aboutMessages, aboutOthers])),
    }),
  ),
})

/** What a webhook tells besides messages. */
export type WebhookNews = z.infer<typeof aboutOthers> & { wabaId: string; time: number | undefined }

export type WebhookStatus = z.infer<typeof statusSchema> & { sender: string }

export interface WebhookPost {
  raw: Buffer
  signature: string
  statuses: WebhookStatus[]
  messages: z.infer<typeof messageSchema>[]
  news: WebhookNews[]
  /** What the receiver answered. */
  answered: number
}

export interface WebhookReceiver {
  url: string
  posts: WebhookPost[]
  /** Statuses of all posts that were answered with 200, in the order of arrival. */
  statuses(): WebhookStatus[]
  /** The same of what they tell besides messages. */
  news(): WebhookNews[]
  /** Called before a post is answered; its result is the HTTP status. */
  answer: () => number | Promise<number>
  /** Resolves once the condition holds after a post; rejects after ten seconds. */
  until(condition: () => boolean): Promise<void>
  close(): Promise<void>
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const waiting = new Set<() => void>()
  const posts: WebhookPost[] = []
  const server = createServer(async (request, response) => {
    const raw = await rawBody(request)
    const answered = await receiver.answer()
    posts.push({ raw, signature: String(request.headers['x-hub-signature-256']), answered, ...contentOf(raw) })
    response.writeHead(answered).end()
    for (const check of waiting) check()
  })
  const port = await listen(server)
  const receiver: WebhookReceiver = {
    url: `http://127.0.0.1:${port}/webhooks`,
    posts,
    statuses: () => posts.filter((one) => one.answered === 200).flatMap((one) => one.statuses),
    news: () => posts.filter((one) => one.answered === 200).flatMap((one) => one.news),
    answer: () => 200,
    until: (condition) =>
      new Promise((resolve, reject) => {
        const limit = setTimeout(() => {
          waiting.delete(check)
          reject(new Error(`the webhooks did not come: ${JSON.stringify(receiver.statuses())}`))
        }, 120_000)
        const check = () => {
          if (!condition()) return
          clearTimeout(limit)
          waiting.delete(check)
          resolve()
        }
        waiting.add(check)
        check()
      }),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
  return receiver
}

function contentOf(raw: Buffer): Pick<WebhookPost, 'statuses' | 'messages' | 'news'> {
  const { entry } = webhookSchema.parse(JSON.parse(raw.toString('utf8')))
  const changes = entry.flatMap((one) => one.changes.map((change) => ({ ...change, wabaId: one.id, time: one.time })))
  const values = changes.flatMap((change) => aboutMessages.safeParse(change).data?.value ?? [])
  const news = changes.flatMap(({ wabaId, time, ...change }) => {
    const { data } = aboutOthers.safeParse(change)
    return data === undefined ? [] : [{ ...data, wabaId, time }]
  })
  return {
    news,
    statuses: values.flatMap((value) =>
      (value.statuses ?? []).map((status) => ({ ...status, sender: value.metadata.phone_number_id })),
    ),
    messages: values.flatMap((value) => value.messages ?? []),
  }
}

async function rawBody(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(Buffer.from(chunk))
  return Buffer.concat(chunks)
}
