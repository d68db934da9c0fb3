// The line between workers and WhatsApp: plain, or over TLS by HTTP/1.1 or HTTP/2. What networks do to connections is
// done to TCP, under TLS; what is done to requests and replies is done where TLS has ended.
//
//   workers ──[TCP: cut, frozen]── TLS ──[requests: delayed, swallowed, observed]──> WhatsApp, in plain text
import { type Certificate, makeAuthority } from '../testbed/certificate.ts'
import { startHttp2Line } from './http2-line.ts'
import type { Random } from './random.ts'
import type { ReplyFaults } from './reply-faults.ts'
import { startProxy, type TcpProxy } from './tcp-proxy.ts'

export type TlsProtocol = 'h1' | 'h2'

/** How workers speak to WhatsApp, where it is over TLS. */
export interface LineTls {
  protocol: TlsProtocol
  /** Of WhatsApp. */
  certificate: Certificate
  /** Settings of processes that trust it. */
  settings: Record<string, string>
}

/** The same for a run: its authority and certificate are made in `folder`. */
export function createLineTls(protocol: TlsProtocol, folder: string): LineTls {
  const authority = makeAuthority(folder)
  return {
    protocol,
    certificate: authority.issue('chat-product'),
    settings: { NODE_EXTRA_CA_CERTS: authority.path },
  }
}

/** What may be done to requests and replies. */
export type RequestLine = ReplyFaults & Pick<TcpProxy, 'port' | 'close'>

export interface ProviderLine extends Omit<TcpProxy, 'cut'> {
  /** Where workers send to. */
  url: string
  /** Requests whose connection ended by a fault of another one: each may be flagged for it. */
  lostBeside(): number
  /** From now on what breaks off a request leaves others on its connection alone. */
  spareOthers(): void
}

/** `upstream` says where WhatsApp is. */
export async function startProviderLine(
  upstream: () => number | undefined,
  random: Random,
  tls: LineTls | undefined,
): Promise<ProviderLine> {
  if (tls === undefined) {
    const line = await startProxy(upstream, random)
    return { ...line, url: `http://127.0.0.1:${line.port}`, lostBeside: () => 0, spareOthers() {} }
  }
  const tcp = await startProxy(() => requests.port, random.fork('tcp'))
  const { certificate } = tls
  const http2 = tls.protocol === 'h2' ? await startHttp2Line(upstream, random, certificate) : undefined
  const requests: RequestLine =
    http2 ?? (await startProxy(upstream, random, { certificate, reset: ({ remotePort }) => tcp.cut(remotePort) }))
  return {
    ...requests,
    port: tcp.port,
    url: `https://localhost:${tcp.port}`,
    cutAll() {
      if (!http2?.disturbAll()) tcp.cutAll()
    },
    freezeAll: tcp.freezeAll,
    lostBeside: http2?.lostBeside ?? (() => 0),
    spareOthers: () => http2?.spareOthers(),
    close: async () => void (await Promise.all([tcp.close(), requests.close()])),
  }
}
