// A server on raw TCP for tests of what a client makes of a misbehaving one: it sees every byte and answers anything.
import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { listen } from '../testbed/free-port.ts'

export interface TcpServer {
  /** `http://127.0.0.1:<port>` */
  url: string
  port: number
  /** Everything that has been received so far, of all connections. */
  received(): string
  connections(): number
  close(): Promise<void>
}

/** Starts a server that hands each connection to `behave`. Errors of its sockets are the client's to judge. */
export async function startTcpServer(behave: (socket: Socket) => void): Promise<TcpServer> {
  let received = ''
  let connections = 0
  const open = new Set<Socket>()
  const server = createServer((socket) => {
    connections += 1
    open.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => open.delete(socket))
    socket.on('data', (chunk: Buffer) => {
      received += chunk.toString('latin1')
    })
    behave(socket)
  })
  const port = await listen(server)
  return {
    url: `http://127.0.0.1:${port}`,
    port,
    received: () => received,
    connections: () => connections,
    async close() {
      for (const socket of open) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

/** Calls `answer` each time a whole request with a JSON body has come in, and gives it the request's text. */
export function onRequest(socket: Socket, answer: (request: string) => void): void {
  let text = ''
  socket.on('data', (chunk: Buffer) => {
    text += chunk.toString('latin1')
    for (;;) {
      const head = text.indexOf('\r\n\r\n')
      const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0)
      if (head === -1 || text.length < head + 4 + length) return
      const whole = text.slice(0, head + 4 + length)
      text = text.slice(whole.length)
      answer(whole)
    }
  })
}

/** An HTTP answer as text. */
export function httpAnswer(status: number, body: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ 'content-length': String(Buffer.byteLength(body)), ...headers })
  return `HTTP/1.1 ${status} X\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n${body}`
}
