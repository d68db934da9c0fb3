// An endpoint of events for a test: keeps what it is told, checked as a consumer of Standard Webhooks would, and answers
// as it is told to.
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { listen } from '../testbed/free-port.ts'

const event = z.object({
  type: z.string(),
  timestamp: z.iso.datetime(),
  data: z.looseObject({ event_id: z.string(), id: z.string().optional(), seq: z.number().optional() }),
})
const told = z.union([event.extend({ type: z.literal('batch'), data: z.array(event) }), event])

export interface ToldEvent {
  type: string
  id: string | undefined
  seq: number | undefined
  data: Record<string, unknown>
}
export interface Delivery {
  id: string
  atMs: number
  isBatch: boolean
  events: ToldEvent[]
  path: string
}

export type Behaviour = (request: IncomingMessage, response: ServerResponse, delivery: Delivery) => void

export interface EventReceiver {
  url: string
  /** Every request, also those that were not answered well. */
  all: Delivery[]
  /** Those that were answered 2xx. */
  taken: Delivery[]
  /** Signed with one of these, else it is answered 401. Empty: not checked. */
  secrets: string[]
  behave: Behaviour
  events: () => ToldEvent[]
  close: () => Promise<void>
}

export const take: Behaviour = (_request, response) => void response.writeHead(204).end()
export const answerWith =
  (status: number, headers: Record<string, string> = {}, body = ''): Behaviour =>
  (_request, response) =>
    void response.writeHead(status, headers).end(body)

/** Starts one on a free loopback port. */
export async function startReceiver(): Promise<EventReceiver> {
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(Buffer.from(chunk))
    const body = Buffer.concat(chunks).toString()
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
    const delivery = {
      ...readDelivery(body),
      id: headers['webhook-id'] ?? '',
      atMs: Date.now(),
      path: request.url ?? '',
    }
    const isSigned = receiver.secrets.some((secret) => {
      try {
        return new Webhook(secret).verify(body, headers) !== undefined
      } catch {
        return false
      }
    })
    receiver.all.push(delivery)
    if (receiver.secrets.length > 0 && !isSigned) return void response.writeHead(401).end()
    receiver.behave(request, response, delivery)
    if (response.statusCode >= 200 && response.statusCode < 300 && response.headersSent) receiver.taken.push(delivery)
  })
  const port = await listen(server)
  const receiver: EventReceiver = {
    url: `http://127.0.0.1:${port}/hook`,
    all: [],
    taken: [],
    secrets: [],
    behave: take,
    events: () => receiver.taken.flatMap(({ events }) => events),
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return receiver
}

function readDelivery(body: string): Pick<Delivery, 'isBatch' | 'events'> {
  const read = told.parse(JSON.parse(body))
  const list = Array.isArray(read.data) ? read.data : [event.parse(read)]
  return {
    isBatch: read.type === 'batch',
    events: list.map(({ type, data }) => ({ type, id: data.id, seq: data.seq, data })),
  }
}
