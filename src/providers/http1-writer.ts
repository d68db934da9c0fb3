// Requests over one open connection of HTTP/1.1, written and read by undici's client, one at a time. The client never gets
// another connection: undici would write requests of a lost one again on the next (client.js writes from kPendingIdx;
// client-h1.js, onHttpSocketClose, sets that back to kRunningIdx).
import type { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { Client } from 'undici'
import { KEEP_ALIVE_MS, MAX_HEAD_BYTES, type Writer } from './http-contract.ts'

/** A server that says how long it keeps a connection is taken to close it so much sooner. */
const KEPT_LESS_MS = 2_000

/** Writes to a socket that is open. `free` is called once it can take a request, and again after each. */
export function writeHttp1(origin: string, socket: Socket, free: () => void): Writer {
  let isConnected = false
  const client = new Client(origin, {
    pipelining: 1,
    keepAliveTimeout: KEEP_ALIVE_MS,
    keepAliveMaxTimeout: KEEP_ALIVE_MS,
    keepAliveTimeoutThreshold: KEPT_LESS_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    // A call has one time-out for all of it, see http-call.ts.
    headersTimeout: 0,
    bodyTimeout: 0,
    connect(_options, connected) {
      // There is no second one; whatever undici still holds then ends with the client.
      if (isConnected) return
      isConnected = true
      // Later: what it says at once undici does not hear. One that is closed by then would be written to all the same.
      queueMicrotask(() => {
        if (socket.destroyed) connected(Object.assign(new Error('closed'), { code: 'ECONNRESET' }), null)
        else connected(null, socket)
      })
    },
  })

  function destroy(): void {
    if (isConnected) client.destroy().catch(() => {})
    else socket.destroy()
  }

  client.on('drain', free)
  // What undici says of an end that it did not expect; nobody else shall hear it as an uncaught error.
  const events: EventEmitter = client
  events.on('error', destroy)
  return { write: (call) => void client.dispatch(call.request, call), destroy }
}
