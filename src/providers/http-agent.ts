// The connections of one process to all providers: of each origin a stack of idle ones, the one that was used last on top.
// undici's own pool looks through all of its connections for each request: with a hundred of them that was a quarter of
// what a request costs.
import { buildConnector, Client, type Dispatcher } from 'undici'

const CONNECT_TIMEOUT_MS = 3_000
/** Idle ones are closed before the usual 5 s of a server, so that few requests meet a socket that is just being closed. */
const KEEP_ALIVE_MS = 4_000

type Handler = Dispatcher.DispatchHandler
type Options = Dispatcher.DispatchOptions & { origin: string }

/** What requests are sent over. */
export interface HttpAgent {
  /** Sends a request over an idle connection, or a new one; the handler hears what becomes of it. Throws once destroyed. */
  dispatch(options: Options, handler: Handler): unknown
  /** Ends all connections; requests that are under way fail. */
  destroy(): Promise<void>
}

interface Origin {
  idle: Client[]
  /** Connections to it share TLS sessions. */
  connect: buildConnector.connector
  open: Set<Client>
}

/** No connection yet. Requests are never pipelined, never repeated and never redirected. */
export function createHttpAgent(): HttpAgent {
  const origins = new Map<string, Origin>()
  let isDestroyed = false

  function originOf(url: string): Origin {
    const known = origins.get(url)
    if (known) return known
    const origin = { idle: [], connect: buildConnector({ timeout: CONNECT_TIMEOUT_MS }), open: new Set<Client>() }
    origins.set(url, origin)
    return origin
  }

  function openTo(url: string, origin: Origin): Client {
    const client = new Client(url, {
      connect: origin.connect,
      pipelining: 1,
      keepAliveTimeout: KEEP_ALIVE_MS,
      keepAliveMaxTimeout: KEEP_ALIVE_MS,
    })
    origin.open.add(client)
    // Closed while nobody used it. One that is in use connects again if it has not sent its request, and is kept.
    client.on('disconnect', () => {
      const at = origin.idle.indexOf(client)
      if (at === -1) return
      origin.idle.splice(at, 1)
      forget(url, origin, client)
    })
    // What waited for it has failed; it would be asked to connect again by the next.
    client.on('connectionError', () => forget(url, origin, client))
    return client
  }

  /** Nothing is kept of an origin that nobody is connected to. */
  function forget(url: string, origin: Origin, client: Client): void {
    origin.open.delete(client)
    if (origin.open.size === 0 && origins.get(url) === origin) origins.delete(url)
  }

  return {
    dispatch(options, handler) {
      if (isDestroyed) throw new Error('the connections are destroyed')
      const origin = originOf(options.origin)
      const client = origin.idle.pop() ?? openTo(options.origin, origin)
      client.dispatch(options, returning(handler, client, origin))
    },

    async destroy() {
      isDestroyed = true
      const clients = [...origins.values()].flatMap(({ open }) => [...open])
      origins.clear()
      await Promise.all(clients.map((client) => client.destroy()))
    },
  }
}

/** Hands everything on, and the connection back once the request has ended. */
const returning = (handler: Handler, client: Client, { idle, open }: Origin): Handler => {
  let isBack = false
  const giveBack = (): void => {
    if (!isBack && open.has(client)) idle.push(client)
    isBack = true
  }
  return {
    onRequestStart: (controller, context) => handler.onRequestStart?.(controller, context),
    onResponseStart: (controller, status, headers, text) =>
      handler.onResponseStart?.(controller, status, headers, text),
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd(controller, trailers) {
      giveBack()
      handler.onResponseEnd?.(controller, trailers)
    },
    onResponseError(controller, error) {
      giveBack()
      handler.onResponseError?.(controller, error)
    },
  }
}
