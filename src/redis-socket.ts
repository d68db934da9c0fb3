// The form of an address for a Redis on a Unix socket: `unix:///run/redis/redis.sock`; with those of redis-address.ts
// every form that there is. The client package takes it in.
import { parseRedisAddress, type RedisAddress, RedisAddressError, shownAddress } from './redis-address.ts'

const SCHEME = /^unix:\/\//

/** The path of the socket; undefined when this is no address of one. */
export function socketPath(url: string): string | undefined {
  if (!SCHEME.test(url) || !URL.canParse(url)) return undefined
  const { host, pathname, search, hash } = new URL(url)
  if (host !== '' || search !== '' || hash !== '' || pathname.length < 2) return undefined
  try {
    const path = decodeURIComponent(pathname)
    // The library would read what follows as options.
    return path.includes('?') ? undefined : path
  } catch {
    return undefined
  }
}

/** The address of the Redis on this socket; the path is absolute. */
export const socketUrl = (path: string): string => `unix://${path.split('/').map(encodeURIComponent).join('/')}`

/** What an address of any form says. Throws a RedisAddressError. */
export function readRedisAddress(url: string): RedisAddress {
  const path = socketPath(url)
  return path === undefined ? parseRedisAddress(url) : { kind: 'single', url: path }
}

/** Throws a RedisAddressError for what is no address of Redis. */
export const assertRedisAddress = (url: string): void => void readRedisAddress(url)

/** Whether it is an address of Redis. */
export function isRedisAddress(url: string): boolean {
  try {
    assertRedisAddress(url)
    return true
  } catch (error) {
    if (error instanceof RedisAddressError) return false
    throw error
  }
}

/** What may be shown of an address, which may hold a password: hosts and ports, or the path of a socket. */
export const shownRedis = (url: string): string =>
  socketPath(url) ?? (isRedisAddress(url) ? shownAddress(url) : 'REDIS_URL')
