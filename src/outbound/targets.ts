// Which addresses may be called that somebody else names: of endpoints, of an account's own server, of a sender's provider, of
// files. Otherwise a client could have Laneway call what only Laneway can reach: the metadata of its cloud, an admin page,
// Redis. An operator may allow private networks by name.

import { type LookupAddress, lookup } from 'node:dns'
import dns from 'node:dns/promises'
import { isIP } from 'node:net'
import { Agent, buildConnector } from 'undici'
import { blockListOf } from '../kernel/networks.ts'

/** All that IPv6 has given out for the Internet. What lies outside of it stands for other addresses, or for nothing yet. */
const GIVEN_OUT = '2000::/3'
/** Networks that are nobody's on the Internet, and those that stand for others: 6to4, Teredo. */
const NOT_PUBLIC = [
  ...['0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12', '192.0.0.0/24'],
  ...['192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15', '198.51.100.0/24', '203.0.113.0/24'],
  ...['224.0.0.0/4', '240.0.0.0/4', '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'],
]

const notPublic = blockListOf(NOT_PUBLIC)
/** Not in the same list: Node takes every IPv4 address for one of `::ffff:0:0/96`. */
const givenOut = blockListOf([GIVEN_OUT])

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Why an address is refused. */
export type Unsafe = 'private' | 'insecure'

/** Says whether an address may be called. `allowed` are networks (CIDR) that an operator has named. */
export function createTargetRule(allowed: readonly string[]) {
  const named = blockListOf(allowed)
  return {
    /** Why a connection to this address (an IP literal, in the form that it was resolved to) must not be made. */
    unsafe(address: string, isSecure: boolean): Unsafe | undefined {
      // A zone, as in fe80::1%eth0, only exists for addresses of the own link.
      if (isIP(address) === 0 || address.includes('%')) return 'private'
      const family = familyOf(address)
      if (named.check(address, family)) return undefined
      if (notPublic.check(address, family) || (family === 'ipv6' && !givenOut.check(address, family))) return 'private'
      return isSecure ? undefined : 'insecure'
    },
  }
}
export type TargetRule = ReturnType<typeof createTargetRule>

/** Allows every address: an operator or an administrator may have a sender's provider in any network. */
export const anywhere: TargetRule = createTargetRule(['0.0.0.0/0', '::/0'])

/** The host of a URL as an address, without the brackets of IPv6; undefined when it is a name. */
export function literalHost(hostname: string): string | undefined {
  const bare = hostname.startsWith('[') && hostname.endsWith(']') ? hostname.slice(1, -1) : hostname
  return isIP(bare) === 0 ? undefined : bare
}

// Whether an address may be called, checked when it is set by looking its name up. It is checked again at each connection,
// since the name may lead elsewhere by then.

/** A name server that has not answered by then says nothing. */
const LOOKUP_MS = 2_000

/** A sentence that says why it is refused; undefined when it may be called, or when its name leads nowhere for now. */
export async function whyUnsafe(rule: TargetRule, text: string): Promise<string | undefined> {
  const url = new URL(text)
  const isSecure = url.protocol === 'https:'
  const literal = literalHost(url.hostname)
  const addresses = literal === undefined ? await addressesOf(url.hostname) : [literal]
  if (addresses.length === 0 && !isSecure) return sentences.insecure
  const unsafe = addresses.flatMap((address) => rule.unsafe(address, isSecure) ?? [])[0]
  return unsafe && sentences[unsafe]
}

const sentences = {
  // The command line reads its own environment, not that of the parts.
  private:
    'must not lead to a private, loopback or link-local address; LANEWAY_EVENTS_ALLOW_PRIVATE names exceptions, ' +
    'set it for every part and for the command line',
  insecure: 'expected an https address; http is for networks that LANEWAY_EVENTS_ALLOW_PRIVATE names',
}

async function addressesOf(name: string): Promise<string[]> {
  const late = new Promise<[]>((resolve) => setTimeout(() => resolve([]), LOOKUP_MS).unref())
  const found = dns.lookup(name, { all: true }).catch(() => [])
  return (await Promise.race([found, late])).map(({ address }) => address)
}

// What a name leads to is judged at each connection, with the very addresses that the connection is then made to: a name that
// was harmless when it was set may lead elsewhere now. undici asks no lookup for a host that is an address itself, so those
// are judged before.

const CONNECT_TIMEOUT_MS = 5_000

/** The name leads to an address that must not be called. */
class UnsafeTargetError extends Error {
  override name = 'UnsafeTargetError'
  readonly code = 'UNSAFE_TARGET'
}

const unsafe = (): UnsafeTargetError => new UnsafeTargetError('it leads to an address that is not allowed')

/** Up to so many connections to each server, made only to addresses that the rule allows. Close them with `destroy`. */
export function createTargetAgent(rule: TargetRule, connections: number): Agent {
  const connectors = {
    'https:': buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(rule, true) }),
    'http:': buildConnector({ timeout: CONNECT_TIMEOUT_MS, lookup: guardedLookup(rule, false) }),
  }
  return new Agent({
    connections,
    pipelining: 1,
    keepAliveTimeout: 4_000,
    keepAliveMaxTimeout: 4_000,
    connect(options, callback) {
      const isSecure = options.protocol === 'https:'
      const literal = literalHost(options.hostname)
      if (literal !== undefined && rule.unsafe(literal, isSecure) !== undefined) return callback(unsafe(), null)
      connectors[isSecure ? 'https:' : 'http:'](options, callback)
    },
  })
}

type Found = (error: NodeJS.ErrnoException | null, address: string | LookupAddress[], family?: number) => void

/** Resolves a name to all its addresses, and to none when one of them is not allowed. */
function guardedLookup(rule: TargetRule, isSecure: boolean) {
  return (name: string, options: { all?: boolean | undefined; family?: unknown }, found: Found): void => {
    lookup(name, { all: true, verbatim: true }, (error, addresses) => {
      if (error) return found(error, [])
      const [first] = addresses
      if (first === undefined || addresses.some(({ address }) => rule.unsafe(address, isSecure) !== undefined)) {
        return found(unsafe(), [])
      }
      if (options.all) found(null, addresses)
      else found(null, first.address, first.family)
    })
  }
}
