// The connections to one endpoint. What its name leads to is judged at each connection, with the very addresses that the
// connection is then made to: a name that was harmless when the endpoint was created may lead elsewhere now. undici asks
// no lookup for a host that is an address itself, so those are judged before.
import { type LookupAddress, lookup } from 'node:dns'
import { Agent, buildConnector } from 'undici'
import { literalHost, type TargetRule } from './safe-targets.ts'

/** Requests to one endpoint at a time, over as many connections. */
export const MOST_AT_ONCE = 8
const CONNECT_TIMEOUT_MS = 5_000

/** The endpoint leads to an address that must not be called. */
class UnsafeTargetError extends Error {
  override name = 'UnsafeTargetError'
  readonly code = 'UNSAFE_TARGET'
}

const unsafe = (): UnsafeTargetError => new UnsafeTargetError('it leads to an address that is not allowed')

/** Connections that are only made to addresses which the rule allows. Close them with `destroy`. */
export function createTargetAgent(rule: TargetRule, connections = MOST_AT_ONCE): Agent {
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
