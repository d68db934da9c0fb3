// The forms of an address of Redis: one server, Sentinel, or Cluster, each with TLS or without, or a server on a Unix socket.
// The client package takes in this file.
//
//   redis://[user:password@]host[:port][/db]
//   redis+sentinel://[user:password@]host:port,host:port/primary-name[?db=0]
//   redis+cluster://[user:password@]host:port,host:port
//   unix:///run/redis/redis.sock
//
// `rediss` in place of `redis` is TLS. The Sentinels' own credentials are in the query: `sentinel_user`,
// `sentinel_password`, and `sentinel_tls=true` or `false` where theirs is not like that of the servers.

/** One server of several. */
export interface RedisHost {
  host: string
  port: number
}

/** A parsed address. `url` of a single server is passed to ioredis, which knows more options than these. */
export type RedisAddress =
  | { kind: 'single'; url: string }
  | ({ kind: 'cluster'; hosts: RedisHost[]; tls: boolean } & Access)
  | ({
      kind: 'sentinel'
      hosts: RedisHost[]
      tls: boolean
      primary: string
      db: number
      sentinels: Access & { tls: boolean }
    } & Access)

interface Access {
  username: string | undefined
  password: string | undefined
}

/** An address of no such form. The message is one sentence that names the form and holds nothing of the address. */
export class RedisAddressError extends Error {
  override name = 'RedisAddressError'
}

const SENTINEL_FORM = 'redis+sentinel://[user:password@]host:port,host:port/primary-name[?db=0]'
const CLUSTER_FORM = 'redis+cluster://[user:password@]host:port,host:port'
const SENTINEL_PORT = 26_379
const REDIS_PORT = 6_379

/** Parses the address. Throws a RedisAddressError. */
export function parseRedisAddress(url: string): RedisAddress {
  const [, scheme = '', kind = '', rest = ''] = /^(rediss?)(\+\w+)?:\/\/(.*)$/s.exec(url) ?? []
  if (kind === '+sentinel') return sentinelAddress(rest, scheme === 'rediss')
  if (kind === '+cluster') return clusterAddress(rest, scheme === 'rediss')
  if (scheme !== '' && kind === '' && rest !== '' && !rest.includes(',') && URL.canParse(url)) {
    // ioredis would pass any other path on as a database number.
    if (/^\/?\d{0,4}$/.test(new URL(url).pathname)) return { kind: 'single', url }
  }
  throw new RedisAddressError(
    `must be redis://host:port[/db], unix:///path/to/redis.sock, ${SENTINEL_FORM} or ${CLUSTER_FORM}; rediss in place of redis is TLS`,
  )
}

/** Hosts and ports for a person: an address may hold passwords. */
export function shownAddress(url: string): string {
  const address = parseRedisAddress(url)
  if (address.kind === 'single') return new URL(address.url).host
  return address.hosts.map(({ host, port }) => `${host.includes(':') ? `[${host}]` : host}:${port}`).join(',')
}

function clusterAddress(rest: string, tls: boolean): RedisAddress {
  const { access, hosts, path, query } = parts(rest, REDIS_PORT, CLUSTER_FORM)
  // A cluster has one database and takes no parameters.
  if ((path !== '' && path !== '0') || query.size > 0) throw wrong(CLUSTER_FORM)
  return { kind: 'cluster', hosts, tls, ...access }
}

const SENTINEL_QUERY: readonly string[] = ['db', 'sentinel_user', 'sentinel_password', 'sentinel_tls']

function sentinelAddress(rest: string, tls: boolean): RedisAddress {
  const { access, hosts, path, query } = parts(rest, SENTINEL_PORT, SENTINEL_FORM)
  const db = query.get('db') ?? '0'
  const ownTls = query.get('sentinel_tls') ?? String(tls)
  const isKnown = [...query.keys()].every((name) => SENTINEL_QUERY.includes(name))
  if (path === '' || !isKnown || !/^\d{1,4}$/.test(db) || !/^(true|false)$/.test(ownTls)) throw wrong(SENTINEL_FORM)
  const sentinels = {
    username: query.get('sentinel_user') ?? undefined,
    password: query.get('sentinel_password') ?? undefined,
    tls: ownTls === 'true',
  }
  return { kind: 'sentinel', hosts, tls, primary: path, db: Number(db), sentinels, ...access }
}

/** Splits what follows the scheme. */
function parts(rest: string, defaultPort: number, form: string) {
  const [, credentials, list = '', path = '', query = ''] =
    /^(?:([^/?#]*)@)?([^/?#@]+)(?:\/([^/?#]*))?(?:\?([^#]*))?$/.exec(rest) ?? []
  const hosts = list.split(',').map((one) => hostOf(one, defaultPort, form))
  const [username, ...password] = credentials?.split(':') ?? []
  const access: Access = {
    username: username ? decoded(username, form) : undefined,
    password: password.length > 0 ? decoded(password.join(':'), form) : undefined,
  }
  return { access, hosts, path: decoded(path, form), query: new URLSearchParams(query) }
}

function hostOf(text: string, defaultPort: number, form: string): RedisHost {
  const [, bracketed, plain, port] = /^(?:\[([0-9a-fA-F:.]+)\]|([\w.-]+))(?::(\d{1,5}))?$/.exec(text) ?? []
  const host = bracketed ?? plain
  const number = port === undefined ? defaultPort : Number(port)
  if (host === undefined || number < 1 || number > 65_535) throw wrong(form)
  return { host, port: number }
}

function decoded(text: string, form: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    throw wrong(form)
  }
}

const wrong = (form: string): RedisAddressError => new RedisAddressError(`must have the form ${form}`)

const SOCKET_SCHEME = /^unix:\/\//

/** The path of the socket; undefined when this is no address of one. */
export function socketPath(url: string): string | undefined {
  if (!SOCKET_SCHEME.test(url) || !URL.canParse(url)) return undefined
  const { host, pathname, search, hash } = new URL(url)
  if (host !== '' || search !== '' || hash !== '' || pathname.length < 2) return undefined
  try {
    const path = decodeURIComponent(pathname)
    // ioredis would read what follows as options.
    return path.includes('?') ? undefined : path
  } catch {
    return undefined
  }
}

/** The address of the Redis on this socket; the path is absolute. */
export const socketUrl = (path: string): string => `unix://${path.split('/').map(encodeURIComponent).join('/')}`

/** Parses an address of any form. Throws a RedisAddressError. */
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

/** An address without its password, for display: hosts and ports, or the path of a socket. */
export const shownRedis = (url: string): string =>
  socketPath(url) ?? (isRedisAddress(url) ? shownAddress(url) : 'REDIS_URL')
