// The form of REDIS_URL for a Redis on a Unix socket: `unix:///run/redis/redis.sock`.

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

/** What may be shown of an address, which may hold a password: host and port, or the path of a socket. */
export const shownRedis = (url: string): string =>
  socketPath(url) ?? (URL.canParse(url) ? new URL(url).host : 'REDIS_URL')
