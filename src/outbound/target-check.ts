// Checks an address when it is set, by resolving its name. Each connection checks it again (target-agent.ts), since the name may lead
// elsewhere by then.

import dns from 'node:dns/promises'
import { literalHost, type TargetRule } from './target-rule.ts'

/** A name server that has not answered by then does not count. */
const LOOKUP_MS = 2_000

/** The sentence for its refusal; undefined when it may be called, or when its name leads nowhere for now. */
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
