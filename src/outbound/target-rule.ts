// Which addresses may be called that somebody else names: of endpoints, of an account's own server, of a sender's provider, of
// files. Otherwise a client could have Laneway call what only Laneway can reach: the metadata of its cloud, an admin page,
// Redis. An operator may allow private networks by name.

import { isIP } from 'node:net'
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
