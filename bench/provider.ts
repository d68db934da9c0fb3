// A provider as users have it: it answers after some time, in plain text or over TLS, by HTTP/2 where the client asks for
// it. It counts the messages of each number, how late they came, and which came twice. Built for little CPU, since it runs
// on the cores that are measured: HTTP/1.1 is read by http-messages.ts, without Node's server.
import { once } from 'node:events'
import { performServerHandshake, type ServerHttp2Stream } from 'node:http2'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import { z } from 'zod'
import { answerQuestions } from './child.ts'
import { messageReader } from './http-messages.ts'
import { createLateness } from './lateness.ts'
import { type AnswerTime, type ProviderReport, type Watch, watchSchema } from './provider-contract.ts'
import { waIdOf } from './wa-ids.ts'

const MOST_STREAMS = 100
/** Answer times are rounded to this, so that Node keeps few lists of timers. */
const STEP_MS = 10
/** No answer takes longer than this many times the upper bound of a distribution. */
const LONGEST = 2
/** Of the standard normal distribution: 5 % lie below -Z, 5 % above Z. */
const Z = 1.645

let watched: Watch = { answer: { low: 0, high: 0 }, waId: 'plain', pace: 0 }
let lateness = createLateness(0)
let arrivals = new Map<string, number>()
let seen = new Set<string>()
let twice = 0
let inFlight = 0
let mostInFlight = 0
let connections = 0
let sent = 0

const NUMBER = /\/(\d+)\/messages/
/** The first parameter, which differs from message to message: of a campaign it is the person's name. */
const ORDER = /"text":"(?:Person )?(\d{8})"/
const RECIPIENT = /"to":"([^"]+)"/

/** Counts a request; returns whom its message is for. */
function took(path: string, body: Buffer): string {
  const number = NUMBER.exec(path)?.[1] ?? ''
  arrivals.set(number, (arrivals.get(number) ?? 0) + 1)
  lateness.arrived(number, performance.now())
  const text = body.toString('latin1')
  const order = ORDER.exec(text)?.[1] ?? ''
  if (seen.has(order)) twice += 1
  seen.add(order)
  inFlight += 1
  if (inFlight > mostInFlight) mostInFlight = inFlight
  return RECIPIENT.exec(text)?.[1] ?? ''
}

/** Lognormal, with 5 % below `low` and 5 % above `high`; always the same where they are equal. */
function answerMs({ low, high }: AnswerTime): number {
  if (low === high) return low
  const normal = Math.sqrt(-2 * Math.log(1 - Math.random())) * Math.cos(2 * Math.PI * Math.random())
  const middle = (Math.log(low) + Math.log(high)) / 2
  const ms = Math.exp(middle + (normal * (Math.log(high) - Math.log(low))) / (2 * Z))
  return Math.ceil(Math.min(ms, LONGEST * high) / STEP_MS) * STEP_MS
}

function answerLater(to: string, write: (json: string) => void): void {
  sent += 1
  const id = `wamid.${Buffer.from(String(sent).padStart(12, '0')).toString('base64')}`
  const waId = waIdOf(to, watched.waId, sent)
  const json = `{"messaging_product":"whatsapp","contacts":[{"input":"${to}","wa_id":"${waId}"}],"messages":[{"id":"${id}"}]}`
  const answer = (): void => {
    inFlight -= 1
    write(json)
  }
  const ms = answerMs(watched.answer)
  if (ms === 0) answer()
  else setTimeout(answer, ms)
}

function serveHttp1(socket: Socket): void {
  connections += 1
  socket.on('close', () => {
    connections -= 1
  })
  socket.on('error', () => socket.destroy())
  const read = messageReader((head, body) => {
    answerLater(took(head.slice(0, head.indexOf('\r\n')), body), (json) => {
      const text = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${json.length}\r\n\r\n${json}`
      if (!socket.destroyed) socket.write(text, 'latin1')
    })
  })
  socket.on('data', read)
}

function serveStream(stream: ServerHttp2Stream, path: string): void {
  const chunks: Buffer[] = []
  stream.on('error', () => {})
  stream.on('data', (chunk: Buffer) => chunks.push(chunk))
  stream.on('end', () => {
    answerLater(took(path, Buffer.concat(chunks)), (json) => {
      if (stream.destroyed) return
      stream.respond({ ':status': 200, 'content-type': 'application/json' })
      stream.end(json)
    })
  })
}

const tlsSchema = z.object({ key: z.string(), cert: z.string(), protocols: z.array(z.string()) }).optional()

async function listen(tls: z.output<typeof tlsSchema>): Promise<number> {
  const server =
    tls === undefined
      ? createServer({ noDelay: true }, serveHttp1)
      : createTlsServer({ key: tls.key, cert: tls.cert, ALPNProtocols: tls.protocols, noDelay: true }, (socket) => {
          if (socket.alpnProtocol !== 'h2') return serveHttp1(socket)
          connections += 1
          const session = performServerHandshake(socket, { settings: { maxConcurrentStreams: MOST_STREAMS } })
          session.on('error', () => {})
          session.on('close', () => {
            connections -= 1
          })
          session.on('stream', (stream, headers) => serveStream(stream, String(headers[':path'])))
        })
  server.on('tlsClientError', () => {})
  server.listen(0, '127.0.0.1', 4_096)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port
}

answerQuestions({
  listen: (detail) => listen(tlsSchema.parse(detail)),
  /** Starts a new count, for another contender. */
  watch: async (detail) => {
    watched = watchSchema.parse(detail)
    lateness = createLateness(watched.pace)
    arrivals = new Map()
    seen = new Set()
    twice = 0
    mostInFlight = 0
  },
  report: async (): Promise<ProviderReport> => ({
    arrivals: Object.fromEntries(arrivals),
    distinct: seen.size,
    twice,
    connections,
    mostInFlight,
  }),
  lateness: async () => lateness.report(),
  /** From now on counts what is in flight at once, and what is late. */
  restart: async () => {
    mostInFlight = inFlight
    lateness.restart()
  },
})
