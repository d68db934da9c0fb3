// Connects only to addresses that may be called. Each connection checks the very addresses that it is then made to: a name that
// was harmless when it was set may lead elsewhere now. undici resolves no host that is an address itself, so those are checked
// before.

import { type LookupAddress, lookup } from 'node:dns'
import { Agent, buildConnector } from 'undici'
import { literalHost, type TargetRule } from './target-rule.ts'

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
