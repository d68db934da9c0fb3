// Sends one request as raw as node:http lets it be sent.
import { Agent, request } from 'node:http'
import type { Answer } from './verdict.ts'

export interface Wire {
  method: string
  path: string
  headers: Readonly<Record<string, string>>
  body: string | undefined
}

/** Nothing takes that long, on a busy machine either. */
const LIMIT_MS = 60_000

/** The server kept silent. */
export class NoAnswer extends Error {
  override name = 'NoAnswer'
}

/** A client with connections of its own. `send` gives undefined for what cannot be sent as HTTP at all. */
export function createClient(url: string, connections: number, limitMs = LIMIT_MS) {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const { hostname, port } = new URL(url)
  return {
    send(wire: Wire): Promise<Answer | undefined> {
      return new Promise((resolve, reject) => {
        const fail = (error: NodeJS.ErrnoException): void => {
          // The server may hang up on what it refused while the rest of the body was on its way.
          if (error.code === 'ECONNRESET' || error.code === 'EPIPE') resolve(undefined)
          else reject(error)
        }
        try {
          const { method, path, headers, body } = wire
          const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) }
          const asked = request(
            { agent, hostname, port, method, path, headers: { ...headers, ...length } },
            (response) => {
              const chunks: Buffer[] = []
              const end = (): void =>
                resolve({
                  status: response.statusCode ?? 0,
                  headers: response.headers,
                  text: Buffer.concat(chunks).toString('utf8'),
                })
              const isEndless = response.headers['content-type']?.startsWith('text/event-stream')
              response.on('data', (chunk: Buffer) => {
                chunks.push(chunk)
                if (!isEndless) return
                end()
                asked.destroy()
              })
              response.on('error', fail)
              response.on('end', end)
            },
          )
          asked.setTimeout(limitMs, () => asked.destroy(new NoAnswer(`no answer within ${limitMs} ms`)))
          asked.on('error', fail)
          asked.end(body)
        } catch {
          // Characters that node:http does not put into a path or a header.
          resolve(undefined)
        }
      })
    },
    close: () => agent.destroy(),
  }
}
