// An endpoint of events that keeps all that it is told, as a consumer would who trusts nothing: what is not signed with
// its secret counts as forged, what it did not answer 2xx as not told.
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { Webhook } from 'standardwebhooks'
import { z } from 'zod'
import { listen } from '../testbed/free-port.ts'

const event = z.looseObject({
  type: z.string(),
  data: z.looseObject({ event_id: z.string(), id: z.string(), seq: z.number(), state: z.string() }),
})
const body = z.union([z.looseObject({ type: z.literal('batch'), data: z.array(event) }), event])

/** One event as it was told. */
export interface ToldEvent {
  message: string
  seq: number
  type: string
  state: string
  id: string
}

export interface EventReceiver {
  url: string
  secret: string
  /** Every event of a delivery that was answered 2xx, in the order they came. */
  taken: ToldEvent[]
  /** Deliveries that were not signed with the secret. */
  forged: () => number
  close: () => Promise<void>
}

/** Starts one. `answer` answers a delivery and says whether it was taken. */
export async function startEventReceiver(answer: (response: ServerResponse) => boolean): Promise<EventReceiver> {
  let forged = 0
  const server = createServer(async (request, response) => {
    try {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(Buffer.from(chunk))
      const text = Buffer.concat(chunks).toString()
      const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]))
      new Webhook(receiver.secret).verify(text, headers)
      const read = body.parse(JSON.parse(text))
      if (!answer(response)) return
      const events = Array.isArray(read.data) ? read.data : [event.parse(read)]
      for (const { type, data } of events) {
        receiver.taken.push({ message: data.id, seq: data.seq, type, state: data.state, id: data.event_id })
      }
    } catch {
      forged += 1
      response.writeHead(400).end()
    }
  })
  const port = await listen(server)
  const receiver: EventReceiver = {
    url: `http://127.0.0.1:${port}/`,
    secret: '',
    taken: [],
    forged: () => forged,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
  return receiver
}
