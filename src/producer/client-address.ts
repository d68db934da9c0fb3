// Where a request comes from: the other end of its connection, or behind proxies of ours whom the last of them names.
import type { IncomingMessage } from 'node:http'
import { insideOf, plainAddress } from '../accounts/networks.ts'

/** Entries that are looked at: a header may be as long as a client likes. */
const HOPS_MAX = 20

/**
 * Tells the address of a client. `X-Forwarded-For` is read from its end as long as each address is a trusted proxy's:
 * what stands before the first other one is what a client wrote itself.
 */
export function createClientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const isTrusted = trustedProxies.length === 0 ? () => false : insideOf(trustedProxies)
  return ({ socket, headers }) => {
    let address = plainAddress(socket.remoteAddress ?? '')
    if (!isTrusted(address)) return address
    const hops = String(headers['x-forwarded-for'] ?? '').split(',')
    for (const hop of hops.slice(-HOPS_MAX).reverse()) {
      const before = plainAddress(withoutPort(hop.trim()))
      if (before === '') break
      address = before
      if (!isTrusted(address)) break
    }
    return address
  }
}

/** Some proxies write the client's port behind its address, and that of every connection is another one. */
const withoutPort = (hop: string): string => {
  const [, bracketed, plain] = /^(?:\[([^\]]+)\]|([\d.]+))(?::\d{1,5})?$/.exec(hop) ?? []
  return bracketed ?? plain ?? hop
}
