// The end of the line that speaks HTTP/2 over TLS, and passes each request on in plain text. A reply that is lost, or that
// WhatsApp breaks off, ends its stream or the whole session, as servers do.
import { Agent, type IncomingMessage, request } from 'node:http'
import {
  constants,
  createSecureServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Certificate } from '../testbed/certificate.ts'
import { listen } from '../testbed/free-port.ts'
import type { RequestLine } from './provider-line.ts'
import type { Random } from './random.ts'
import { createReplyFaults } from './reply-faults.ts'

export interface Http2Line extends RequestLine {
  /**
   * Disturbs all sessions in a way of HTTP/2: resets their streams, ends them, or says GOAWAY and lets them come to their
   * end. Now and then it does nothing: then TCP is to be cut.
   */
  disturbAll(): boolean
  /** Requests under way in sessions that were ended for the sake of another one. */
  lostBeside(): number
  /** From now on a request that is broken off ends its stream alone. */
  spareOthers(): void
}

/** Of HTTP/1.1 alone. */
const HOP_BY_HOP = ['connection', 'keep-alive', 'transfer-encoding']

/** Passes requests on to the port that `upstream` names. */
export async function startHttp2Line(
  upstream: () => number | undefined,
  random: Random,
  { key, cert }: Certificate,
): Promise<Http2Line> {
  /** Streams with a request that is not answered yet. */
  const sessions = new Map<Http2Session, Set<ServerHttp2Stream>>()
  const agent = new Agent({ keepAlive: true })
  const { faults, observer, isToSwallow, countSwallowed, delayMs } = createReplyFaults(random)
  let lostBeside = 0
  let sparesOthers = false

  const server = createSecureServer({ key, cert, ALPNProtocols: ['h2'], settings: { maxConcurrentStreams: 100 } })
  server.on('session', (session) => {
    sessions.set(session, new Set())
    session.on('error', () => {})
    session.on('close', () => sessions.delete(session))
  })
  server.on('stream', (stream, headers) => {
    const underWay = stream.session && sessions.get(stream.session)
    underWay?.add(stream)
    stream.on('error', () => {})
    stream.on('close', () => {
      underWay?.delete(stream)
      observer()?.closed?.(stream)
    })
    const pieces: Buffer[] = []
    stream.on('data', (piece: Buffer) => pieces.push(piece))
    stream.on('end', () => {
      const body = Buffer.concat(pieces)
      // A stream that is broken off ends as well.
      if (body.length === Number(headers['content-length'] ?? 0)) pass(stream, headers, body)
    })
  })
  const port = await listen(server)

  function pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, body: Buffer): void {
    const { ':method': method = 'GET', ':path': path = '/' } = headers
    observer()?.request(`${method} ${path} HTTP/1.1\r\n\r\n${body.toString('latin1')}`, stream)
    const isSwallowed = isToSwallow()
    const own = Object.entries(headers).filter(([name]) => !name.startsWith(':'))
    const options = { agent, host: '127.0.0.1', port: upstream(), method, path, headers: Object.fromEntries(own) }
    const asked = request(options, (reply) => {
      observer()?.reply(`HTTP/1.1 ${reply.statusCode}\r\n\r\n`, stream)
      reply.on('error', () => breakOff(stream))
      if (isSwallowed) {
        countSwallowed()
        reply.resume()
        breakOff(stream)
        return
      }
      const heldMs = delayMs()
      if (heldMs === undefined) answer(stream, reply)
      else setTimeout(answer, heldMs, stream, reply)
    })
    asked.on('error', () => breakOff(stream))
    stream.on('close', () => asked.destroy())
    asked.end(body)
  }

  function answer(stream: ServerHttp2Stream, reply: IncomingMessage): void {
    if (stream.destroyed || stream.closed) return void reply.resume()
    const own = Object.entries(reply.headers).filter(([name]) => !HOP_BY_HOP.includes(name))
    stream.respond({ ...Object.fromEntries(own), ':status': reply.statusCode })
    reply.pipe(stream)
  }

  /** Ends the stream without an answer, by itself or with its session. */
  function breakOff(stream: ServerHttp2Stream): void {
    const { session } = stream
    if (stream.destroyed || !session) return
    if (sparesOthers || random.next() < 0.5) {
      stream.close(constants.NGHTTP2_INTERNAL_ERROR)
      return
    }
    lostBeside += Math.max(0, (sessions.get(session)?.size ?? 0) - 1)
    session.destroy(undefined, constants.NGHTTP2_INTERNAL_ERROR)
  }

  return {
    ...faults,
    port,
    disturbAll() {
      const way = random.pick(['reset', 'end', 'goaway', 'none'])
      for (const [session, streams] of sessions) {
        if (way === 'end') session.destroy(undefined, constants.NGHTTP2_INTERNAL_ERROR)
        // One that has been destroyed stays in the list until its end is told of, and `goaway` would throw.
        if (way === 'goaway' && !session.destroyed) session.goaway()
        if (way === 'reset') for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL)
      }
      return way !== 'none'
    },
    lostBeside: () => lostBeside,
    spareOthers() {
      sparesOthers = true
    },
    async close() {
      server.close()
      for (const session of sessions.keys()) session.destroy()
      agent.destroy()
    },
  }
}
