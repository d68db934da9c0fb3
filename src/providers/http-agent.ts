// The connections of one process to all providers: of each origin a stack of idle ones, the one that was used last on top.
// undici opens them, with TLS and all that names bring; requests are written and answers read by http-connection.ts, for
// half of what undici's own client takes (docs/adr/0062-requests-on-plain-sockets.md).
import { buildConnector } from 'undici'
import { type Call, type Connection, causeOf, createConnection } from './http-connection.ts'

const CONNECT_TIMEOUT_MS = 3_000
/** How often those are looked for that nobody has used for too long. */
const LOOK_MS = 1_000

/** What requests are sent over. */
export interface HttpAgent {
  /**
   * Sends a request over an idle connection to the origin of `url`, or a new one, at the end of this turn of the event
   * loop. It fails once all are destroyed.
   */
  send(url: URL, call: Call): void
  /** Ends all connections; requests that are under way, or wait for a connection, fail. */
  destroy(): void
}

interface Origin {
  idle: Connection[]
  open: Set<Connection>
  /** Wait for a connection of their own. */
  opening: Set<Call>
  /** Connections to it share TLS sessions. */
  connect: buildConnector.connector
}

/** No connection yet. Requests are never pipelined, never repeated and never redirected. */
export function createHttpAgent(): HttpAgent {
  const origins = new Map<string, Origin>()
  let isDestroyed = false
  let looking: NodeJS.Timeout | undefined
  /**
   * What is sent in this turn of the event loop: those of a chunk, claimed together, come by the hundred. Written one right
   * after the other they take a tenth less of a worker's CPU than as each is ready; the kernel wakes whoever takes them
   * once, not for each.
   */
  let sending: { url: URL; call: Call }[] = []

  function originOf(name: string): Origin {
    const known = origins.get(name)
    if (known) return known
    const connect = buildConnector({ timeout: CONNECT_TIMEOUT_MS })
    const origin = { idle: [], open: new Set<Connection>(), opening: new Set<Call>(), connect }
    origins.set(name, origin)
    return origin
  }

  /** Nothing is kept of an origin that nobody is connected to. */
  function forget(name: string, origin: Origin): void {
    if (origin.open.size + origin.opening.size === 0 && origins.get(name) === origin) origins.delete(name)
  }

  function openFor(call: Call, { origin: name, protocol, host, hostname, port }: URL, origin: Origin): void {
    origin.opening.add(call)
    // In a URL an IPv6 address has brackets.
    const options = { protocol, host, hostname: hostname.replace(/^\[|\]$/g, ''), port }
    origin.connect(options, (error, socket) => {
      const isWaiting = origin.opening.delete(call)
      if (error !== null) {
        forget(name, origin)
        if (isWaiting) call.failed(causeOf(error))
      } else if (isDestroyed) {
        socket.destroy()
      } else {
        const connection = createConnection(socket, {
          idle: () => {
            origin.idle.push(connection)
            looking ??= setTimeout(closeUnused, LOOK_MS).unref()
          },
          gone: () => {
            origin.open.delete(connection)
            const at = origin.idle.indexOf(connection)
            if (at !== -1) origin.idle.splice(at, 1)
            forget(name, origin)
          },
        })
        origin.open.add(connection)
        if (!connection.take(call)) call.failed('reset')
      }
    })
  }

  function closeUnused(): void {
    looking = undefined
    const now = performance.now()
    for (const { idle } of origins.values()) {
      for (const connection of idle) if (connection.usableUntil() <= now) connection.destroy()
      if (idle.length > 0) looking ??= setTimeout(closeUnused, LOOK_MS).unref()
    }
  }

  function sendAll(): void {
    const all = sending
    sending = []
    for (const { url, call } of all) {
      try {
        sendNow(url, call)
      } catch (error) {
        // The others are sent all the same. The call knows whether anything of it can have left.
        call.failed(error instanceof Error ? causeOf(error) : 'unknown')
      }
    }
  }

  function sendNow(url: URL, call: Call): void {
    if (isDestroyed) {
      call.failed('stopped')
      return
    }
    const origin = originOf(url.origin)
    // One that the server has closed meanwhile is passed over; it takes itself off the stack.
    for (let idle = origin.idle.pop(); idle !== undefined; idle = origin.idle.pop()) if (idle.take(call)) return
    openFor(call, url, origin)
  }

  return {
    send(url, call) {
      if (sending.push({ url, call }) === 1) setImmediate(sendAll)
    },

    destroy() {
      isDestroyed = true
      clearTimeout(looking)
      for (const { open, opening } of origins.values()) {
        for (const connection of open) connection.destroy()
        for (const call of opening) call.failed('stopped')
      }
      origins.clear()
    },
  }
}
