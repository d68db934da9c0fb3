// Networks as people write them: `10.0.0.0/8`, `2001:db8::/32`, or one address. Used for where a key may be used from, which
// proxies are trusted, and where endpoints of events may be.
import { BlockList, isIP } from 'node:net'
import { z } from 'zod'

interface Network {
  address: string
  bits: number
  family: 'ipv4' | 'ipv6'
}

/** The network that a text names; undefined for any other text. */
function parseNetwork(text: string): Network | undefined {
  const [address = '', bits, ...more] = text.split('/')
  const version = isIP(address)
  if (version === 0 || more.length > 0 || address.includes('%')) return undefined
  const most = version === 4 ? 32 : 128
  if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)) return undefined
  return { address, bits: bits === undefined ? most : Number(bits), family: version === 4 ? 'ipv4' : 'ipv6' }
}

export const networkSchema = z.string().refine((text) => parseNetwork(text) !== undefined, {
  error: 'expected an address or a network such as 10.0.0.0/8 or 2001:db8::/32',
})

/** Whether a text names a network by its length, `10.0.0.0/8`, and not one address. */
export const isCidr = (text: string): boolean => text.includes('/') && parseNetwork(text) !== undefined

/** These networks as a Node BlockList; texts that are none are left out. */
export function blockListOf(networks: readonly string[]): BlockList {
  const list = new BlockList()
  for (const text of networks) {
    const network = parseNetwork(text)
    if (network !== undefined) list.addSubnet(network.address, network.bits, network.family)
  }
  return list
}

/** Whether an address is in one of the networks; an IPv4 address that is written as IPv6 is the same one. */
export function insideOf(networks: readonly string[]): (address: string) => boolean {
  const list = blockListOf(networks)
  return (address) => {
    const plain = plainAddress(address)
    const version = isIP(plain)
    return version !== 0 && list.check(plain, version === 4 ? 'ipv4' : 'ipv6')
  }
}

/** A server that listens on IPv6 reports 127.0.0.1 as `::ffff:127.0.0.1`. */
export const plainAddress = (address: string): string => address.replace(/^::ffff:(?=[\d.]+$)/i, '')

/**
 * One text for all addresses of one client: an IPv4 address, or the /64 network of an IPv6 address in canonical spelling. A text
 * that is no address stays as it is.
 */
export function clientOf(address: string): string {
  const plain = plainAddress(address)
  if (isIP(plain) !== 6) return plain
  const [written = ''] = plain.split('%')
  const [before = [], after = []] = written.split('::').map((half) => (half === '' ? [] : half.split(':')))
  // The last two of the eight may be written as an IPv4 address.
  const known = before.length + after.length + (written.includes('.') ? 1 : 0)
  const all = [...before, ...new Array<string>(Math.max(0, 8 - known)).fill('0'), ...after]
  return all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')
}

/** Whether all of one network is in another one of the list. */
export function isWithin(text: string, networks: readonly string[]): boolean {
  const network = parseNetwork(text)
  if (network === undefined) return false
  return networks.some((each) => {
    const outer = parseNetwork(each)
    return outer?.family === network.family && outer.bits <= network.bits && insideOf([each])(network.address)
  })
}
