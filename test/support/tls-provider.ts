// A provider over TLS, by HTTP/1.1 or HTTP/2, for tests of what a client makes of one that misbehaves: it counts the
// requests that come, whole or not, and does anything to their streams and to the connections under them.
import { once } from 'node:events'
import { performServerHandshake, type ServerHttp2Session, type ServerHttp2Stream, type Settings } from 'node:http2'
import { createServer as createTcpServer, type Socket } from 'node:net'
import { createServer, type TLSSocket, type TlsOptions } from 'node:tls'
import type { Certificate } from '../testbed/certificate.ts'
import { listen } from '../testbed/free-port.ts'
import { onRequest } from './tcp-server.ts'

/** The connection under a request: ended with and without the goodbyes of TLS and TCP, and written to. */
export interface Under {
  socket: TLSSocket
  reset: () => void
  close: () => void
  say: (text: string) => void
}

/** A whole request. */
export interface Asked extends Under {
  body: string
  /** Which request of the server it is, from 1. */
  nth: number
}

/** A stream of HTTP/2 with a whole request. */
export interface AskedStream extends Asked {
  stream: ServerHttp2Stream
  session: ServerHttp2Session
}

export interface TlsProvider {
  url: URL
  port: number
  /** Bodies of all requests, in their order. */
  bodies: string[]
  /** Handshakes that came to their end. */
  connections(): number
  close(): Promise<void>
}

/** Starts one that speaks HTTP/2 where it has `http2`, HTTP/1.1 where not. */
export async function startTlsProvider(
  certificate: Certificate,
  behave: {
    http1?: (asked: Asked) => void
    http2?: (asked: AskedStream) => void
    /** Before any request. */
    connected?: (under: Under, session: ServerHttp2Session | undefined) => void
    tls?: TlsOptions
    /** Of HTTP/2. */
    settings?: Settings
  },
): Promise<TlsProvider> {
  const bodies: string[] = []
  /** By the port of the client. */
  const open = new Map<number | undefined, Socket>()
  let connections = 0
  const ALPNProtocols = behave.http2 ? ['h2', 'http/1.1'] : ['http/1.1']
  const { key, cert } = certificate
  const server = createServer({ key, cert, ALPNProtocols, ...behave.tls }, (socket) => {
    connections += 1
    const lower = open.get(socket.remotePort)
    const under: Under = {
      socket,
      reset: () => void lower?.resetAndDestroy(),
      close: () => void lower?.destroy(),
      say: (text) => void lower?.write(text),
    }
    socket.on('error', () => {})
    if (socket.alpnProtocol !== 'h2') {
      onRequest(socket, (request) => {
        const body = request.slice(request.indexOf('\r\n\r\n') + 4)
        behave.http1?.({ ...under, body, nth: bodies.push(body) })
      })
      behave.connected?.(under, undefined)
      return
    }
    const session = performServerHandshake(socket, { settings: behave.settings ?? {} })
    session.on('error', () => {})
    session.on('stream', (stream) => {
      let body = ''
      stream.on('error', () => {})
      stream.setEncoding('utf8').on('data', (piece) => {
        body += piece
      })
      stream.on('end', () => {
        // One whose session was ended first ends without the body that it was to have.
        if (body !== '') behave.http2?.({ ...under, stream, session, body, nth: bodies.push(body) })
      })
    })
    behave.connected?.(under, session)
  })
  server.on('tlsClientError', () => {})
  const listening = createTcpServer((socket) => {
    open.set(socket.remotePort, socket)
    socket.on('error', () => {})
    server.emit('connection', socket)
  })
  const port = await listen(listening)
  return {
    url: new URL(`https://localhost:${port}/messages`),
    port,
    bodies,
    connections: () => connections,
    async close() {
      for (const socket of open.values()) socket.destroy()
      listening.close()
      await once(listening, 'close')
    },
  }
}
