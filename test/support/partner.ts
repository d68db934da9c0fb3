// A partner upstream that a test steers answer by answer, where the simulator's behaviours are not fine enough: it keeps
// the time of every send and every status poll.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { z } from 'zod'
import { listen } from '../testbed/free-port.ts'

const sendBody = z.object({ to: z.string() })
const pollBody = z.object({ message_id: z.string() })

export interface Partner {
  url: string
  sends: { atMs: number; to: string; refused: boolean; traceparent: string | undefined }[]
  /** Recipients whose message was asked about. */
  polls: string[]
  /** The same with the times (performance.now) at which the poll came and was answered. */
  pollTimes: { to: string; atMs: number; endMs: number }[]
  close(): Promise<void>
}

/**
 * Starts it. `throttle` gives the headers of a 429 for the n-th send, counted from 0, or nothing to take it; `poll` the
 * body that a status poll of the recipient's message is answered with, `pollMs` later, and `throttlePoll` the headers
 * of a 429 for the n-th poll.
 */
export async function startPartner({
  throttle = () => undefined,
  poll = () => statusAnswer('delivered'),
  pollMs = 0,
  throttlePoll = () => undefined,
}: {
  throttle?: (send: number) => Record<string, string> | undefined
  poll?: (to: string) => string
  pollMs?: number
  throttlePoll?: (poll: number) => Record<string, string> | undefined
} = {}): Promise<Partner> {
  const sends: Partner['sends'] = []
  const polls: string[] = []
  const pollTimes: Partner['pollTimes'] = []
  const server = createServer(async (request, response) => {
    let text = ''
    for await (const chunk of request) text += String(chunk)
    const body: unknown = JSON.parse(text)
    if (request.url?.endsWith('/getmessgageinfobyid')) {
      const to = pollBody.parse(body).message_id.replace('up-', '')
      const headers = throttlePoll(polls.length)
      polls.push(to)
      const times = { to, atMs: performance.now(), endMs: Number.POSITIVE_INFINITY }
      pollTimes.push(times)
      if (pollMs > 0) await new Promise((resolve) => setTimeout(resolve, pollMs))
      times.endMs = performance.now()
      if (headers) response.writeHead(429, headers).end('{"message":"Too fast."}')
      else response.end(poll(to))
      return
    }
    const { to } = sendBody.parse(body)
    const headers = throttle(sends.length)
    const traceparent = request.headers.traceparent?.toString()
    sends.push({ atMs: performance.now(), to, refused: headers !== undefined, traceparent })
    if (headers) response.writeHead(429, headers).end('{"message":"Too fast."}')
    else response.end(JSON.stringify({ messages: [{ id: `up-${to}` }] }))
  })
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    sends,
    polls,
    pollTimes,
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** What a status poll is answered with. */
export const statusAnswer = (status: string, error_message: string | null = null): string =>
  JSON.stringify({ status: true, message: { status, error_message } })
