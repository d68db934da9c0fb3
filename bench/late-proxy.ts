// A TCP proxy whose server seems slow: what a client writes goes on at once, each byte of an answer so many milliseconds
// after it came, in order. So every reply is complete that much later, and any number of replies can be on their way.
import { connect, createServer, type Socket } from 'node:net'
import { listen } from '../test/testbed/free-port.ts'
import { createDelayLine } from './delay-line.ts'

/** Starts one in front of a port of this machine. `delayMs` is asked for each piece of an answer. */
export async function startLateProxy(port: number, delayMs: () => number): Promise<{ port: number; stop: () => void }> {
  const open = new Set<Socket>()
  // Half open: whoever has said its last word still gets the answers that are on their way.
  const server = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    const upstream = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    const line = createDelayLine(delayMs)
    const destroy = (): void => {
      line.stop()
      client.destroy()
      upstream.destroy()
    }
    open.add(client)
    client.on('close', () => {
      open.delete(client)
      destroy()
    })
    client.on('error', destroy)
    client.on('data', (piece) => {
      if (!upstream.write(piece)) client.pause()
    })
    client.on('drain', () => upstream.resume())
    client.on('end', () => upstream.end())
    upstream.on('error', destroy)
    upstream.on('drain', () => client.resume())
    upstream.on('data', (piece) => {
      line.add(() => {
        if (!client.write(piece)) upstream.pause()
      })
    })
    // Behind the answers that are still on their way.
    upstream.on('end', () => line.add(() => client.end()))
  })
  const stop = (): void => {
    server.close()
    for (const client of open) client.destroy()
  }
  return { port: await listen(server), stop }
}
