// The connections of one process to all providers. Each is written to by a client of its own (http-connection.ts).
// Which of them a request goes over is decided here, because undici's pool looks through all of its connections for
// each request: with a thousand of them that was half of what a request costs
// (docs/adr/0095-requests-through-undici.md).
import { createSecureContext } from 'node:tls'
import { buildConnector } from 'undici'
import { type Deadline, deadlineIn, isOver } from '../kernel/deadline.ts'
import { MISSED_SLOT, STOPPED } from '../model/messages/outcome.ts'
import { causeOf } from '../outbound/answers.ts'
import { createConnection } from './http-connection.ts'
import { type Connection, KEEP_ALIVE_MS, type Protocol, STREAMS } from './http-contract.ts'

const CONNECT_TIMEOUT_MS = 3_000
/** How often idle connections are closed. */
const CHECK_EVERY_MS = 1_000
const LIMITS = {
  /**
   * Connections to one origin. Requests that find none wait. Those by HTTP/2 carry all that a worker may have in flight
   * (6,000, see LANEWAY_MAX_IN_FLIGHT), while some of them are being replaced.
   */
  most: { h1: 4_000, h2: 80 },
  /** How many may be opening at a time: a burst opens no more than it still needs once they are there. */
  opening: 100,
  /** The same until the protocol is known: by HTTP/2 a single connection may be enough. */
  openingFirst: 4,
}
/**
 * When this many wait for a connection, twice as many are opened: those that come next would miss their slots as well.
 */
const MANY_WAIT = 8
/**
 * By HTTP/2 another connection is opened ahead when fewer further requests than this find room, so that none misses
 * its slot for want of one.
 */
const ROOM_AHEAD = 25

/** What requests are sent over. */
export interface HttpAgent {
  /**
   * Asks for a connection to the origin of `url`: one that is free, by the end of this turn of the event loop, or a new one, unless that
   * comes after `slotEnd`.
   */
  ask(url: URL, slotEnd?: Deadline): Asked
  /** How many are open. */
  connections(): { origin: string; protocol: Protocol; count: number }[]
  /** Ends all connections; requests that are under way, or wait for a connection, fail. */
  destroy(): void
}

/** A connection that was asked for. */
export class Asked {
  readonly url: URL
  readonly slotEnd: Deadline
  /**
   * Resolves to the connection, or to why there is none, in a short word. Who asked dispatches a request over it at once, or calls
   * `giveBack`. Never rejects.
   */
  readonly given: Promise<Connection | string>
  /** Nothing happens when it has been given something before. */
  give: (given: Connection | string) => void = () => undefined
  isWithdrawn = false
  /** Where it waits. */
  origin: Origin | undefined

  constructor(url: URL, slotEnd = NEVER) {
    this.url = url
    this.slotEnd = slotEnd
    this.given = new Promise((resolve) => {
      this.give = resolve
    })
  }

  /** It is wanted no more. */
  withdraw(): void {
    this.isWithdrawn = true
    this.origin?.waiting.delete(this)
    this.give(WITHDRAWN)
  }
}

const WITHDRAWN = 'withdrawn'
const NEVER = deadlineIn(Number.POSITIVE_INFINITY)

interface Origin {
  /**
   * By HTTP/1.1: those that carry nothing, the longest unused first. That one is used next, so that all stay in use
   * while there is work for all. When the last one was used next, the others were closed as unused again and again, and
   * opened again for the next peak, which took more CPU than the requests.
   */
  idle: Connection[]
  /** By HTTP/2, whatever they carry. */
  shared: Set<Connection>
  open: Set<Connection>
  opening: number
  /** Wait for a connection, the oldest first. */
  waiting: Set<Asked>
  /** Of the connection that was opened last. */
  protocol: Protocol | undefined
  /** By HTTP/2, requests that its server takes at once over a connection, as it last said. */
  streams: number
  /** Connections to it share TLS sessions. */
  connect: buildConnector.connector
}

/**
 * Has no connection yet. By HTTP/1.1 a connection carries one request at a time. No request is repeated or redirected.
 */
export function createHttpAgent(limits = LIMITS): HttpAgent {
  const origins = new Map<string, Origin>()
  let isDestroyed = false
  let checking: NodeJS.Timeout | undefined
  /**
   * Those that asked in this turn, with connections given at its end: messages that were claimed together come by the hundred.
   * Written one right after the other they take a tenth less of a worker's CPU than each as soon as it is ready; the kernel wakes the
   * process that takes them once, not for each.
   */
  let asking: Asked[] = []

  function originOf({ origin: name, protocol }: URL): Origin {
    const known = origins.get(name)
    if (known) return known
    // One context for all of its connections: making one for each costs as much as several requests.
    const tls = protocol === 'https:' && { secureContext: createSecureContext() }
    const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS, allowH2: true, ...tls })
    const origin: Origin = {
      ...{
        idle: [],
        shared: new Set<Connection>(),
        open: new Set<Connection>(),
        opening: 0,
        waiting: new Set<Asked>(),
        streams: STREAMS,
        connect,
      },
      protocol: protocol === 'https:' ? undefined : 'h1',
    }
    origins.set(name, origin)
    return origin
  }

  /** Drops origins without connections. */
  function forget(name: string, origin: Origin): void {
    const isUnused = origin.open.size + origin.opening + origin.waiting.size === 0
    if (isUnused && origins.get(name) === origin) origins.delete(name)
  }

  /** Gives the requests that wait the connections that there are. One that may not leave any more leaves its connection to the next. */
  function give(origin: Origin): void {
    let free: Connection | undefined
    for (const each of origin.waiting) {
      free ??= freeOf(origin)
      if (free === undefined) return
      origin.waiting.delete(each)
      if (isOver(each.slotEnd)) each.give(MISSED_SLOT)
      else {
        free.take()
        each.give(free)
        free = undefined
      }
    }
    if (free?.protocol === 'h1') origin.idle.unshift(free)
  }

  /** The same, and opens the connections that are missing. */
  function serve(url: URL, origin: Origin): void {
    give(origin)
    const wanted = origin.waiting.size * (origin.waiting.size < MANY_WAIT ? 1 : 2)
    openMore(url, origin, Math.ceil(wanted / (origin.protocol === 'h2' ? origin.streams : 1)))
  }

  /** Opens connections until `wanted` are being opened, as far as the limits let it. */
  function openMore(url: URL, origin: Origin, wanted: number): void {
    const { protocol } = origin
    const most = Math.min(
      wanted,
      protocol ? limits.opening : limits.openingFirst,
      limits.most[protocol ?? 'h1'] - origin.open.size,
    )
    while (origin.opening < most) open(url, origin)
  }

  function open(url: URL, origin: Origin): void {
    origin.opening += 1
    const { origin: name, protocol, host, hostname, port } = url
    // In a URL an IPv6 address has brackets.
    const options = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port }
    origin.connect(options, (error, socket) => {
      origin.opening -= 1
      if (isDestroyed) return void socket?.destroy()
      if (error !== null) notOpened(url, origin, error)
      else opened(url, origin, socket)
      forget(name, origin)
    })
  }

  function opened(url: URL, origin: Origin, socket: OpenSocket): void {
    const connection = createConnection(url.origin, socket, origin.streams, {
      takes(streams) {
        // Another one may take some where this one takes none.
        origin.streams = Math.max(1, streams)
      },
      free(freed) {
        if (freed.protocol === 'h1') origin.idle.push(freed)
        serve(url, origin)
        if (freed.running === 0) checking ??= setTimeout(closeUnused, CHECK_EVERY_MS).unref()
      },
      gone(gone) {
        origin.open.delete(gone)
        origin.shared.delete(gone)
        const at = origin.idle.indexOf(gone)
        if (at !== -1) origin.idle.splice(at, 1)
        // Those that wait may have waited for it.
        serve(url, origin)
        forget(url.origin, origin)
      },
    })
    origin.open.add(connection)
    origin.protocol = connection.protocol
    if (connection.protocol === 'h1') origin.idle.push(connection)
    else origin.shared.add(connection)
    serve(url, origin)
    checking ??= setTimeout(closeUnused, CHECK_EVERY_MS).unref()
  }

  /** While others are open only one request fails for it: what was refused may be one connection too many. */
  function notOpened(url: URL, origin: Origin, error: Error): void {
    const cause = causeOf(error)
    for (const each of origin.waiting) {
      origin.waiting.delete(each)
      each.give(cause)
      if (origin.open.size > 0) break
    }
    serve(url, origin)
  }

  function closeUnused(): void {
    checking = undefined
    const now = performance.now()
    for (const { idle, shared } of origins.values()) {
      for (const connection of [...idle, ...shared]) if (isUnused(connection, now)) connection.destroy()
      if (idle.length + shared.size > 0) checking ??= setTimeout(closeUnused, CHECK_EVERY_MS).unref()
    }
  }

  function giveAll(): void {
    const all = asking
    asking = []
    const asked = new Map<Origin, URL>()
    let last: Asked | undefined
    for (const each of all) {
      if (each.isWithdrawn) continue
      if (isDestroyed) {
        each.give(STOPPED)
        continue
      }
      // Those of one sender have the same object; to ask a URL for its origin makes a text each time.
      const origin = each.url === last?.url && last.origin ? last.origin : originOf(each.url)
      last = each
      each.origin = origin
      origin.waiting.add(each)
      asked.set(origin, each.url)
    }
    for (const [origin, url] of asked) {
      give(origin)
      if (origin.shared.size > 0 && roomOf(origin) < ROOM_AHEAD) openMore(url, origin, 1)
      // At the end of this turn: only then does undici know which connections were answered in it.
      if (origin.waiting.size > 0) setImmediate(serveRest, url, origin)
    }
  }

  function serveRest(url: URL, origin: Origin): void {
    if (!isDestroyed) serve(url, origin)
  }

  return {
    ask(url, slotEnd) {
      const asked = new Asked(url, slotEnd)
      // In this event-loop tick, not in the next: before undici writes to a connection that was idle it waits
      // for a turn itself, to see whether the connection was closed meanwhile. In a busy process a turn takes as long
      // as a request may be late.
      if (asking.push(asked) === 1) queueMicrotask(giveAll)
      return asked
    },

    connections: () =>
      [...origins].flatMap(([origin, { open }]) =>
        PROTOCOLS.map((protocol) => {
          const count = [...open].filter((connection) => connection.protocol === protocol).length
          return { origin, protocol, count }
        }).filter(({ count }) => count > 0),
      ),

    destroy() {
      isDestroyed = true
      clearTimeout(checking)
      for (const { open, waiting } of origins.values()) {
        for (const each of waiting) each.give(STOPPED)
        // A connection that is gone makes room for those that wait.
        waiting.clear()
        for (const connection of open) connection.destroy()
      }
      origins.clear()
    },
  }
}

const PROTOCOLS = ['h1', 'h2'] as const

type OpenSocket = NonNullable<Parameters<buildConnector.Callback>[1]>

/** The connection for the next request. One that was idle for too long is closed: its server may be closing it, too. */
function freeOf({ idle, shared }: Origin): Connection | undefined {
  for (const connection of shared) if (isUsable(connection)) return connection
  for (let first = idle.shift(); first !== undefined; first = idle.shift()) if (isUsable(first)) return first
  return undefined
}

const roomOf = ({ shared }: Origin): number => [...shared].reduce((sum, { room }) => sum + room, 0)

function isUsable(connection: Connection): boolean {
  if (!isUnused(connection, performance.now())) return connection.canTake()
  connection.destroy()
  return false
}

const isUnused = ({ running, idleSince }: Connection, now: number): boolean =>
  running === 0 && now - idleSince() >= KEEP_ALIVE_MS
