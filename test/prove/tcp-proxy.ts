// A TCP proxy of our own that does to connections what networks do: cuts them, leaves them half open, delays what comes
// back, and swallows the answer to a request that passed.
import { createServer, Socket } from 'node:net'
import { createServer as createTlsServer } from 'node:tls'
import type { Certificate } from '../testbed/certificate.ts'
import { listen } from '../testbed/free-port.ts'
import type { Random } from './random.ts'
import { createReplyFaults, type ReplyFaults } from './reply-faults.ts'

/** A connection that is held up by the network gets its bytes later, and all of them. */
interface Link {
  client: Socket
  upstream: Socket
  frozen: boolean
  /** Replies under way: they must arrive in order, so each waits for the one before. */
  lastReply: Promise<void>
}

export interface TcpProxy extends ReplyFaults {
  port: number
  /** Resets every connection; new ones work. */
  cutAll(): void
  /** Resets the one whose end towards `upstream` has this port. */
  cut(port: number | undefined): void
  /** Half open: connections of this moment never carry another byte and are never closed; new ones work. */
  freezeAll(): void
  close(): Promise<void>
}

/** Where TLS ends. */
interface TlsEnd {
  certificate: Certificate
  /** Resets a connection; TLS has no way to. */
  reset(client: Socket): void
}

/**
 * `upstream` says where a new connection goes, or undefined when there is nowhere to go: then it is refused. With `tls`
 * connections come over TLS, by HTTP/1.1, and go on in plain text.
 */
export async function startProxy(upstream: () => number | undefined, random: Random, tls?: TlsEnd): Promise<TcpProxy> {
  const links = new Set<Link>()
  const { faults, observer, isToSwallow, countSwallowed, delayMs } = createReplyFaults(random)

  const accept = (client: Socket): void => {
    const port = upstream()
    if (port === undefined) {
      reset(client)
      return
    }
    const link: Link = { client, upstream: new Socket(), frozen: false, lastReply: Promise.resolve() }
    links.add(link)
    link.upstream.setNoDelay(true)
    link.upstream.connect(port, '127.0.0.1')
    join(link)
  }
  const server = tls
    ? createTlsServer({ key: tls.certificate.key, cert: tls.certificate.cert, ALPNProtocols: ['http/1.1'] }, accept)
    : createServer({ noDelay: true }, accept)
  const port = await listen(server)

  function join(link: Link): void {
    let swallowNext = false
    link.client.on('data', (bytes) => {
      if (link.frozen) return
      observer()?.request(bytes.toString('latin1'), link)
      if (isToSwallow()) swallowNext = true
      if (!link.upstream.write(bytes)) {
        link.client.pause()
        link.upstream.once('drain', () => link.client.resume())
      }
    })
    link.upstream.on('data', (bytes) => {
      if (link.frozen) return
      observer()?.reply(bytes.toString('latin1'), link)
      if (swallowNext) {
        countSwallowed()
        return cut(link)
      }
      const heldMs = delayMs()
      if (heldMs === undefined) {
        link.client.write(bytes)
        return
      }
      const held = new Promise<void>((resolve) => setTimeout(resolve, heldMs))
      link.lastReply = Promise.all([link.lastReply, held]).then(() => {
        if (!link.frozen) link.client.write(bytes)
      })
    })
    for (const [end, other] of [
      [link.client, link.upstream],
      [link.upstream, link.client],
    ] as const) {
      end.on('error', () => {})
      end.on('close', () => {
        // What the other end still has coming is delivered first; a frozen link tells nobody that anything ended.
        if (link.frozen) return
        links.delete(link)
        observer()?.closed?.(link)
        void link.lastReply.then(() => other.destroySoon())
      })
    }
  }

  function cut(link: Link): void {
    links.delete(link)
    reset(link.client)
    link.upstream.resetAndDestroy()
  }

  function reset(client: Socket): void {
    if (tls) tls.reset(client)
    else client.resetAndDestroy()
  }

  return {
    ...faults,
    port,
    cutAll() {
      for (const link of links) cut(link)
    },
    cut(port) {
      for (const link of links) if (link.upstream.localPort === port) cut(link)
    },
    freezeAll() {
      for (const link of links) link.frozen = true
    },
    async close() {
      server.close()
      for (const link of links) cut(link)
    },
  }
}
