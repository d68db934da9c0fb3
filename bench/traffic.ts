// The requests that the load generator sends: one function per kind of traffic that writes the n-th request as the
// text of a whole HTTP/1.1 request. Laneway and the baselines get the same bytes wherever both take them.
import { createHmac } from 'node:crypto'
import { z } from 'zod'

const target = { path: z.string() }
/** What messages are made of. `templates` are names, used by turns; TEMPLATE's if not given. */
const content = { keys: z.array(z.string()), senders: z.array(z.string()), templates: z.array(z.string()).optional() }
export const trafficSchema = z.discriminatedUnion('kind', [
  /** One template message per request. */
  z.object({ kind: z.literal('message'), ...target, ...content }),
  /** The same messages, many per request. */
  z.object({ kind: z.literal('batch'), ...target, ...content, size: z.number() }),
  /** Lookups of messages at random. */
  z.object({ kind: z.literal('lookup'), ...target, keys: z.array(z.string()), ids: z.array(z.string()) }),
  /** WhatsApp's webhooks: each brings news of `size` messages. */
  z.object({
    kind: z.literal('webhook'),
    ...target,
    appSecret: z.string(),
    opaque: z.array(z.string()),
    status: z.enum(['delivered', 'read']),
    size: z.number(),
  }),
  /** The send request of Kannel. */
  z.object({ kind: z.literal('kannel'), ...target }),
])
export type Traffic = z.infer<typeof trafficSchema>

/** A key of Laneway's length for the baselines, so that the bytes are as many. */
export const SOME_KEY = 'x'.repeat(41)
/** Recipients repeat after this many messages. */
const RECIPIENTS = 100_000
/** Length of the text that a person reads; the parameter of the template is this less the approved words around it. */
const TEXT_LENGTH = 200
/** A longer text would go out as two messages. */
const KANNEL_TEXT_LENGTH = 160
export const TEMPLATE = {
  name: 'bench_update',
  language: 'en_US',
  category: 'UTILITY',
  components: [{ type: 'BODY', text: 'Order {{1}}: {{2}}' }],
} as const
/** The same as marketing, of as many bytes: before such a message leaves, opt-outs and caps are read. */
const MARKETING_TEMPLATE = { ...TEMPLATE, name: 'bench_offers', category: 'MARKETING' } as const
/** The templates of messages of a category. */
export const TEMPLATES = {
  utility: [TEMPLATE],
  marketing: [MARKETING_TEMPLATE],
  both: [TEMPLATE, MARKETING_TEMPLATE],
} as const
const WORDS = 'Your parcel left our house today and will reach you on one of the next two working days. '.repeat(3)

/** The `n`-th request as text; all are ASCII. `stamp` is put into the message text. */
export function requestMaker(traffic: Traffic): (n: number, stamp: number) => string {
  switch (traffic.kind) {
    case 'message':
      return (n, stamp) => {
        const key = traffic.keys[n % traffic.keys.length] ?? ''
        return post(traffic.path, `{"api_key":"${key}",${message(n, stamp, traffic.senders, traffic.templates)}}`)
      }
    case 'batch':
      return (n, stamp) => {
        const items = Array.from(
          { length: traffic.size },
          (_, i) => `{${message(n * traffic.size + i, stamp, traffic.senders, traffic.templates)}}`,
        )
        const key = traffic.keys[n % traffic.keys.length] ?? ''
        return post(traffic.path, `{"messages":[${items.join(',')}]}`, `Authorization: Bearer ${key}\r\n`)
      }
    case 'lookup':
      return (n) => {
        const id = traffic.ids[Math.floor(Math.random() * traffic.ids.length)] ?? ''
        const key = traffic.keys[n % traffic.keys.length] ?? ''
        return post(traffic.path, `{"api_key":"${key}","message_id":"${id}"}`)
      }
    case 'webhook':
      return webhookMaker(traffic)
    case 'kannel':
      return (n, stamp) => {
        const text = encodeURIComponent(textOf(n, stamp).slice(0, KANNEL_TEXT_LENGTH)).replaceAll('%20', '+')
        return `GET ${traffic.path}&to=%2B${recipientOf(n)}&text=${text} HTTP/1.1\r\nHost: bench\r\n\r\n`
      }
  }
}

/** How many messages one request carries. */
export const messagesPerRequest = (traffic: Traffic): number => ('size' in traffic ? traffic.size : 1)

function post(path: string, body: string, more = ''): string {
  const head = `POST ${path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n${more}`
  return `${head}Content-Length: ${body.length}\r\n\r\n${body}`
}

const recipientOf = (n: number): string => `4917${String(n % RECIPIENTS).padStart(8, '0')}`

/** Parameters that make the text of the template TEXT_LENGTH characters. */
function parametersOf(n: number, stamp: number): [order: string, rest: string] {
  const order = String(n).padStart(8, '0')
  const around = 'Order : '.length + order.length
  return [order, `at=${stamp} ${WORDS}`.slice(0, TEXT_LENGTH - around)]
}

function textOf(n: number, stamp: number): string {
  const [order, rest] = parametersOf(n, stamp)
  return `Order ${order}: ${rest}`
}

/** Jobs of the same messages, from the `from`-th on. */
export function* messagesOf(
  from: number,
  count: number,
  templates: readonly string[],
): Generator<{ to: string; template: object }> {
  for (let n = from; n < from + count; n += 1) {
    const { to, template } = JSON.parse(`{${message(n, 0, [''], templates)}}`)
    yield { to, template }
  }
}

function message(
  n: number,
  stamp: number,
  senders: readonly string[],
  templates: readonly string[] = [TEMPLATE.name],
): string {
  const [order, rest] = parametersOf(n, stamp)
  const parameters = `[{"type":"text","text":"${order}"},{"type":"text","text":"${rest}"}]`
  // Every sender sends each of them.
  const name = templates[Math.floor(n / senders.length) % templates.length] ?? ''
  const template = `{"name":"${name}","language":{"code":"${TEMPLATE.language}"},"components":[{"type":"BODY","parameters":${parameters}}]}`
  const sender = senders[n % senders.length] ?? ''
  return `"sender":"${sender}","messaging_product":"chatapp","recipient_type":"individual","to":"+${recipientOf(n)}","type":"template","template":${template}`
}

function webhookMaker(traffic: Extract<Traffic, { kind: 'webhook' }>): (n: number) => string {
  const timestamp = Math.floor(Date.now() / 1_000)
  const statusOf = (n: number): string => {
    const opaque = traffic.opaque[n % traffic.opaque.length] ?? ''
    const recipient = recipientOf(n)
    return `{"id":"wamid.${n}","status":"${traffic.status}","timestamp":"${timestamp}","recipient_id":"${recipient}","biz_opaque_callback_data":"${opaque}"}`
  }
  return (n) => {
    const statuses = Array.from({ length: traffic.size }, (_, i) => statusOf(n * traffic.size + i)).join(',')
    const metadata = '{"display_phone_number":"15550000001","phone_number_id":"1"}'
    const value = `{"messaging_product":"whatsapp","metadata":${metadata},"statuses":[${statuses}]}`
    const body = `{"object":"whatsapp_business_account","entry":[{"id":"1","changes":[{"field":"messages","value":${value}}]}]}`
    const signature = createHmac('sha256', traffic.appSecret).update(body).digest('hex')
    return post(traffic.path, body, `X-Hub-Signature-256: sha256=${signature}\r\n`)
  }
}
