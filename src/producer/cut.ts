// Cutting a connection in the middle of what it has sent. Node hands out everything that one read of 64 KB holds before
// it looks at the socket again: 2,000 pipelined requests are 50 ms, 10,000 chunks of one byte as much, and hundreds of
// connections are read one after the other before anybody else has a turn.
import type { IncomingMessage } from 'node:http'

/** What tells Node's parser that the connection goes on as something else than HTTP: it stops where it is. */
const NO_LONGER_HTTP = 2

/** Hands out nothing more of what has come, and reads nothing more; what has been answered can still go out. */
export function stopReading(request: IncomingMessage): void {
  const { socket } = request
  socket.pause()
  // Whoever asks the body for more would have the connection read again.
  request._read = () => {}
  // Not in Node's types. Should it change one day, such a flood costs as much as it did: test/security holds it.
  const parser: unknown = Reflect.get(socket, 'parser')
  if (typeof parser !== 'object' || parser === null) return
  Reflect.set(parser, 'onIncoming', () => NO_LONGER_HTTP)
  for (const [place, step] of Object.entries(parser)) {
    if (typeof step !== 'function' || step.name !== 'parserOnBody') continue
    Reflect.set(parser, place, undefined)
    // Node uses the parser again for another connection, but not before this one is closed.
    socket.once('close', () => Reflect.set(parser, place, step))
  }
}
